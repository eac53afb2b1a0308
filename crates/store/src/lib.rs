//! Sessions on disk: journal, readable view, index, lock, retention.
//!
//! A [`BaseDir`] is where sessions live, [`Lock`] says who works in it. A [`Session`] is one folder
//! with one writer: its [`journal`] is the truth, one fact a line; its [`view`] is for people and
//! rebuilt whenever it is missing or older; large [`values`] lie beside them, and so does the
//! folder of every [`attempt`]. [`index`] lists sessions without opening each, [`retention`]
//! removes old ones.
//!
//! The crate does not know what the facts mean, nor who writes them: they are whatever the caller
//! can turn into JSON. Time is the caller's too.
//!
//! # On disk
//!
//! ```text
//! <baseDir>/.coven/.gitignore                      keeps what is below out of git; written once
//!                  lock                            locked by the one who works here
//!                  sessions/.trash/                sessions on their way out
//!                           <id>/journal.jsonl     the facts, sealed
//!                                session.json      the readable view
//!                                values/<sha256>   values over 64 KiB, as JSON
//! <state>/seal.key                                 the key that seals journals
//!         jobs/<id>/<task>/<attempt>/              what the process of an attempt left
//!         bases/<key>/registered.jsonl             which sessions of a base directory are the user's
//!                     index.jsonl                  a cache of what `ls` shows
//! ```
//!
//! People read what lies in the base directory, and agents can write it: nothing there is believed
//! without a seal. What decides lies in the state folder. Paths are made of checked ids only, and below the base directory no symbolic link is followed.

pub mod attempt;
pub mod authority;
mod checkpoint;
#[cfg(all(debug_assertions, target_os = "linux"))]
pub mod faults;
pub mod import;
pub mod index;
pub mod journal;
pub mod layout;
pub mod lock;
mod machine;
pub mod names;
pub mod ownership;
pub mod register;
pub mod registry;
pub mod retention;
pub mod seal;
pub mod session;
mod spill;
pub mod values;
pub mod view;

pub use attempt::Attempt;
pub use authority::{AuthorityPlaces, SessionAuthority};
pub use coven_folder::{FileError, OpenFolder, OpenObstacle};
pub use index::{Index, SessionEntry};
pub use journal::{Journal, JournalReader, JournalRecord};
pub use layout::{BaseDir, BaseDirError};
pub use lock::Lock;
pub use ownership::{FolderOwners, NotOwned, user_name};
pub use register::Register;
pub use registry::{Registered, Registry};
pub use retention::Retention;
pub use seal::SealKey;
#[doc(hidden)]
pub use seal::seal_facts;
pub use session::Session;
pub use values::{ValueError, Values};
pub use view::View;
