//! Files and folders that only their user may read.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// Whether only the owner of a file may read, write or run it.
#[expect(clippy::verbose_bit_mask, reason = "it is a mask")]
pub fn is_private(metadata: &fs::Metadata) -> bool {
    metadata.permissions().mode() & 0o077 == 0
}

/// Writes a file that only its owner may read, whole or not at all.
pub fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    let draft = path.with_extension(format!("{}.draft", std::process::id()));
    // A draft that is left over may belong to another user.
    match fs::remove_file(&draft) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
    let written = file
        .write_all(content)
        .and_then(|()| file.sync_all())
        .and_then(|()| fs::rename(&draft, path));
    if written.is_err()
        && let Err(error) = fs::remove_file(&draft)
    {
        tracing::warn!("{} is left over: {error}", draft.display());
    }
    written
}

/// Writes a file over one that is there and no shorter, in its own place: that needs no room on the
/// disk. A process that dies meanwhile leaves half of it.
pub fn overwrite(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = fs::OpenOptions::new().write(true).open(path)?;
    if file.metadata()?.len() < content.len() as u64 {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    file.write_all(content)?;
    file.set_len(content.len() as u64)?;
    file.sync_all()
}

/// Fails if something in a folder belongs to another user or can be written by others: then nothing
/// in it can be believed.
pub fn check_contents(folder: &Path) -> io::Result<()> {
    let own = rustix::process::geteuid().as_raw();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let about = match entry.metadata() {
            Ok(about) => about,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let problem = if about.uid() != own {
            format!("`{name}` in it belongs to another user; remove it, or give it to yours")
        } else if !about.is_symlink() && about.permissions().mode() & 0o022 != 0 {
            format!("others can write `{name}` in it; remove it, or `chmod -R go-w` it")
        } else {
            continue;
        };
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, problem));
    }
    Ok(())
}

/// Creates a folder that only its owner may enter, and closes one that others may.
pub fn create_folder(path: &Path) -> io::Result<()> {
    fs::create_dir_all(path)?;
    if !is_private(&fs::metadata(path)?) {
        fs::set_permissions(path, fs::Permissions::from_mode(0o700))?;
    }
    Ok(())
}
