//! `coven import`: making foreign sessions your own.

use std::path::PathBuf;

use coven_api::ApiClient;
use coven_api::catalogue::BaseDirQuery;
use coven_api::system::{ForeignSession, ImportSession};

use crate::connect::{self, block_on};
use crate::failure::{CommandFailure, Result};
use crate::{folders, output, trust, tty};

/// What `coven import` takes.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  coven import                          look at the foreign sessions of this folder, one by one
  coven import ../moved brisk-otter     one session of another folder
  coven import --key /backup/seal.key   those that this key sealed, without asking

A session is yours if you made it in its folder. One of a clone, a copy, a moved folder, another
machine or an older version is foreign: it can be read, and nothing of it runs. Importing makes it
yours: its run goes on if it was under way. What its jobs left elsewhere is not taken over; a job
that was running is not started again, you are asked about it.")]
pub(crate) struct Arguments {
    /// The folder; the current one unless said.
    folder: Option<PathBuf>,
    /// Only these sessions: ids, beginnings of ids, or names.
    #[arg(value_name = "NAME")]
    sessions: Vec<String>,
    /// Import without asking what the key in this file sealed, and nothing else.
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// Print what there is as JSON, and change nothing.
    #[arg(long, conflicts_with = "key")]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result {
    block_on(async {
        let base = folders::base_dir(arguments.folder.as_deref())?;
        let client = connect::daemon().await?;
        let query = BaseDirQuery { base_dir: Some(base.display().to_string()) };
        let found = client.foreign_sessions(&query).await?;
        let wanted: Vec<&ForeignSession> = found
            .sessions
            .iter()
            .filter(|session| is_wanted(session, &arguments.sessions))
            .collect();
        if arguments.json {
            return output::as_json(&wanted);
        }
        if let Some(missing) = arguments.sessions.iter().find(|name| {
            !found.sessions.iter().any(|session| is_wanted(session, std::slice::from_ref(*name)))
        }) {
            let what = format!("no foreign session is called `{}`", output::one_line(missing));
            return Err(CommandFailure::failed(what).hint("coven import --json lists them"));
        }
        if wanted.is_empty() {
            return output::line(&format!("{} has no foreign sessions", found.base_dir));
        }
        let key = arguments.key.as_deref().map(std::fs::canonicalize).transpose();
        let key = key.map_err(|error| CommandFailure::usage(format!("--key: {error}")))?;
        if key.is_none() && !tty::is_interactive() {
            for session in wanted {
                show(session);
            }
            return Err(CommandFailure::failed("there is no terminal to ask on")
                .hint("coven import --key FILE imports what that key sealed without asking"));
        }
        let mut failed = false;
        for session in wanted {
            let key = key.as_ref().map(|key| key.display().to_string());
            failed |= !one(&client, &found.base_dir, session, key).await?;
        }
        if failed { Err(CommandFailure::told()) } else { Ok(()) }
    })
}

fn is_wanted(session: &ForeignSession, names: &[String]) -> bool {
    names.is_empty()
        || names.iter().any(|name| session.name == *name || session.id.starts_with(name.as_str()))
}

/// Imports one session, after asking if there is no key. Says whether nothing went wrong.
async fn one(
    client: &ApiClient,
    base_dir: &str,
    session: &ForeignSession,
    key: Option<String>,
) -> Result<bool> {
    show(session);
    let Some(digest) = &session.digest else { return Ok(false) };
    if key.is_none() && !trust::confirms("Make it yours?").await? {
        return Ok(true);
    }
    let request = ImportSession {
        base_dir: base_dir.to_owned(),
        session: session.id.clone(),
        digest: digest.clone(),
        key,
    };
    match client.import(&request).await {
        Ok(imported) => {
            output::line(&format!("{} is yours now; it is {}", name(session), imported.status))?;
            Ok(true)
        }
        Err(error) => {
            output::say!("{}: {}", name(session), output::one_line(&error.to_string()));
            Ok(false)
        }
    }
}

fn name(session: &ForeignSession) -> String {
    output::one_line(&session.name)
}

fn show(session: &ForeignSession) {
    let seal = match session.seal.as_str() {
        "yours" => "sealed with your key",
        "other" => "sealed with another key",
        _ => "without a seal",
    };
    output::say!("{} ({}), {}, {} facts", name(session), session.status, seal, session.facts);
    if let Some(problem) = &session.problem {
        output::say!("  it cannot be imported: {}", output::one_line(problem));
    }
    for line in &session.would {
        output::say!("  - {}", output::one_line(line));
    }
}
