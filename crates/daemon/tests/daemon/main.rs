//! The daemon as others see it: a real process, asked over its socket and over loopback.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a test says what it did")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test says what it expects by failing"
)]

mod auto;
mod base_dirs;
mod catalogue;
mod chaos;
mod devices;
mod documents;
mod events;
mod grimoires;
mod hooks;
mod http;
mod interventions;
mod lifecycle;
mod limits;
mod looking;
mod page;
mod quiet;
mod reports;
mod restart;
mod routes;
mod schemathesis;
mod security;
mod spoken;
mod strangers;
mod stream_attach;
mod stream_ipc;
mod stream_sse;
mod stream_support;
mod support;
mod tasks;
mod team;
mod transcripts;
mod trees;
mod trust;
mod workflows;
