//! What can be wrong with a journal, and what to do about it.

use std::fmt;
use std::path::PathBuf;

use crate::values::ValueError;
use coven_folder::FileError;

/// What does not hold in a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JournalDamage {
    /// The first line is not that of a journal.
    Header,
    /// The line has no checksum at its end.
    Unframed,
    /// The checksum does not fit what stands before it.
    Checksum,
    /// The checksum holds, but it is not a record.
    Record(String),
    /// A fact does not follow the one before it.
    Order {
        /// The number it should have.
        expected: u64,
        /// The number it has.
        found: u64,
    },
    /// It is longer than a line can be.
    TooLong,
    /// The seal does not fit: the line, or one before it, is not what we wrote.
    Seal,
    /// It has no seal where all have one.
    Unsealed,
    /// The signature is not of this key and of what stands here.
    Signature,
    /// The journal ends before a fact that was recorded for certain.
    Shorter {
        /// The last fact it has.
        last: u64,
        /// The fact it must have.
        sealed: u64,
    },
}

impl fmt::Display for JournalDamage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Header => formatter.write_str("it is not the first line of a journal"),
            Self::Unframed => formatter.write_str("it does not end with a checksum"),
            Self::Checksum => formatter.write_str("its checksum does not fit"),
            Self::Record(why) => write!(formatter, "it is not a record ({why})"),
            Self::Order { expected, found } => {
                write!(formatter, "it has fact {found} where {expected} must follow")
            }
            Self::TooLong => formatter.write_str("it is longer than any line we write"),
            Self::Seal => formatter.write_str(
                "its seal does not fit: this line or one before it was changed by another program",
            ),
            Self::Unsealed => formatter.write_str("it has no seal: another program wrote it"),
            Self::Signature => formatter.write_str(
                "its signature does not fit: another key signed it, or this line or one before it \
                 was changed",
            ),
            Self::Shorter { last, sealed } => write!(
                formatter,
                "it ends after fact {last}, but fact {sealed} was recorded: its end was cut off",
            ),
        }
    }
}

/// A journal that cannot be trusted from some line on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{} is damaged in line {line}, at byte {offset}: {damage}. The {} before it {} whole and can \
     still be read (`coven audit`); nothing was changed. Put back a copy of the file to go on with \
     this session",
    path.display(), facts(*readable), if *readable == 1 { "is" } else { "are" }
)]
pub struct DamagedJournal {
    pub path: PathBuf,
    /// Which line, from 1.
    pub line: u64,
    /// Where the line begins in the file.
    pub offset: u64,
    /// What is wrong with it.
    pub damage: JournalDamage,
    /// How many facts stand before it.
    pub readable: u64,
}

fn facts(count: u64) -> String {
    if count == 1 { "1 fact".to_owned() } else { format!("{count} facts") }
}

/// A journal cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum CreateError {
    /// There is one already.
    #[error("{} exists already: a session is created once; open it instead", path.display())]
    Exists { path: PathBuf },
    /// A file stands in the way.
    #[error(transparent)]
    File(#[from] FileError),
}

/// A journal cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Something cannot be reached.
    #[error(transparent)]
    File(#[from] FileError),
    /// There is no such journal.
    #[error("there is no journal at {}", path.display())]
    Missing {
        /// Where it would be.
        path: PathBuf,
    },
    /// Another process, or another writer of this one, has it open for writing.
    #[error("{} is being written by another; a session has one writer", path.display())]
    InUse { path: PathBuf },
    /// It cannot be trusted.
    #[error(transparent)]
    Damaged(#[from] DamagedJournal),
    /// It belongs to another session.
    #[error("{} is the journal of session {found}, not of {expected}; it was moved or copied here",
        path.display())]
    WrongSession {
        path: PathBuf,
        /// The session that was asked for.
        expected: String,
        /// The session it says it is of.
        found: String,
    },
    /// It was written before journals had seals, so it may be anyone's.
    #[error(
        "{} has no seal, so it is foreign: it can be read, and `coven import` makes it yours",
        path.display()
    )]
    Unsealed { path: PathBuf },
    /// Another key sealed it.
    #[error(
        "{} was sealed with another key, so it is foreign: it can be read, and `coven import` \
         makes it yours", path.display()
    )]
    OtherKey { path: PathBuf },
    /// A newer program wrote it.
    #[error(
        "{} has version {version}, newer than this program writes ({}): it can be read, and going \
         on with it needs the newer program", path.display(), super::VERSION
    )]
    Newer { path: PathBuf, version: u32 },
}

/// Facts could not be recorded. None of them is in the journal.
#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    /// A fact cannot be written as a record: a mistake of the caller.
    #[error("fact {seq} cannot be a record: {why}")]
    Fact {
        /// The number it would have had.
        seq: u64,
        why: String,
    },
    /// A fact is longer than a line can be.
    #[error("fact {seq} has {len} bytes, more than a journal takes in one line")]
    TooLong {
        /// The number it would have had.
        seq: u64,
        /// Its length as a line.
        len: usize,
    },
    /// A large value of a fact could not be put aside.
    #[error("a value of fact {seq} could not be put aside")]
    Value {
        /// The number it would have had.
        seq: u64,
        #[source]
        source: ValueError,
    },
    /// It could not be written; the journal is as it was and can be tried again.
    #[error("fact {seq} was not recorded, the journal is as it was: {source}")]
    Write {
        /// The number of the first fact that was not recorded.
        seq: u64,
        source: FileError,
    },
    /// It could not be written or synced, and the file may not be as it was.
    #[error(
        "fact {seq} was not recorded, and what the disk has now is not known: {source}. The journal \
         is read anew before anything more is recorded"
    )]
    Lost {
        /// The number of the first fact that was not recorded.
        seq: u64,
        source: FileError,
    },
    /// It failed like this before, so nothing is written until the journal was read anew.
    #[error(
        "{} takes no more facts until it could be read anew, since a write failed ({why})",
        path.display()
    )]
    Poisoned { path: PathBuf, why: String },
    /// The journal was deleted under us and could not be put back.
    #[error("{} was deleted while the session runs, and could not be put back: {source}",
        path.display())]
    NotRestored { path: PathBuf, source: FileError },
    /// Another program cut off the end of the journal.
    #[error(
        "{} was cut off by another program while the session runs, so nothing more is recorded. Put \
         back a copy of the file", path.display()
    )]
    Cut { path: PathBuf },
    /// Another journal lies where ours was.
    #[error(
        "{} was replaced by another journal while the session runs; nothing was written. Move that \
         file away, and ours is put back", path.display()
    )]
    Replaced { path: PathBuf },
}

/// Facts could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// Something cannot be reached.
    #[error(transparent)]
    File(#[from] FileError),
    /// The journal cannot be trusted from here on.
    #[error(transparent)]
    Damaged(#[from] DamagedJournal),
    /// A fact is none that the caller knows.
    #[error("fact {seq} in {} is not one this program knows: {source}", path.display())]
    Unknown { path: PathBuf, seq: u64, source: serde_json::Error },
    /// A value that lies aside cannot be read.
    #[error("a value of fact {seq} cannot be read: {source}")]
    Value { seq: u64, source: ValueError },
    /// The file is shorter than what was read from it.
    #[error("{} became shorter while it was read: its writer took back what it could not finish. \
        Open it again", path.display())]
    Shrunk { path: PathBuf },
}
