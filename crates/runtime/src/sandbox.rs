//! Confinement of a process by Landlock: what it may write, what it may not even read, which ports
//! it may connect to, and whom it may signal.
//!
//! What the kernel does not enforce is told, not hidden: changing modes, owners, times and
//! extended attributes stays possible, as does connecting to sockets that are files.

use serde::{Deserialize, Serialize};

use crate::machine;

/// The version of Landlock that keeps a process from emptying files.
pub const TRUNCATION_ABI: i32 = 3;
/// The version of Landlock that confines connections over TCP.
pub const PORTS_ABI: i32 = 4;
/// The version of Landlock that confines signals and abstract sockets.
pub const SCOPES_ABI: i32 = 6;

/// Whether this kernel keeps a confined process from signalling others.
pub fn scopes_signals() -> bool {
    machine::landlock_version().is_some_and(|abi| abi >= SCOPES_ABI)
}

/// How far the kernel goes along.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "enforced")]
pub enum Enforcement {
    /// Writing to files is confined.
    Files {
        /// The version of Landlock in the kernel.
        abi: i32,
    },
    /// The kernel has no Landlock, or it is switched off: nothing is confined.
    Nothing,
}

impl Enforcement {
    /// What this kernel enforces.
    pub fn of_this_kernel() -> Self {
        machine::landlock_version().map_or(Self::Nothing, |abi| Self::Files { abi })
    }
}
