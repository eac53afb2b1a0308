//! The crate from outside: promises that hold for any input, over generated streams.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod recordings;
mod screen_log;

use coven_testkit::checks;
use coven_testkit::random::{Random, output};

/// Runs a check over `rounds` generated streams and names the seed that broke it.
fn rounds(rounds: u64, check: impl Fn(&[u8]) + std::panic::RefUnwindSafe) {
    for seed in 0..rounds {
        let mut random = Random::new(seed);
        let pieces = 1 + random.below(60);
        let mut bytes = vec![random.next() as u8, random.next() as u8];
        bytes.extend(output(&mut random, pieces));
        if random.below(3) == 0 {
            bytes.extend([0xfe, random.next() as u8, random.next() as u8]);
            bytes.extend(output(&mut random, pieces));
        }
        let result = std::panic::catch_unwind(|| check(&bytes));
        assert!(result.is_ok(), "seed {seed}: {:?}", String::from_utf8_lossy(&bytes));
    }
}

#[test]
fn sanitising_any_stream_is_the_same_for_every_split() {
    rounds(2000, checks::sanitise);
}

#[test]
fn the_signals_of_any_stream_are_the_same_for_every_split() {
    rounds(2000, checks::signals);
}

#[test]
fn the_screen_of_any_stream_is_the_same_for_every_split_and_after_a_dump() {
    rounds(3000, checks::screen);
}

#[test]
fn a_recording_of_any_stream_is_the_same_for_every_split() {
    rounds(500, checks::recording);
}
