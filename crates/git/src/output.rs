//! Reading what git printed.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use crate::{Error, ObjectId};

/// What git printed as one line: a path may have any byte but NUL in it, so only the last line feed
/// is not part of it.
pub(crate) fn path_line(output: &[u8]) -> PathBuf {
    let line = output.strip_suffix(b"\n").unwrap_or(output);
    OsStr::from_bytes(line).into()
}

/// What git printed with `-z`.
pub(crate) fn fields(output: &[u8]) -> impl Iterator<Item = &[u8]> {
    output.strip_suffix(b"\0").into_iter().flat_map(|output| output.split(|byte| *byte == 0))
}

pub(crate) fn path_of(bytes: &[u8]) -> PathBuf {
    OsStr::from_bytes(bytes).into()
}

pub(crate) fn object_id(verb: &str, output: &[u8]) -> Result<ObjectId, Error> {
    ObjectId::from_bytes(output)
        .ok_or_else(|| Error::unexpected(verb, String::from_utf8_lossy(output).into_owned()))
}
