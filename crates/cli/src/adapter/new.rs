//! `coven adapter new`.

use std::path::Path;

use coven_adapters::AdapterConfigLoader;
use coven_adapters::loader::{CONFIG_FILE, is_type};

use crate::connect::block_on;
use crate::failure::{CommandFailure, Result};
use crate::schema::SchemaFile;
use crate::written::NewFile;
use crate::{folders, trust, written};

/// What a new file begins with: an agent that takes its prompt as the last argument and shows one
/// thing while it works, another while it waits.
const TEMPLATE: &str = r#"{
  "$schema": "@SCHEMA@",
  "schemaVersion": 1,
  "metadata": { "displayName": "@NAME@" },
  "command": "@TYPE@",
  "versionArgs": ["--version"],
  "modes": {
    "interactive": { "baseArgs": [], "promptPosition": "last" },
    "headless": { "baseArgs": ["--print"], "promptPosition": "last", "transcript": "text" }
  },
  "permissions": {
    "ask": [],
    "all": ["--yes"]
  },
  "model": ["--model", "${model}"],
  "states": {
    "interaction_approval": {
      "pattern": "Do you want to proceed\\?",
      "kind": "approval",
      "region": "tail:8",
      "description": "the question before a command is run"
    },
    "execution_running": {
      "pattern": "esc to interrupt",
      "kind": "working",
      "region": "tail:3",
      "description": "shown while it works"
    },
    "interaction_idle": {
      "pattern": "^>( |$)",
      "kind": "idle",
      "region": "tail:3",
      "description": "the prompt"
    }
  },
  "volatile": ["\\d+s"],
  "keys": {
    "approve": ["y"],
    "deny": ["Esc"],
    "interrupt": ["Esc"],
    "submit": ["Enter"]
  },
  "stop": { "grace": "5s" }
}
"#;

pub(super) fn run(kind: &str, from: Option<&str>, user: bool, as_json: bool) -> Result {
    if !is_type(kind) {
        return Err(CommandFailure::usage(format!("{kind:?} cannot be the type of an adapter"))
            .hint("use lower-case letters, digits, `-` and `_`"));
    }
    let within = Path::new("adapters").join(kind).join(CONFIG_FILE);
    let (home, project) = written::home_of_new(user, &within)?;
    let like = from.map(|from| AdapterConfigLoader::new(folders::adapters()).load(from, None));
    let like = like.transpose().map_err(super::not_usable)?;
    let path = home.join(within);
    let schema = written::schema_place(&home, "../../", SchemaFile::Adapter)?;
    let text = if let Some((from, like)) = from.zip(like) {
        let mut config = like.config.as_ref().clone();
        config.schema = Some(schema);
        config.command.get_or_insert_with(|| from.to_owned());
        let json = serde_json::to_string_pretty(&config).map_err(CommandFailure::failed)?;
        format!("{json}\n")
    } else {
        let text = TEMPLATE.replace("@NAME@", kind).replace("@TYPE@", kind);
        text.replace("@SCHEMA@", &schema)
    };
    let (path, text) = (path.as_path(), text.as_str());
    let command = "coven adapter check";
    written::create(&NewFile { path, text, command, noun: "type", as_json })?;
    match project {
        Some(base) => block_on(trust::agree_to_own(&base, &[(path.to_owned(), text.to_owned())])),
        None => Ok(()),
    }
}
