//! Sessions over real processes: the demo agent under real holders, in a folder of their own.

#![allow(clippy::unwrap_used, reason = "a test says what it expects by failing there and then")]

mod faults;
mod grimoires;
mod killed;
mod recovery;
mod sessions;
mod stages;
mod support;
