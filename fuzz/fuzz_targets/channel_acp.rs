//! Any bytes as what is said between a client and an agent over ACP.
#![no_main]

#[path = "channel.rs"]
mod channel;

use coven_adapters::channel::ChannelKind;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| channel::check(ChannelKind::Acp, bytes));
