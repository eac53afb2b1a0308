//! The journal of a session: its facts in the order they happened, one a line. It is the truth;
//! everything else about a session can be made from it.
//!
//! A line is JSON, a tab, `<CRC-32 of the JSON>:<tag>` or `<CRC-32>:<tag>:<signature>` in
//! hexadecimal digits, and a newline. Tags and signatures are explained in [`seal`](crate::seal).
//! The first line says what the file is, `{"coven":"journal","v":2,"session":"…","key":"…"}`, with
//! the public half of the key that seals it. Every other is a record, `{"v":2,"seq":7,"time":1700000000000,…}`: `seq` counts from 1 without a hole, `time` is
//! in milliseconds since 1970, and the rest is the fact as its type serialises, which must be an
//! object (an enum tagged `type` and `data` gives `{v, seq, time, type, data}`). The type must
//! accept keys it does not know, because it is read from the whole record.
//!
//! A record may say `"aside":{"/data/output":"<sha256>"}`: the value at this place is `null` in the
//! line and lies in a file of its own, see [`values`](crate::values).
//!
//! # What can be relied on
//!
//! - When [`Journal::append`] returns, the facts are on the disk. When it fails, the file is as it
//!   was, or the journal refuses to go on.
//! - A last line that is not whole, or has NUL bytes in it, is left from a power cut or a kill while
//!   it was written. It was never acknowledged, so opening cuts it off and says so.
//! - Anything else that does not hold is damage. Opening refuses it, with the place, and changes
//!   nothing. A complete last line with a wrong checksum is damage too: a write that was cut short
//!   cannot look like that.
//! - What a newer version wrote is read and never written. So is what has no seal: version 1, which
//!   had a checksum alone.

mod disk;
mod error;
mod frame;
mod reader;
mod reseal;
mod scan;
mod shared;
pub mod sync_times;
mod tail;
mod verify;
mod writer;

use coven_model::Timestamp;

pub use self::error::{
    AppendError, CreateError, DamagedJournal, JournalDamage, OpenError, ReadError,
};
pub(crate) use self::frame::{EncodedRecord, LineSeal, encode_line, read_line};
pub use self::reader::{JournalReader, JournalRecords};
pub use self::reseal::JournalSeal;
pub(crate) use self::reseal::{ResealedJournal, reseal};
pub use self::scan::CutTail;
pub(crate) use self::scan::damaged;
pub(crate) use self::tail::last_seq;
pub use self::verify::{SignedExtent, verify_signatures};
pub use self::writer::Journal;
pub(crate) use self::writer::{OpenedPath, WrittenFacts, encode};

/// The name of the file in the folder of a session.
pub const FILE: &str = "journal.jsonl";

/// The version that is written.
pub const VERSION: u32 = 2;

/// The first version whose lines have a seal.
const SEALED_VERSION: u32 = 2;

/// The longest line. Large values lie aside, so a longer one is a mistake or an attack, and a
/// reader must hold a line in memory.
pub const MAX_LINE: usize = 64 * 1024 * 1024;

/// A fact with its place in the session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalRecord<T> {
    /// Its number in the session, from 1.
    pub seq: u64,
    /// When it was recorded.
    pub time: Timestamp,
    pub fact: T,
}
