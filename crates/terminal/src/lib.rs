//! Reads a terminal exactly. Knows no agent, no process, no clock and no async.
//!
//! ```
//! use coven_terminal::screen::{GridSize, Screen};
//!
//! let mut screen = Screen::new(GridSize::new(20, 3));
//! screen.feed(b"building\x1b[1;7H ok\x1b[K\r\n\x1b[1m$ \x1b[0m");
//! let shown = screen.snapshot();
//! assert_eq!(shown.text(), "buildi ok\n$");
//! assert_eq!((shown.cursor().row, shown.cursor().column), (1, 2));
//! ```

mod dump;
pub mod keys;
pub mod parser;
pub mod recording;
mod replies;
pub mod sanitise;
pub mod screen;
pub mod screen_log;
pub mod signals;
pub mod snapshot;
pub mod through;
