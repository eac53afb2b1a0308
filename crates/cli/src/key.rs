//! `coven key`: the public half of the key that seals journals.

use coven_daemon::ServiceConfig;
use coven_store::SealKey;
use serde_json::json;

use crate::failure::{CommandFailure, Result};
use crate::{folders, output};

/// What `coven key` takes.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  coven key                                   print it, to give it to somebody
  coven audit --public-key KEY -C FOLDER      what they do with it

Every line of a journal is sealed with a key that only you have. The ends of jobs and runs are also
signed, so that anyone who has the public key can see later that a journal is as it was.")]
pub(crate) struct Arguments {
    /// Print it with the place of the key as JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result {
    let places = folders::places()?;
    let config = ServiceConfig::load(&places.config()).map_err(CommandFailure::failed)?;
    let path = places.authority(&config).key;
    let key = SealKey::read(&path).map_err(|error| {
        CommandFailure::failed(error).hint("the key is made when the daemon first starts")
    })?;
    if arguments.json {
        let public = key.public().to_string();
        return output::json(&json!({ "publicKey": public, "path": path.display().to_string() }));
    }
    output::line(&key.public().to_string())
}
