//! Processes that are owned. A domain starts processes and gives panes: local ones that are our
//! children, held ones that outlive us, and scripted ones for tests.
//!
//! ```
//! use coven_runtime::LocalDomain;
//! use coven_runtime::domain::{Connection, Domain, Pane, ReadOutcome, SpawnConfig};
//!
//! let config = SpawnConfig {
//!     argv: ["sh", "-c", "echo hello"].map(Into::into).to_vec(),
//!     cwd: std::env::temp_dir(),
//!     env: std::env::vars_os().collect(),
//!     connection: Connection::Pipes,
//!     input: None,
//!     sandbox: None,
//!     folder: None,
//!     keep: None,
//!     job: "example/1".to_owned(),
//! };
//! let mut pane = LocalDomain::new().spawn(&config)?;
//! let (mut printed, mut buffer) = (Vec::new(), [0; 1024]);
//! loop {
//!     match pane.read(&mut buffer)? {
//!         ReadOutcome::Data(_, length) => printed.extend_from_slice(&buffer[..length]),
//!         // A program that waits for more would wait for `pane.readiness()`.
//!         ReadOutcome::Pending => std::thread::yield_now(),
//!         ReadOutcome::End => break,
//!     }
//! }
//! assert_eq!(printed, b"hello\n");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod cgroup;
pub mod domain;
pub mod hold;
pub mod installed;
mod launch;
pub mod lineage;
mod local;
pub mod machine;
pub mod mock;
pub mod processes;
pub mod readiness;
pub mod sandbox;
mod system;

pub use hold::HolderDomain;
pub use local::LocalDomain;
