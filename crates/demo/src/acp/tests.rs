//! Whole exchanges with a client, over pipes.

mod client;
mod ending;
mod mistakes;
mod permissions;
mod sessions;
mod turns;
