//! Reads the files of one layer.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use coven_notation::{FileProblem, FileSyntax, SourceFile, SourceSpan, TrustedFiles, parse};

use super::{CatalogueEntry, EntryStatus, GrimoireLayer, entry};
use crate::check::CheckEnvironment;

/// The largest file that is read; the rest of the limits are the notation's.
const LARGEST: u64 = coven_notation::MAX_BYTES as u64;

/// All grimoires in a folder, in the order of their files. A folder that is not there is empty.
pub(super) fn read(
    folder: &Path,
    layer: GrimoireLayer,
    standing: EntryStatus,
    known: &CheckEnvironment,
) -> Vec<CatalogueEntry> {
    let listed = match files(folder) {
        Ok(files) => files,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Vec::new(),
        Err(error) => return vec![unreadable_entry(folder, layer, standing, &error)],
    };
    let one = |path: &PathBuf| match text(path) {
        Ok(bytes) => of_bytes(path, bytes, layer, standing.clone(), known),
        Err(error) => unreadable_entry(path, layer, standing.clone(), &error),
    };
    listed.iter().map(one).collect()
}

/// All grimoires of a project's folder that the user agreed to, as they were then.
pub(super) fn read_copies(
    folder: &Path,
    files: &TrustedFiles,
    known: &CheckEnvironment,
) -> Vec<CatalogueEntry> {
    let here = |(path, _): &(PathBuf, &[u8])| path.parent() == Some(folder) && is_grimoire(path);
    let one = |(path, bytes): (PathBuf, &[u8])| {
        let (layer, standing) = (GrimoireLayer::Project, EntryStatus::Current);
        of_bytes(&path, bytes.to_owned(), layer, standing, known)
    };
    files.below(folder).filter(here).map(one).collect()
}

fn of_bytes(
    path: &Path,
    bytes: Vec<u8>,
    layer: GrimoireLayer,
    standing: EntryStatus,
    known: &CheckEnvironment,
) -> CatalogueEntry {
    match SourceFile::from_bytes(path.display().to_string(), bytes) {
        Ok(source) => entry(&stem(path), source, Some(path), layer, standing, known),
        Err(report) => CatalogueEntry {
            name: stem(path),
            layer,
            path: Some(path.to_owned()),
            source: report.source,
            plan: None,
            problems: report.problems,
            standing,
        },
    }
}

fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if is_grimoire(&path) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Whether a file's name is that of a grimoire.
fn is_grimoire(path: &Path) -> bool {
    let hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
    let ending = path.extension().and_then(|ending| ending.to_str());
    !hidden && matches!(ending, Some("yaml" | "yml" | "json"))
}

/// A file's bytes. Only plain files are opened: a pipe would wait for ever.
fn text(path: &Path) -> io::Result<Vec<u8>> {
    let about = fs::metadata(path)?;
    if !about.is_file() {
        return Err(io::Error::other("it is not a plain file"));
    }
    if about.len() > LARGEST {
        return Err(io::Error::other(format!(
            "it has {} bytes, and at most {LARGEST} are read",
            about.len()
        )));
    }
    fs::read(path)
}

fn unreadable_entry(
    path: &Path,
    layer: GrimoireLayer,
    standing: EntryStatus,
    error: &io::Error,
) -> CatalogueEntry {
    let message = format!("it cannot be read: {error}");
    let problem = FileProblem::error("unreadable", SourceSpan::default(), message);
    CatalogueEntry {
        name: stem(path),
        layer,
        path: Some(path.to_owned()),
        source: SourceFile::new(path.display().to_string(), ""),
        plan: None,
        problems: vec![problem.help("look at its permissions, or remove it")],
        standing,
    }
}

fn stem(path: &Path) -> String {
    path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Where a grimoire says what it is called.
pub(super) fn name_span(source: &SourceFile) -> SourceSpan {
    key_span(source, "name")
}

/// Where a key of a grimoire stands, as far as it can be read.
pub(super) fn key_span(source: &SourceFile, key: &str) -> SourceSpan {
    parse(source, FileSyntax::Yaml).map(|node| node.key_span(key)).unwrap_or_default()
}
