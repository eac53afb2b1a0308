//! Runners over real processes: the demo agent on real terminals and pipes.

#![allow(clippy::unwrap_used, reason = "a test says what it expects by failing there and then")]

mod agent;
mod failing;
mod headless;
mod held;
mod keys;
mod late;
mod left_behind;
mod left_turns;
mod lines;
mod manners;
mod menus;
mod questions;
mod radios;
mod received;
mod retries;
mod silent;
mod stalled;
mod support;
mod swarm;
mod unread;
mod versions;
