//! What tests, benchmarks and fuzz targets share: the recordings of the real programs, generated
//! streams, and checks that hold for any input.

#[cfg(feature = "agent")]
pub mod agent;
pub mod beads;
#[cfg(feature = "bench")]
pub mod bench;
pub mod checks;
pub mod files;
pub mod folders;
pub mod git;
#[cfg(feature = "model")]
pub mod model;
pub mod namespace;
#[cfg(target_os = "linux")]
pub mod nobody;
#[cfg(feature = "panes")]
pub mod panes;
pub mod programs;
pub mod random;
#[cfg(feature = "model")]
pub mod real_cli;
pub mod recordings;
pub mod skip;
pub mod streams;
