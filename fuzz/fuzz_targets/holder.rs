//! Any bytes as what a holder or its client may receive: read the same however they arrive, and
//! written again as they were.
#![no_main]

use coven_runtime::hold::protocol::{MalformedFrame, ToClient, ToHolder};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut rest = bytes;
    loop {
        match ToHolder::decode(rest) {
            Ok(Some((frame, taken))) => {
                let mut again = Vec::new();
                frame.encode(&mut again);
                // Empty input is the one frame that says nothing and is not written.
                assert!(again == rest[..taken] || frame == ToHolder::Input(b""));
                // It is there as soon as its last byte is, and not before.
                assert_eq!(ToHolder::decode(&rest[..taken - 1]), Ok(None));
                rest = &rest[taken..];
            }
            Ok(None) => break,
            Err(MalformedFrame::TooLong(_) | MalformedFrame::Unknown { .. }) => break,
        }
    }
    let mut rest = bytes;
    while let Ok(Some((frame, taken))) = ToClient::decode(rest) {
        let mut again = Vec::new();
        frame.encode(&mut again);
        assert_eq!(again, rest[..taken]);
        assert_eq!(ToClient::decode(&rest[..taken - 1]), Ok(None));
        rest = &rest[taken..];
    }
});
