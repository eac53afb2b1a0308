//! `coven init`: a `.coven/` to start from.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::connect::block_on;
use crate::failure::{CommandFailure, Result};
use crate::schema::SchemaFile;
use crate::written::{refuse_links, schema_line};
use crate::{folders, output, trust};

/// What `coven init` takes.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  coven init          in this folder
  coven run hello     runs what it wrote
  coven init ../app   in another one")]
pub(crate) struct Arguments {
    /// The folder; the current one unless said.
    folder: Option<PathBuf>,
    /// Print what was written as JSON.
    #[arg(long)]
    json: bool,
}

/// A workflow that runs as it is, with nothing installed.
const GRIMOIRE: &str = r#"# A grimoire: a workflow of named steps, one after the other.
#
#   coven run hello                       runs it
#   coven run hello --input topic=tests   with another input
#   coven grimoire check hello            shows every mistake, at its place
#
# The agents here are the scripted one that comes with Coven, so that it runs with nothing
# installed. Put claude, codex, gemini or opencode instead (coven adapter ls) and write prompts.
name: hello
description: Counts files, lets an agent look, and checks its work.

inputs:
  topic:
    description: What the agent is to look at
    default: this folder

defaults:
  adapter: demo
  timeout: 10m

steps:
  # A script's output is what it prints.
  - name: count
    type: script
    command: ls | wc -l
    output: files

  # An agent without a terminal: it works until it is done.
  - name: look
    type: agent
    permissions: read-only       # read-only, ask, edits or all
    prompt: |
      say I looked at ${input.topic}. There are ${files} files.
    output: report

  # A gate blocks until its command succeeds, or a person decides otherwise.
  - name: said
    type: gate
    command: test -n "${report}"
    message: The agent said nothing.

  # More that a workflow can do: coven grimoire show demo
"#;

/// A policy that changes nothing until its examples are put to use.
const POLICY: &str = r"# Which questions of agents are answered without a person, in this folder.
# The first rule that matches decides; what no rule matches is asked.
#
#   coven policy test    holds it against what was asked before
#
# A project can forbid what its user allows, and never the other way round.
version: 2
rules:
  - name: no-force-push
    matches: git push .*(--force|-f\b)
    decision: deny
    reason: History of this repository is not rewritten.

  # `command` is matched whole, for every part of what an agent wants to run.
  # - name: harmless
  #   command: cargo (check|test)( .*)?|npm test|git (status|diff|log)
  #   decision: allow
";

pub(crate) fn run(arguments: &Arguments) -> Result {
    let base = match &arguments.folder {
        Some(folder) => folders::base_dir(Some(folder))?,
        // The current folder, and not the folder above that has a project already.
        None => folders::base_dir(Some(Path::new(".")))?,
    };
    let home = base.join(".coven");
    let files = [
        ("grimoires/hello.yaml", "../", SchemaFile::Grimoire, GRIMOIRE),
        ("policy.yaml", "", SchemaFile::Policy, POLICY),
    ];
    for (name, ..) in &files {
        refuse_links(&base, &home.join(name))?;
    }
    block_on(trust::refuse_not_owned(&base))?;
    let (mut written, mut kept) = (Vec::new(), Vec::new());
    for (name, way, schema, text) in files {
        let path = home.join(name);
        let there = path.symlink_metadata().is_ok();
        let line = if there { String::new() } else { schema_line(&home, way, schema)? };
        let text = line + text;
        if write_new(&path, &text)? {
            if !arguments.json {
                output::line(&path.display().to_string())?;
            }
            written.push((path, text));
        } else {
            output::say!("{} is there already and stays as it is", path.display());
            kept.push(path);
        }
    }
    if written.is_empty() {
        return Err(CommandFailure::failed("there was nothing to write")
            .hint("coven grimoire new NAME writes another workflow"));
    }
    block_on(trust::agree_to_own(&base, &written))?;
    if arguments.json {
        let paths: Vec<&PathBuf> = written.iter().map(|(path, _)| path).collect();
        return output::json(&json!({"written": paths, "kept": kept}));
    }
    output::say!("\nTry it: coven run hello     Then change it: .coven/grimoires/hello.yaml");
    Ok(())
}

/// Whether it was written; what is there already stays.
fn write_new(path: &Path, text: &str) -> Result<bool> {
    let failed =
        |error| CommandFailure::failed(format!("could not write {}: {error}", path.display()));
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(failed)?;
    }
    match fs::File::create_new(path) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(failed(error)),
        Ok(mut file) => file.write_all(text.as_bytes()).map(|()| true).map_err(failed),
    }
}

#[cfg(test)]
mod tests {
    use coven_notation::SourceFile;
    use coven_policy::Policy;
    use coven_workflow::{CheckEnvironment, check};

    use super::*;

    #[test]
    fn what_is_written_is_right() {
        let source = SourceFile::new("hello.yaml", GRIMOIRE);
        let checked = check(&source, &CheckEnvironment::new(["demo".to_owned()]));
        assert!(checked.problems.is_empty(), "{:?}", checked.problems);
        for text in [POLICY, crate::policy::accept::TEMPLATE] {
            let used = text.replace("  # - name", "  - name").replace("  #   ", "    ");
            for text in [text, &used] {
                let read = Policy::read(&SourceFile::new("policy.yaml", text)).unwrap();
                assert!(read.warnings().is_empty(), "{:?}", read.warnings());
            }
        }
    }
}
