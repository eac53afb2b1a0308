//! A stand-in for the bead tracker `bd`, for tests of the built-in grimoires on machines without
//! it. What it does is what its documentation and its users say of `bd` 1.1 and later: `--claim`
//! gives a bead to one actor, and again to the same one; a claim of another's bead or of a closed
//! one is exit code 1; no ready bead is `[]` and exit code 0; JSON is indented.

#![expect(clippy::unwrap_used, reason = "a test without its tracker must fail")]

use std::fs;
use std::path::Path;

/// The program, for `/bin/sh`.
const PROGRAM: &str = include_str!("beads/bd.sh");

/// Writes the stand-in as `bd` into a folder that is to be part of `PATH`.
///
/// # Panics
/// If it cannot be written.
#[cfg(unix)]
pub fn install_bd(folder: &Path) {
    use std::os::unix::fs::PermissionsExt;
    fs::create_dir_all(folder).unwrap();
    let program = folder.join("bd");
    fs::write(&program, PROGRAM).unwrap();
    fs::set_permissions(program, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Puts a bead into the tracker of a project, as `bd create` would. Makes the tracker by need.
///
/// # Panics
/// If it cannot be written.
pub fn add_bead(project: &Path, id: &str, description: &str) {
    let bead = project.join(".beads").join(id);
    fs::create_dir_all(&bead).unwrap();
    for (file, text) in [("title", id), ("description", description), ("status", "open")] {
        fs::write(bead.join(file), text).unwrap();
    }
}

/// What the tracker says of a bead: `status`, `assignee`, `title`, `description` or `needs`.
pub fn bead_field(project: &Path, id: &str, field: &str) -> String {
    fs::read_to_string(project.join(".beads").join(id).join(field)).unwrap_or_default()
}
