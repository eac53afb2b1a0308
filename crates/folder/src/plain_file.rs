//! Reading a file whose place other programs can write to.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use rustix::fs::{Mode, OFlags};

/// The bytes of a plain file, at most `limit`. A pipe is refused and not waited for, and so is
/// whatever else is no plain file; links are followed.
pub fn read_plain_file(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a plain file"));
    }
    let mut bytes = Vec::new();
    file.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(io::Error::other(format!("it has more than {limit} bytes")));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_plain_file_is_read_and_nothing_else_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        assert_eq!(read_plain_file(&path, 3).unwrap_err().kind(), io::ErrorKind::NotFound);
        std::fs::write(&path, "abc").unwrap();
        assert_eq!(read_plain_file(&path, 3).unwrap(), b"abc");
        let refused = read_plain_file(&path, 2).unwrap_err().to_string();
        assert_eq!(refused, "it has more than 2 bytes");
        let pipe = folder.path().join("pipe");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&pipe, &link).unwrap();
        for path in [&pipe, &link, folder.path(), Path::new("/dev/zero")] {
            let refused = read_plain_file(path, 3).unwrap_err().to_string();
            assert_eq!(refused, "it is not a plain file", "{}", path.display());
        }
    }
}
