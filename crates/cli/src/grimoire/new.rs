//! `coven grimoire new`.

use std::env;
use std::fs;
use std::io::{ErrorKind, Write};

use coven_notation::Source;
use coven_workflow::check;

use crate::failure::{Failure, Result};
use crate::{folders, output};

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

pub(super) fn run(name: &str, from: Option<&str>, user: bool) -> Result {
    let text = match from {
        Some(from) => renamed(from, name)?,
        None => TEMPLATE.replace("@NAME@", name),
    };
    // A name that is none shows in the text.
    let source = Source::new(format!("{name}.yaml"), text.as_str());
    let checked = check(&source, &super::known());
    if checked.has_errors() {
        let report = coven_notation::Report::new(source, checked.problems);
        eprint!("{}", report.render(output::colour_on_stderr()));
        return Err(Failure::usage(format!("{name:?} cannot be the name of a grimoire"))
            .hint("use lower-case words with dashes between them, such as `fix-bug`"));
    }
    let folder = if user {
        folders::config().map(|config| config.join("grimoires")).ok_or_else(|| {
            Failure::failed("neither XDG_CONFIG_HOME nor HOME says where your configuration is")
        })?
    } else {
        env::current_dir().map_err(Failure::failed)?.join(".coven/grimoires")
    };
    let file = folder.join(format!("{name}.yaml"));
    let failed = |error| Failure::failed(format!("could not write {}: {error}", file.display()));
    fs::create_dir_all(&folder).map_err(failed)?;
    let mut open = match fs::File::create_new(&file) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            return Err(Failure::failed(format!("{} is already there", file.display()))
                .hint("edit it, or choose another name"));
        }
        opened => opened.map_err(failed)?,
    };
    open.write_all(text.as_bytes()).map_err(failed)?;
    eprintln!("Edit it, then: coven grimoire check {}", file.display());
    output::line(&file.display().to_string())
}

/// The text of another grimoire under a new name.
fn renamed(from: &str, name: &str) -> Result<String> {
    let catalogue = super::catalogue();
    catalogue.plan(from).map_err(Failure::failed)?;
    let Some(entry) = catalogue.get(from) else { return Ok(String::new()) };
    let lines = entry.source.text().lines().map(|line| {
        let named = line.strip_prefix("name:").is_some_and(|rest| rest.trim() == from);
        if named { format!("name: {name}") } else { line.to_owned() }
    });
    Ok(lines.collect::<Vec<_>>().join("\n") + "\n")
}
