//! Confinement of a process: it may read everywhere and write only below given paths (Landlock).
//!
//! What the kernel does not enforce is told, not hidden: changing modes, owners, times and
//! extended attributes stays possible, as does connecting to sockets that lie anywhere.

use serde::{Deserialize, Serialize};

use crate::machine;

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
