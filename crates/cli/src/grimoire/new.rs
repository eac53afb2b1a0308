//! `coven grimoire new`.

use std::path::Path;

use coven_notation::SourceFile;
use coven_workflow::check;

use crate::connect::block_on;
use crate::failure::{CommandFailure, Result};
use crate::schema::SchemaFile;
use crate::written::NewFile;
use crate::{output, trust, written};

/// What a new grimoire begins with: an agent, a gate, and everything else in comments.
const TEMPLATE: &str = r#"# A grimoire: a workflow of named steps, one after the other.
# Check it with: coven grimoire check @NAME@
name: @NAME@
description: What this is for, in one sentence.

inputs:
  task:
    description: What is to be done
    required: true

defaults:
  adapter: demo            # claude, codex, gemini, opencode, ... (coven adapter ls)
  timeout: 30m

steps:
  - name: work
    type: agent
    permissions: edits     # read-only, ask, edits or all
    prompt: |
      ${input.task}
    output: result         # later steps can use ${result}

  - name: tests
    type: gate
    command: "true"        # for example: cargo test
    message: The tests must pass.

  # An agent for each entry of a list, three at a time:
  #
  # - name: build
  #   type: parallel-agents
  #   for_each: ${tasks}
  #   as: task
  #   max_concurrent: 3
  #   prompt: Implement ${task.title}
  #   output: results
  #
  # Work and judgement in turns, until the arbiter is content:
  #
  # - name: review
  #   type: agent-loop
  #   prompt: Review the change. The last verdict was ${verdict.reason}.
  #   arbiter: {prompt: Is any finding actionable?}
  #   max_iterations: 5
"#;

pub(super) fn run(name: &str, from: Option<&str>, user: bool, as_json: bool) -> Result {
    let text = match from {
        Some(from) => renamed(from, name)?,
        None => TEMPLATE.replace("@NAME@", name),
    };
    // A name that is none shows in the text.
    let source = SourceFile::new(format!("{name}.yaml"), text.as_str());
    let checked = check(&source, &super::known());
    if checked.has_errors() {
        let report = coven_notation::ProblemReport::new(source, checked.problems);
        output::report(&report);
        return Err(CommandFailure::usage(format!("{name:?} cannot be the name of a grimoire"))
            .hint("use lower-case words with dashes between them, such as `fix-bug`"));
    }
    let within = Path::new("grimoires").join(format!("{name}.yaml"));
    let (home, project) = written::home_of_new(user, &within)?;
    let path = home.join(within);
    written::refuse_existing(&path, "name")?;
    let text = written::schema_line(&home, "../", SchemaFile::Grimoire)? + &text;
    let (path, text) = (path.as_path(), text.as_str());
    let command = "coven grimoire check";
    written::create(&NewFile { path, text, command, noun: "name", as_json })?;
    match project {
        Some(base) => block_on(trust::agree_to_own(&base, &[(path.to_owned(), text.to_owned())])),
        None => Ok(()),
    }
}

/// The text of another grimoire under a new name.
fn renamed(from: &str, name: &str) -> Result<String> {
    let catalogue = super::catalogue();
    catalogue.plan(from).map_err(super::not_usable)?;
    let Some(entry) = catalogue.get(from) else { return Ok(String::new()) };
    let is_schema = |line: &&str| line.starts_with(written::SCHEMA_COMMENT);
    let lines = entry.source.text().lines().filter(|line| !is_schema(line)).map(|line| {
        let named = line.strip_prefix("name:").is_some_and(|rest| rest.trim() == from);
        if named { format!("name: {name}") } else { line.to_owned() }
    });
    Ok(lines.collect::<Vec<_>>().join("\n") + "\n")
}
