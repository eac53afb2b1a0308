//! Which files changed, as a table.

use coven_api::changes::{FileChange, FileChangeStatus, FileKind, TreeChanges};

use crate::output;
use crate::output::PutText;

/// The widest column for the names of files.
const MAX_PATH_COLUMNS: usize = 60;

/// A line for each file, and one for all of them; nothing if none changed.
pub(super) fn table(changes: &TreeChanges) -> String {
    if changes.files.is_empty() {
        return String::new();
    }
    let names: Vec<String> = changes.files.iter().map(name).collect();
    let widest = names.iter().map(|name| output::width(name)).max().unwrap_or(0);
    let widest = widest.min(MAX_PATH_COLUMNS);
    let mut text = String::new();
    for (file, name) in changes.files.iter().zip(&names) {
        let fill = " ".repeat(widest.saturating_sub(output::width(name)));
        text.put(format!(" {name}{fill} | {}\n", words(file)));
    }
    if changes.omitted > 0 {
        text.put(format!(" and {} more\n", changes.omitted));
    }
    text.put(format!("{}\n", sum(changes)));
    text
}

fn name(file: &FileChange) -> String {
    match &file.old {
        Some(old) => format!("{} -> {}", output::one_line(old), output::one_line(&file.path)),
        None => output::one_line(&file.path),
    }
}

/// What became of a file, in a few words.
fn words(file: &FileChange) -> String {
    let paint = output::paint();
    let mut parts = Vec::new();
    let status = match file.status {
        FileChangeStatus::Added => Some("new"),
        FileChangeStatus::Deleted => Some("deleted"),
        FileChangeStatus::Renamed => Some("renamed"),
        FileChangeStatus::TypeChanged => Some("of another type"),
        FileChangeStatus::Modified => None,
    };
    match file.kind {
        FileKind::Symlink => parts.push("link".to_owned()),
        FileKind::Submodule => parts.push("submodule".to_owned()),
        FileKind::File => {}
    }
    if file.binary {
        parts.push("binary".to_owned());
    } else if file.too_large {
        parts.push("large".to_owned());
    }
    if file.added > 0 {
        parts.push(paint.green(&format!("+{}", file.added)));
    }
    if file.removed > 0 {
        parts.push(paint.red(&format!("-{}", file.removed)));
    }
    parts.extend(status.map(str::to_owned));
    if let Some(mode) = &file.mode {
        parts.push(format!("mode {} -> {}", mode.old, mode.new));
    }
    if parts.is_empty() { "changed".to_owned() } else { parts.join(" ") }
}

fn sum(changes: &TreeChanges) -> String {
    let count = changes.files.len() as u64 + changes.omitted;
    let added: u64 = changes.files.iter().map(|file| file.added).sum();
    let removed: u64 = changes.files.iter().map(|file| file.removed).sum();
    let files = if count == 1 { "1 file".to_owned() } else { format!("{count} files") };
    format!("{files} changed, +{added} -{removed}")
}

#[cfg(test)]
mod tests {
    use coven_api::changes::ModeChange;

    use super::*;

    #[test]
    fn every_kind_of_change_is_told_in_words() {
        let file = |path: &str, status, kind| FileChange {
            path: path.to_owned(),
            old: None,
            status,
            kind,
            added: 0,
            removed: 0,
            binary: false,
            too_large: false,
            mode: None,
        };
        let plain = |path, status| file(path, status, FileKind::File);
        let files = vec![
            FileChange { added: 3, removed: 1, ..plain("a.rs", FileChangeStatus::Modified) },
            FileChange { old: Some("b".into()), ..plain("c", FileChangeStatus::Renamed) },
            FileChange { binary: true, ..plain("logo.png", FileChangeStatus::Added) },
            FileChange {
                mode: Some(ModeChange { old: "100644".into(), new: "100755".into() }),
                ..plain("run.sh", FileChangeStatus::Modified)
            },
            FileChange { added: 1, ..file("l", FileChangeStatus::Added, FileKind::Symlink) },
        ];
        let changes = TreeChanges {
            tree: "build.1".into(),
            branch: "coven/x.build.1".into(),
            against: "base".into(),
            target: None,
            base: "0".repeat(40),
            head: "1".repeat(40),
            present: true,
            files,
            omitted: 2,
            checkpoints: Vec::new(),
        };
        assert_eq!(
            table(&changes),
            " a.rs     | +3 -1\n b -> c   | renamed\n logo.png | binary new\n \
             run.sh   | mode 100644 -> 100755\n l        | link +1 new\n and 2 more\n\
             7 files changed, +4 -1\n"
        );
    }
}
