//! `coven pr`: the branch of a tree, pushed and offered for review elsewhere.
//!
//! Pushing belongs to the person: their credentials, their hooks, their terminal for a passphrase. So
//! it is done here and not by the daemon, by the git and the `gh` of the caller's `PATH`.

use std::path::Path;
use std::process::{Command, Stdio};

use coven_api::ProblemCode;
use coven_api::tree::{TreeItem, TreesQuery};
use coven_git::push;
use serde_json::json;

use crate::connect::{self, block_on};
use crate::failure::{CommandFailure, Result};
use crate::find::{self, SessionTarget};
use crate::{doctor, output};

/// The remote that is pushed to where there is one of this name.
const USUAL_REMOTE: &str = "origin";

/// The program that makes pull requests.
const GH: &str = "gh";

/// What `coven pr` takes.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  coven pr brisk-otter                  push its branch, and make a pull request
  coven pr brisk-otter --draft          the same as a draft
  coven pr brisk-otter/build.2          the branch of one task
  coven pr brisk-otter --dry-run        only print the commands

Without `gh` only the command that pushes is printed.")]
pub(crate) struct Arguments {
    /// The session, or the task whose tree it is.
    #[arg(value_name = "NAME[/TASK]", add = crate::complete::sessions())]
    target: SessionTarget,
    /// The branch that the pull request is for; the one that the session was started from unless
    /// said.
    #[arg(long, value_name = "BRANCH")]
    into: Option<String>,
    /// The title; what the session is for unless said.
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// Make it a draft.
    #[arg(long)]
    draft: bool,
    /// Only print the commands.
    #[arg(long)]
    dry_run: bool,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

/// A command that runs in the repository.
struct RepositoryCommand {
    program: &'static str,
    args: Vec<String>,
}

impl RepositoryCommand {
    /// As it is typed in a shell.
    fn typed(&self) -> String {
        let words = self.args.iter().map(|word| quoted(word));
        [self.program.to_owned()].into_iter().chain(words).collect::<Vec<_>>().join(" ")
    }

    /// Runs it with the terminal of the caller. What it prints for people goes to stderr, and its
    /// output is given back.
    fn run(&self, folder: &Path) -> Result<String> {
        let mut command = Command::new(self.program);
        command.args(&self.args).current_dir(folder).stdout(Stdio::piped());
        let output = command.spawn().and_then(std::process::Child::wait_with_output);
        let output = output.map_err(|error| {
            CommandFailure::failed(format!("{} cannot be run: {error}", self.program))
        })?;
        if !output.status.success() {
            let message = format!("{} failed ({})", self.program, output.status);
            return Err(CommandFailure::failed(message).hint(format!("again: {}", self.typed())));
        }
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result {
    let (item, tree) = block_on(async {
        let client = connect::daemon().await?;
        let (workflow, tree) = find::tree(&client, &arguments.target).await?;
        let id = workflow.item.id.as_str();
        let query = TreesQuery { removed: Some(true), ..TreesQuery::default() };
        let trees = client.trees(Some(id), &query).await?.trees;
        // A task may work in a tree that it shares with others.
        let own = workflow.tasks.iter().find(|task| task.id.as_str() == tree);
        let wanted = own.and_then(|task| task.tree.clone()).unwrap_or(tree);
        let found = trees.into_iter().find(|item| item.tree == wanted);
        let found = found.ok_or_else(|| {
            let message = format!("{}/{wanted} works in no tree", workflow.item.name);
            CommandFailure::not_found(ProblemCode::NoTree, message)
        })?;
        Ok((workflow.item, found))
    })?;
    let root = Path::new(&tree.root);
    let gh = doctor::find(GH).is_some();
    let push = push_of(root, &tree)?;
    let into = arguments.into.clone().or_else(|| tree.target.clone());
    let title = arguments.title.clone().or(item.goal);
    let title = title.unwrap_or_else(|| item.name.clone());
    let create = gh.then(|| create(&tree, into.as_deref(), &title, arguments.draft));
    if arguments.dry_run || !gh {
        let commands: Vec<String> = [Some(&push), create.as_ref()]
            .into_iter()
            .flatten()
            .map(RepositoryCommand::typed)
            .collect();
        if arguments.json {
            return output::json(&json!({
                "branch": tree.branch, "into": into, "folder": tree.root, "pushed": false,
                "commands": commands,
            }));
        }
        output::write(&commands.iter().map(|line| format!("{line}\n")).collect::<String>())?;
        if !gh {
            output::say!("There is no `gh` here. Push it so, and make the pull request yourself.");
        }
        return Ok(());
    }
    if tree.uncommitted {
        output::say!(
            "note: something in {} may not be committed yet; only what is committed is pushed",
            output::one_line(&tree.path)
        );
    }
    push.run(root)?;
    let url = match &create {
        Some(create) => create.run(root)?,
        None => String::new(),
    };
    if arguments.json {
        return output::json(&json!({
            "branch": tree.branch, "into": into, "folder": tree.root, "pushed": true, "url": url,
        }));
    }
    output::line(&output::clean(&url))
}

/// The push of the branch, to the usual remote or the first there is.
fn push_of(root: &Path, tree: &TreeItem) -> Result<RepositoryCommand> {
    let git = |args| RepositoryCommand { program: push::PROGRAM, args };
    let remotes = git(push::remotes_arguments(&tree.root)).run(root)?;
    let mut names = remotes.lines();
    let first = names.clone().next().ok_or_else(|| {
        let add = git(push::add_remote_arguments(&tree.root, USUAL_REMOTE, "URL"));
        CommandFailure::failed(format!("{} has no remote to push to", tree.root)).hint(add.typed())
    })?;
    let remote = names.find(|name| *name == USUAL_REMOTE).unwrap_or(first);
    Ok(git(push::push_arguments(&tree.root, remote, &tree.branch)))
}

fn create(tree: &TreeItem, into: Option<&str>, title: &str, draft: bool) -> RepositoryCommand {
    let mut args = ["pr", "create", "--head", &tree.branch].map(str::to_owned).to_vec();
    if let Some(into) = into {
        args.extend(["--base".to_owned(), into.to_owned()]);
    }
    args.extend(["--title".to_owned(), output::one_line(title), "--body".to_owned()]);
    args.push(format!("Made with Coven, session {}.", tree.workflow_name));
    args.extend(draft.then(|| "--draft".to_owned()));
    RepositoryCommand { program: GH, args }
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |character: char| {
        character.is_ascii_alphanumeric() || matches!(character, '-' | '_' | '.' | '/' | ':' | '=')
    };
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_can_be_pasted_into_a_shell() {
        let command = RepositoryCommand {
            program: "git",
            args: vec!["-C".into(), "/it's here".into(), "push".into(), String::new()],
        };
        assert_eq!(command.typed(), r"git -C '/it'\''s here' push ''");
    }
}
