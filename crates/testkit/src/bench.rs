//! What the benchmarks share: CPU time, the page they write, and the others they measure against.

#![expect(clippy::cast_precision_loss, reason = "nothing measured here comes near 2^52")]

pub mod arguments;
pub mod asking;
pub mod cpu;
pub mod emulator;
pub mod machine;
pub mod page;
pub mod pty;
pub mod table;
pub mod tmux;
