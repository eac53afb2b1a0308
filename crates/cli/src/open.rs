//! `coven open`: lets the daemon know a folder, so that its sessions are listed with the others.

use std::path::PathBuf;

use coven_api::system::OpenBaseDir;

use crate::connect::{self, block_on};
use crate::failure::Result;
use crate::{folders, output};

/// What `coven open` takes.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  coven open              the current folder
  coven open ../clone     a folder with sessions that were made elsewhere; then coven ls

Running something in a folder opens it too. Sessions that you did not make there are foreign: they
are listed and can be read, and are never run.")]
pub(crate) struct Arguments {
    /// The folder; the current one unless said.
    folder: Option<PathBuf>,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result {
    block_on(async {
        let base_dir = folders::base_dir(arguments.folder.as_deref())?.display().to_string();
        let client = connect::daemon().await?;
        let opened = client.open_base_dir(&OpenBaseDir { base_dir }).await?;
        if arguments.json {
            return output::as_json(&opened);
        }
        let sessions = match opened.sessions {
            1 => "1 session".to_owned(),
            many => format!("{many} sessions"),
        };
        output::line(&format!("{} is open, with {sessions}", output::one_line(&opened.path)))
    })
}
