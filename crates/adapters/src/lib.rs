//! What Coven knows about each agent CLI: how to launch it, how to read what it is doing, how to
//! answer it and how to stop it. All of it is data; a file is enough to add a CLI.
//!
//! Pure: no process, no clock, no async. Time is an argument, and only the loader reads disk.
//!
//! ```
//! use coven_adapters::{AgentAdapter, Options, default_registry, launch::LaunchRequest};
//! use coven_model::AgentMode;
//!
//! let gemini = default_registry().create("gemini", Options::default())?;
//! let request =
//!     LaunchRequest { mode: AgentMode::Interactive, prompt: Some("hello"), ..Default::default() };
//! let launch = gemini.launch(&request)?;
//! assert_eq!(launch.command, "gemini");
//! assert_eq!(launch.args, ["--approval-mode", "default", "-i", "hello"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod adapter;
pub mod answer;
pub mod builtin;
pub mod channel;
pub mod config;
pub mod hook;
pub mod icons;
pub mod launch;
pub mod loader;
pub mod registry;
pub mod replay;
pub mod retry_notice;
pub mod rules;
pub mod sniffer;
pub mod transcript;
pub mod version;
pub mod view;
pub mod visible;

pub use adapter::{AgentAdapter, ConfigAdapter, Options, OutputChunk};
pub use config::{Config, StateFiles};
pub use loader::{AdapterConfigLoader, AdapterFolders, LAUNCH_KEYS, LoadError};
pub use registry::{AdapterRegistry, default_registry};
pub use rules::{LineView, MenuLayout, ScreenMenu, ScreenRules, TypedText};
pub use sniffer::ScreenSniffer;
pub use version::ProgramVersion;
