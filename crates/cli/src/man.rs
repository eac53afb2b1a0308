//! `coven man`: manual pages, and the reference page of the documentation.

use std::fs;
use std::path::PathBuf;

use clap::{Command, CommandFactory};

use crate::command::{self, CovenCli};
use crate::failure::{CommandFailure, Result};
use crate::output;
use crate::output::PutText;

/// How wide the reference page is, wherever it is made.
const REFERENCE_COLUMNS: usize = 96;

/// What the reference page begins with.
const REFERENCE_HEAD: &str = "# Command line

Every command with its options, as `--help` shows them. This page is made by `coven man --reference`
and a test holds it against the program.

Sessions are called by their name (`brisk-otter`), their id, or the beginning of either. The same
name can be given in two folders: it counts first in the folder you are in. `@` is the newest
session of that folder, and `show`, `logs`, `attach` and `output` take it by themselves. A task is
`NAME/TASK`, such as `brisk-otter/build.3`; where a session has only one that comes into question,
its name is enough. What is asked for goes to stdout, everything else to stderr; with `--json` both
are JSON. How commands end: [exit codes](exit-codes.md).
";

/// What `coven man` takes.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  coven man share/man/man1   a page for each command, as a package installs them
  coven man | man -l -       the first page")]
pub(crate) struct Arguments {
    /// The folder to write the pages to; without one the first page goes to stdout.
    folder: Option<PathBuf>,
    /// Print the reference page of the documentation instead.
    #[arg(long, conflicts_with = "folder")]
    reference: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result {
    let wrong = |error: std::io::Error| {
        CommandFailure::failed(format!("the pages cannot be written: {error}"))
    };
    if arguments.reference {
        return output::write(&reference());
    }
    if let Some(folder) = &arguments.folder {
        fs::create_dir_all(folder).map_err(wrong)?;
        return clap_mangen::generate_to(CovenCli::command(), folder).map_err(wrong);
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(CovenCli::command()).render(&mut page).map_err(wrong)?;
    output::bytes(&page)
}

fn reference() -> String {
    let mut command = command::cli().term_width(REFERENCE_COLUMNS);
    command.build();
    let mut text = REFERENCE_HEAD.to_owned();
    section(&mut text, &command, "coven");
    text
}

/// Hidden verbs that people use all the same: whoever packages Coven, and whoever writes tests.
const DOCUMENTED_HIDDEN: [&str; 2] = ["man", coven_demo::SUBCOMMAND];

fn is_documented(command: &Command) -> bool {
    let name = command.get_name();
    DOCUMENTED_HIDDEN.contains(&name) || !command.is_hide_set() && name != "help"
}

fn section(text: &mut String, command: &Command, name: &str) {
    let help = command.clone().term_width(REFERENCE_COLUMNS).render_long_help().to_string();
    let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
    text.put(format!("\n## `{name}`\n\n```text\n{}\n```\n", lines.join("\n").trim()));
    for part in command.get_subcommands() {
        if is_documented(part) {
            section(text, part, &format!("{name} {}", part.get_name()));
        }
    }
}
