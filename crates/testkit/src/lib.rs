//! What tests, benchmarks and fuzz targets share: the recordings of the real programs, generated
//! streams, and checks that hold for any input.

#[cfg(feature = "bench")]
pub mod bench;
pub mod checks;
pub mod folders;
#[cfg(feature = "model")]
pub mod model;
#[cfg(feature = "panes")]
pub mod panes;
pub mod random;
pub mod recordings;
pub mod streams;
