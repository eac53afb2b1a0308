//! docs/benchmarks.md: each benchmark owns one section of it and leaves the others alone.

use std::path::Path;
use std::{fs, io};

const TITLE: &str = "# Benchmarks

Each section is written by the command it names. Numbers of one run belong together: compare the \
ratios, not the numbers of different runs or machines.
";

/// Puts a section, which begins with its `## ` heading, in the place of the one with the same
/// heading, or at the end.
pub fn write(path: &Path, section: &str) -> io::Result<()> {
    let old = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => TITLE.to_owned(),
        Err(error) => return Err(error),
    };
    let heading = section.lines().next().unwrap_or_default();
    let mut parts: Vec<&str> = sections(&old);
    match parts.iter_mut().find(|part| part.lines().next() == Some(heading)) {
        Some(part) => *part = section,
        None => parts.push(section),
    }
    let parts: Vec<&str> = parts.iter().map(|part| part.trim_end()).collect();
    fs::write(path, parts.join("\n\n") + "\n")
}

/// What stands before the first heading, and then the sections.
fn sections(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("\n## ") {
        let (part, after) = rest.split_at(at + 1);
        parts.push(part);
        rest = after;
    }
    parts.push(rest);
    parts
}
