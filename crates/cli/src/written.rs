//! Files that people write, as every command that checks or makes one treats them.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use coven_api::catalogue::TextDiagnostic;
use coven_notation::{FileProblem, ProblemReport, SourceFile, SourceSpan};
use serde_json::json;

use crate::connect::block_on;
use crate::failure::{CommandFailure, Result};
use crate::schema::SchemaFile;
use crate::{folders, output, trust};

/// The bytes of a file, with the name it has in messages.
pub(crate) fn read(path: &Path) -> Result<(String, Vec<u8>)> {
    let read = fs::read(path).map_err(|error| CommandFailure::unreadable(path, &error))?;
    Ok((path.display().to_string(), read))
}

/// What is wrong with a file, as a checker finds it.
pub(crate) fn report(
    (name, bytes): (String, Vec<u8>),
    check: impl FnOnce(&SourceFile) -> Vec<FileProblem>,
) -> ProblemReport {
    match SourceFile::from_bytes(name, bytes) {
        Ok(source) => {
            let problems = check(&source);
            ProblemReport::new(source, problems)
        }
        Err(report) => report,
    }
}

/// Tells what is wrong with files; a failure if anything is.
pub(crate) fn tell(reports: &[ProblemReport], as_json: bool) -> Result {
    if as_json {
        let files: Vec<_> = reports
            .iter()
            .map(|report| {
                json!({
                    "file": report.source.name(),
                    "ok": !report.has_errors(),
                    "problems": report.to_json(),
                })
            })
            .collect();
        output::json(&json!(files))?;
    } else {
        for report in reports {
            output::report(report);
            if !report.has_errors() {
                output::line(&format!("{}: ok", report.source.name()))?;
            }
        }
    }
    if reports.iter().any(ProblemReport::has_errors) { Err(CommandFailure::told()) } else { Ok(()) }
}

/// What the daemon found in a text, shown at its places.
pub(crate) fn placed(name: &str, text: &str, found: &[TextDiagnostic]) -> ProblemReport {
    let source = SourceFile::new(name, text);
    let problem = |found: &TextDiagnostic| {
        let span = SourceSpan::new(
            offset(&source, found.line, found.column),
            offset(&source, found.end_line, found.end_column),
        );
        let problem = match found.severity.as_str() {
            "warning" => FileProblem::warning("definition", span, found.message.as_str()),
            _ => FileProblem::error("definition", span, found.message.as_str()),
        };
        match &found.help {
            Some(help) => problem.help(help.as_str()),
            None => problem,
        }
    };
    let problems = found.iter().map(problem).collect();
    ProblemReport::new(source, problems)
}

/// The place of a line and a column, which are counted from 1.
fn offset(source: &SourceFile, line: u32, column: u32) -> usize {
    let span = source.line_span(line as usize);
    let text = source.slice(span);
    let within = text.char_indices().nth(column.saturating_sub(1) as usize);
    span.start + within.map_or(text.len(), |(place, _)| place)
}

/// Where a new file of a kind goes: to the `.coven/` of this folder, or to the user's own
/// configuration. The folder that has a folder for each kind, and whose project that is.
pub(crate) fn home_of_new(user: bool, within: &Path) -> Result<(PathBuf, Option<PathBuf>)> {
    if user {
        let config = folders::config().ok_or_else(|| {
            CommandFailure::failed(
                "neither XDG_CONFIG_HOME nor HOME says where your configuration is",
            )
            .hint("set HOME, or leave out --user")
        })?;
        return Ok((config, None));
    }
    let base = std::env::current_dir().map_err(CommandFailure::failed)?;
    let home = base.join(".coven");
    refuse_links(&base, &home.join(within))?;
    block_on(trust::refuse_not_owned(&base))?;
    Ok((home, Some(base)))
}

/// The folder of the schemas that editors check written files with.
const SCHEMA_FOLDER: &str = "schemas";

/// The first line of a YAML file by which editors find its schema. The schema is written beside the
/// folders of written files, so that it is there without a network and for everyone who has them;
/// `way` leads from the file to that place.
pub(crate) fn schema_line(home: &Path, way: &str, file: SchemaFile) -> Result<String> {
    Ok(format!("{SCHEMA_COMMENT}{}\n", schema_place(home, way, file)?))
}

/// Writes a schema beside the files that it is for, and says where it is from one of them.
pub(crate) fn schema_place(home: &Path, way: &str, file: SchemaFile) -> Result<String> {
    let name = format!("{}.json", file.name());
    let path = home.join(SCHEMA_FOLDER).join(&name);
    let failed =
        |error| CommandFailure::failed(format!("could not write {}: {error}", path.display()));
    let text = format!("{:#}\n", file.schema());
    if fs::read_to_string(&path).ok().as_deref() != Some(text.as_str()) {
        // A user's own configuration may lie behind links; agents can make those of a project.
        let project = home.parent().filter(|_| home.ends_with(".coven"));
        if let Some(base) = project {
            refuse_links(base, &path)?;
        }
        if project.is_some() && path.is_symlink() {
            return Err(CommandFailure::failed(format!(
                "{} is a link, and nothing is written through a link",
                path.display()
            ))
            .hint("remove the link, then try again"));
        }
        fs::create_dir_all(home.join(SCHEMA_FOLDER)).map_err(failed)?;
        fs::write(&path, text).map_err(failed)?;
    }
    Ok(format!("{way}{SCHEMA_FOLDER}/{name}"))
}

/// What such a line begins with.
pub(crate) const SCHEMA_COMMENT: &str = "# yaml-language-server: $schema=";

/// Refuses a place below a project that a link leads to: what is written there would lie elsewhere.
pub(crate) fn refuse_links(base: &Path, file: &Path) -> Result {
    let within = file.strip_prefix(base).unwrap_or(file);
    let mut place = base.to_owned();
    for part in within.parent().into_iter().flat_map(Path::components) {
        place.push(part);
        if let Ok(target) = fs::read_link(&place) {
            let (place, target) = (place.display(), target.display());
            return Err(CommandFailure::failed(format!(
                "{place} is a link to {target}, and nothing is written through a link"
            ))
            .hint("remove the link, or put a folder in its place, then try again"));
        }
    }
    Ok(())
}

/// Refuses to write over a file that is there. `noun` is what another of can be chosen.
pub(crate) fn refuse_existing(path: &Path, noun: &str) -> Result {
    if path.symlink_metadata().is_err() {
        return Ok(());
    }
    Err(CommandFailure::failed(format!("{} is already there", path.display()))
        .hint(format!("edit it, or choose another {noun}")))
}

/// A file that a command makes for people to edit.
#[derive(Clone, Copy)]
pub(crate) struct NewFile<'a> {
    pub(crate) path: &'a Path,
    pub(crate) text: &'a str,
    /// The command that checks it.
    pub(crate) command: &'a str,
    /// What the error asks to choose another of when the file exists.
    pub(crate) noun: &'a str,
    pub(crate) as_json: bool,
}

/// Makes a file that is not there yet, and says where it is and how it is checked.
pub(crate) fn create(new: &NewFile<'_>) -> Result {
    let NewFile { path: file, text, command, noun, as_json } = *new;
    let failed =
        |error| CommandFailure::failed(format!("could not write {}: {error}", file.display()));
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder).map_err(failed)?;
    }
    let mut open = match fs::File::create_new(file) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            return Err(CommandFailure::failed(format!("{} is already there", file.display()))
                .hint(format!("edit it, or choose another {noun}")));
        }
        opened => opened.map_err(failed)?,
    };
    open.write_all(text.as_bytes()).map_err(failed)?;
    if as_json {
        return output::json(&json!({"path": file}));
    }
    output::say!("Edit it, then: {command} {}", file.display());
    output::line(&file.display().to_string())
}
