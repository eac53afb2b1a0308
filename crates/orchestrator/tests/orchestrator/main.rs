//! Sessions over real processes: the demo agent under real holders, in a folder of their own.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a test says what it did")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test says what it expects by failing there and then"
)]

mod access;
mod answers;
mod arbiter;
mod caller;
mod channel_versions;
mod channels;
mod clock;
mod closed_output;
mod controllers;
mod conversations;
mod endings;
#[cfg(all(debug_assertions, target_os = "linux"))]
mod failed_sync;
mod fan_out;
mod faults;
mod feed;
mod grimoires;
mod handlers;
mod kept_agents;
mod killed;
mod library;
mod links;
mod loops;
mod menus;
mod missing;
mod purge;
mod recorded_dialogs;
mod recovery;
mod reviews;
mod sessions;
mod slots;
mod spoken_secrets;
mod stages;
mod storage;
mod support;
mod tasks;
mod teams;
mod terminals;
mod tree_comments;
mod tree_confinement;
mod tree_left_out;
mod tree_merges;
mod tree_requests;
mod tree_restore;
mod tree_states;
mod tree_traps;
mod trees;
mod triggers;
mod turns;
