//! `coven policy accept` and `coven policy edit`: agreeing to the user's own policy.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use coven_api::system::{AcceptPolicy, PolicyStanding, PolicyState};
use coven_api::{ApiClient, ProblemCode};
use coven_model::ContentDigest;
use coven_notation::{ProblemReport, SourceFile};
use coven_policy::Policy;

use crate::connect::{self, block_on};
use crate::failure::{CommandFailure, Result};
use crate::{folders, output, trust, tty, written};

/// What a new policy begins with.
pub(crate) const TEMPLATE: &str = r"# Which questions of agents are answered without you.
# The first rule that matches decides; what no rule matches is asked.
#
#   coven policy test    holds it against what was asked before
#   coven policy edit    changes it; a change by another way counts after: coven policy accept
version: 2
rules:
  - name: no-force-push
    matches: git push .*(--force|-f\b)
    decision: deny
    reason: History is not rewritten.

  # `command` is matched whole, for every part of what an agent wants to run.
  # - name: harmless
  #   command: cargo (check|test)( .*)?|git (status|diff|log)
  #   decision: allow
";

/// Agrees to the policy as it is now.
pub(super) fn accept(yes: bool, as_json: bool) -> Result {
    block_on(async {
        let client = connect::daemon().await?;
        let standing = client.policy().await?;
        let path = PathBuf::from(&standing.path);
        match standing.state {
            PolicyState::Missing => {
                let failure =
                    CommandFailure::not_found(ProblemCode::NotFound, "there is no policy");
                return Err(failure.hint("coven policy edit"));
            }
            PolicyState::Accepted if as_json => return accepted_json(&standing),
            PolicyState::Accepted => {
                return output::line(&format!("{} is accepted already", standing.path));
            }
            PolicyState::Wrong => {
                check(&path)?;
                return Err(CommandFailure::told());
            }
            PolicyState::New | PolicyState::Changed => {}
        }
        let bytes = seen(&path, &standing)?;
        output::say!("{}:", standing.path);
        output::say!("{}", output::clean(&String::from_utf8_lossy(&bytes)).trim_end());
        check(&path)?;
        if !yes {
            if as_json || !tty::is_interactive() {
                return Err(CommandFailure::failed("there is no terminal to ask on")
                    .hint("look at it, then: coven policy accept --yes"));
            }
            if !trust::confirms("Have you looked at it, and shall it answer for you?").await? {
                return Err(CommandFailure::told());
            }
        }
        agree(&client, &standing).await?;
        if as_json { accepted_json(&standing) } else { accepted_line(&standing) }
    })
}

fn accepted_line(standing: &PolicyStanding) -> Result {
    output::line(&format!("{} is accepted, as it is now", standing.path))
}

fn accepted_json(standing: &PolicyStanding) -> Result {
    let accepted = PolicyStanding { state: PolicyState::Accepted, ..standing.clone() };
    output::as_json(&accepted)
}

/// The policy, if it is still the one that would be agreed to.
fn seen(path: &Path, standing: &PolicyStanding) -> Result<Vec<u8>> {
    let (_, bytes) = written::read(path)?;
    if standing.digest.as_deref() != Some(ContentDigest::of_bytes(&bytes).as_str()) {
        let message = format!("{} is changing", path.display());
        return Err(CommandFailure::failed(message).hint("look again: coven policy accept"));
    }
    Ok(bytes)
}

async fn agree(client: &ApiClient, standing: &PolicyStanding) -> Result {
    let Some(digest) = standing.digest.clone() else { return Ok(()) };
    let accepted = client.accept_policy(&AcceptPolicy { digest }).await;
    accepted.map_err(|error| CommandFailure::from(error).look_again("coven policy accept"))?;
    Ok(())
}

/// Opens the policy in the user's editor, checks it and agrees to it.
pub(super) fn edit() -> Result {
    let places = folders::places()?;
    let path = places.config_dir.join("policy.yaml");
    if coven_daemon::inside_agent(Some(&places.state_dir)) {
        return Err(CommandFailure::failed("an agent may not change the policy of its user")
            .hint("ask the person who runs you: coven policy edit"));
    }
    if !tty::is_interactive() {
        return Err(CommandFailure::failed("there is no terminal to edit it on")
            .hint(format!("change {}, then: coven policy accept", path.display())));
    }
    if !path.exists() {
        let failed =
            |error| CommandFailure::failed(format!("could not write {}: {error}", path.display()));
        fs::create_dir_all(&places.config_dir).map_err(failed)?;
        fs::write(&path, TEMPLATE).map_err(failed)?;
    }
    open_editor(&path)?;
    block_on(async {
        let client = connect::daemon().await?;
        let standing = client.policy().await?;
        seen(&path, &standing)?;
        check(&path)?;
        agree(&client, &standing).await?;
        accepted_line(&standing)
    })
}

/// Runs the editor that the environment names, as a shell would: it may have arguments.
fn open_editor(path: &Path) -> Result {
    let named = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let editor = named("VISUAL").or_else(|| named("EDITOR")).unwrap_or_else(|| "vi".into());
    let mut script = editor.clone();
    script.push(OsString::from(" \"$1\""));
    let status = Command::new("/bin/sh").arg("-c").arg(script).arg("sh").arg(path).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(_) | Err(_) => {
            let message = format!("the editor `{}` did not end well", editor.to_string_lossy());
            Err(CommandFailure::failed(message)
                .hint("the policy was not accepted; set EDITOR to your editor"))
        }
    }
}

/// Says what is wrong with a policy and what is probably not meant; fails if it cannot be used.
pub(super) fn check(path: &Path) -> Result<Policy> {
    let (name, bytes) = written::read(path)?;
    let tell = |report: ProblemReport| {
        output::report(&report);
        CommandFailure::told()
    };
    let source = SourceFile::from_bytes(name, bytes).map_err(tell)?;
    let policy = Policy::read(&source).map_err(tell)?;
    if !policy.warnings().is_empty() {
        let report = ProblemReport::new(source, policy.warnings().to_vec());
        output::report(&report);
    }
    Ok(policy)
}

/// Says at the start of a run that rules of a policy do not answer as they are written.
pub(crate) async fn note(client: &ApiClient, base: &Path) {
    if let Ok(standing) = client.policy().await {
        if let Some(why) = not_accepted(standing.state) {
            output::say!(
                "note: your policy {why}, so what it allows is asked: coven policy accept"
            );
        }
        note_asked(&standing.asks_instead, "coven policy edit");
    }
    let trusted =
        folders::places().ok().and_then(|places| coven_daemon::project_trust(&places, base).files);
    if let Some(files) = trusted
        && let Ok(Some(policy)) = coven_daemon::read_trusted_policy(base, &files)
    {
        let names: Vec<String> = policy.allows_by_matches().map(|rule| rule.name.clone()).collect();
        note_asked(&names, "change .coven/policy.yaml");
    }
}

fn note_asked(rules: &[String], mend: &str) {
    if !rules.is_empty() {
        let rules: Vec<String> = rules.iter().map(|rule| output::one_line(rule)).collect();
        output::say!(
            "note: these rules allow by `matches` and are asked instead ({}); \
             write `version: 2` and `command`: {mend}",
            rules.join(", ")
        );
    }
}

/// Why what a policy allows does not count; nothing if it does.
pub(crate) fn not_accepted(state: PolicyState) -> Option<&'static str> {
    match state {
        PolicyState::New => Some("was not accepted yet"),
        PolicyState::Changed => Some("has changed since it was accepted"),
        PolicyState::Missing | PolicyState::Accepted | PolicyState::Wrong => None,
    }
}
