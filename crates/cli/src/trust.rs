//! `coven trust`: agreeing to what a folder brings along.

use std::path::{Path, PathBuf};

use coven_api::ApiClient;
use coven_api::client::ClientError;
use coven_api::system::{
    FileChange, FileChangeKind, FolderTrust, SetTrust, TrustQuery, TrustState,
};
use coven_store::{BaseDirError, ownership};

use crate::connect::{self, block_on};
use crate::failure::{CommandFailure, Result};
use crate::output::PutText;
use crate::tty::{KeyMode, TerminalKeyboard};
use crate::{folders, output, tty};

/// The most lines that are shown before a person is asked; `--show` prints all.
const MAX_SHOWN_LINES: usize = 1000;

/// What `coven trust` takes.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  coven trust                 look at what the current folder brings along, and agree to it
  coven trust ../other --yes  agree without being asked
  coven trust --show          print what there is to see, and change nothing
  coven trust --revoke        no longer use it
  coven trust --owner         agree that another user can write to the folder

Grimoires can run commands and adapters can start programs. What is agreed to is exactly what
is shown: it is copied, and only the copy is used. When a file changes, the difference is shown
and the change is not used until you agree again. Files of the project that an adapter names as
its command, an argument or a variable are covered too. Other files and folders of the project
that occur in them, such as in a command for a shell, are not covered, and are listed. What the
commands of a step run of the project (its Makefile, its scripts) is neither.")]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of the command line")]
pub(crate) struct Arguments {
    /// The folder; the current one unless said.
    folder: Option<PathBuf>,
    /// Agree without being asked.
    #[arg(short, long)]
    yes: bool,
    /// Print the contents of what the folder brings along, or what has changed, and change nothing.
    #[arg(long, conflicts_with_all = ["yes", "revoke", "owner", "json"])]
    show: bool,
    /// No longer use what the folder brings along.
    #[arg(long, conflicts_with = "yes")]
    revoke: bool,
    /// Agree that others can write to the folder: another user owns it, or everybody may write.
    #[arg(long, conflicts_with = "revoke")]
    owner: bool,
    /// Print how it stands as JSON, and change nothing.
    #[arg(long, conflicts_with_all = ["yes", "revoke"])]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result {
    block_on(async {
        let base = folders::base_dir(arguments.folder.as_deref())?;
        let client = connect::daemon().await?;
        let standing = standing(&client, &base).await?;
        if arguments.show {
            return output::write(&contents(&standing, usize::MAX));
        }
        if arguments.json {
            return output::as_json(&FolderTrust { changes: None, ..standing });
        }
        if arguments.revoke {
            set(&client, &standing, false).await?;
            return output::line(&format!("{} is not trusted any more", standing.base_dir));
        }
        if arguments.owner {
            return owner(&client, &standing, arguments.yes).await;
        }
        match standing.state {
            TrustState::NotOwned => Err(not_owned(&standing)),
            TrustState::Nothing => output::line(&format!(
                "{} brings nothing along that would need trust",
                standing.base_dir
            )),
            TrustState::Trusted => output::line(&format!("{} is trusted", standing.base_dir)),
            TrustState::Untrusted | TrustState::Changed if arguments.yes => {
                agree(&client, &standing).await
            }
            TrustState::Untrusted | TrustState::Changed if tty::is_interactive() => {
                if ask(&client, &base).await? { Ok(()) } else { Err(CommandFailure::told()) }
            }
            TrustState::Untrusted | TrustState::Changed => {
                show(&standing);
                Err(CommandFailure::failed("there is no terminal to ask on")
                    .hint("coven trust --yes"))
            }
        }
    })
}

async fn standing(client: &ApiClient, base: &Path) -> Result<FolderTrust> {
    let query = TrustQuery { base_dir: Some(base.display().to_string()), contents: true };
    Ok(client.trust(&query).await?)
}

async fn set(client: &ApiClient, standing: &FolderTrust, trusted: bool) -> Result {
    let digest = standing.digest.clone().filter(|_| trusted);
    let base_dir = standing.base_dir.clone();
    let set = SetTrust { base_dir, trusted, digest, owners: None };
    client.set_trust(&set).await.map_err(|error| stale(error, "coven trust"))?;
    Ok(())
}

fn stale(error: ClientError, command: &str) -> CommandFailure {
    CommandFailure::from(error).look_again(command)
}

/// Agrees that others can write to a folder, after asking.
async fn owner(client: &ApiClient, standing: &FolderTrust, yes: bool) -> Result {
    let (base_dir, Some(owners)) = (&standing.base_dir, &standing.owners) else {
        return output::line(&format!("{} is yours alone", standing.base_dir));
    };
    if standing.state != TrustState::NotOwned {
        return output::line(&format!("you agreed to the owners of {base_dir} before"));
    }
    output::say!("{base_dir} is not yours alone: {owners}.");
    if !yes {
        if !tty::is_interactive() {
            return Err(CommandFailure::failed("there is no terminal to ask on")
                .hint(format!("coven trust --owner --yes {base_dir}")));
        }
        let question = "Whoever can write there can run programs as you. Use it all the same?";
        if !confirms(question).await? {
            return Err(CommandFailure::told());
        }
    }
    let (base_dir, owners) = (base_dir.clone(), Some(owners.clone()));
    let set = SetTrust { base_dir, trusted: true, digest: None, owners };
    client.set_trust(&set).await.map_err(|error| stale(error, "coven trust --owner"))?;
    output::line(&format!("{} may be used", standing.base_dir))
}

/// Asks, and says whether the person at the terminal presses `y`. Keys that were pressed before
/// that do not count.
pub(crate) async fn confirms(question: &str) -> Result<bool> {
    tty::discard_typed()?;
    output::ask!("{question} [y/N] ");
    let keyboard = TerminalKeyboard::take(KeyMode::Single)?;
    let typed = keyboard.read().await?;
    drop(keyboard);
    let yes = tty::is_yes(&typed);
    output::say!("{}", if yes { "yes" } else { "no" });
    Ok(yes)
}

async fn agree(client: &ApiClient, standing: &FolderTrust) -> Result {
    set(client, standing, true).await?;
    output::line(&format!("{} is trusted, as it is now", standing.base_dir))
}

fn show(standing: &FolderTrust) {
    let why = match standing.state {
        TrustState::Changed => "has changed since it was trusted",
        _ => "is not trusted",
    };
    output::say!("What {} brings along {why}:", output::one_line(&standing.base_dir));
    output::ask!("{}", contents(standing, MAX_SHOWN_LINES));
}

/// What there is to see of each file, every line made harmless: the whole text of a new one, the
/// difference of a changed one. At most so many lines of it.
fn contents(standing: &FolderTrust, limit: usize) -> String {
    let changes = standing.changes.as_deref().unwrap_or_default();
    let (mut text, mut left, mut hidden) = (String::new(), limit, 0);
    for change in changes.iter().filter(|change| change.kind != FileChangeKind::Unchanged) {
        let what = match change.kind {
            FileChangeKind::Changed => "changed",
            FileChangeKind::Removed => "removed",
            FileChangeKind::Added | FileChangeKind::Unchanged => "new",
        };
        let program = if change.executable { ", can be run" } else { "" };
        let name = output::visible(&change.path);
        text.put(format!("  {name} ({what}{program})\n"));
        let Some(shown) = &change.text else {
            if change.kind != FileChangeKind::Removed {
                text.put(format!("    {} bytes that cannot be shown\n", change.bytes));
            }
            continue;
        };
        for line in shown.lines() {
            if left == 0 {
                hidden += 1;
                continue;
            }
            left -= 1;
            text.put(format!("    {}\n", output::visible(line)));
        }
    }
    let same = changes.iter().filter(|change| change.kind == FileChangeKind::Unchanged).count();
    if same > 0 {
        text.put(format!("  {same} other files are as they were\n"));
    }
    for path in &standing.uncovered {
        let path = output::visible(path);
        text.put(format!(
            "  {path} is used by an adapter and not covered: as it is then, it runs\n"
        ));
    }
    if hidden > 0 {
        text.put(format!("  … and {hidden} more lines: coven trust --show | less\n"));
    }
    text
}

/// Asks on the terminal whether a folder is trusted; whether it is now. What is agreed to is what
/// was shown.
pub(crate) async fn ask(client: &ApiClient, base: &Path) -> Result<bool> {
    let standing = standing(client, base).await?;
    show(&standing);
    let question =
        "They can run commands on this machine. Have you looked at them, and trust them?";
    if !confirms(question).await? {
        return Ok(false);
    }
    agree(client, &standing).await?;
    Ok(true)
}

fn not_owned(standing: &FolderTrust) -> CommandFailure {
    let owners = standing.owners.as_deref().unwrap_or_default();
    // The folder, or only its `.coven`.
    let message = match ownership::check_path(Path::new(&standing.base_dir), None) {
        Err(BaseDirError::NotOwned(error)) => error.to_string(),
        _ => format!("{} is not yours alone: {owners}", standing.base_dir),
    };
    CommandFailure::failed(message).hint(format!(
        "a user who can write there can run programs as you; if you want that: \
         coven trust --owner {}",
        standing.base_dir
    ))
}

/// Refuses to write into a folder that is not the user's own.
pub(crate) async fn refuse_not_owned(base: &Path) -> Result {
    let standing = standing(&connect::daemon().await?, base).await?;
    if standing.state == TrustState::NotOwned { Err(not_owned(&standing)) } else { Ok(()) }
}

/// Agrees to what this command itself has just written, if all else is as it was agreed to before.
/// Otherwise a person has to look.
pub(crate) async fn agree_to_own(base: &Path, written: &[(PathBuf, String)]) -> Result {
    let client = connect::daemon().await?;
    let standing = standing(&client, base).await?;
    // What was written could have been replaced since.
    let is_ours = |change: &FileChange| {
        let path = base.join(&change.path);
        written.iter().any(|(own, text)| *own == path && change.text.as_ref() == Some(text))
    };
    let is_agreed = |change: &FileChange| change.kind == FileChangeKind::Unchanged;
    let changes = standing.changes.as_deref().unwrap_or_default();
    if changes.iter().all(|change| is_agreed(change) || is_ours(change)) {
        return set(&client, &standing, true).await;
    }
    output::say!(
        "This folder has more in its .coven/ than was written now; look at it: coven trust"
    );
    Ok(())
}
