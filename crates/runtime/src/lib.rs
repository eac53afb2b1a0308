//! Processes that are owned. A domain starts processes and gives panes: local ones that are our
//! children, held ones that outlive us, and scripted ones for tests.

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
