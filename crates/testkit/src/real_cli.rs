//! The CLIs, and what each needs to talk to our model server instead of its maker's.

use std::fs;
use std::io;
use std::path::Path;

use crate::model::MODEL;
use serde_json::{Value, json};

/// A key that opens nothing. Long, because one CLI hides it wherever it finds it.
const KEY: &str = "no-key-for-a-scripted-model";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cli {
    Claude,
    Codex,
    Gemini,
    Opencode,
    Qwen,
    Copilot,
}

/// How a home is prepared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Home {
    /// As after the first questions were answered.
    Settled,
    /// As at the first start, as far as that is possible offline.
    Fresh,
}

impl Cli {
    pub const ALL: [Self; 6] =
        [Self::Claude, Self::Codex, Self::Gemini, Self::Opencode, Self::Qwen, Self::Copilot];

    /// The type of its adapter, which is also its command.
    pub fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Opencode => "opencode",
            Self::Qwen => "qwen",
            Self::Copilot => "copilot",
        }
    }

    /// The dialogs it must show in a fresh home with [`Self::first_run`].
    pub fn dialogs(self) -> &'static [&'static str] {
        match self {
            Self::Claude => &["trust", "api-key"],
            Self::Gemini | Self::Copilot => &["trust"],
            Self::Codex | Self::Opencode | Self::Qwen => &[],
        }
    }

    /// Changes to the adapter that bring out what it otherwise avoids: dialogs at the first start,
    /// and processes that a CLI leaves behind.
    pub fn first_run(self) -> Value {
        match self {
            // It starts a daemon unless it is told not to.
            Self::Codex => json!({"modes": {"interactive": {"baseArgs": []}}}),
            // An empty variable is as good as none to it: it asks, and it starts itself again.
            Self::Gemini => json!({"env": {"set": {
                "GEMINI_CLI_NO_RELAUNCH": "", "GEMINI_CLI_TRUST_WORKSPACE": "",
            }}}),
            Self::Claude | Self::Opencode | Self::Qwen | Self::Copilot => json!({}),
        }
    }

    /// The variables that point it at a model server.
    pub fn env(self, url: &str, home: Home) -> Vec<(&'static str, String)> {
        match self {
            Self::Claude => {
                let key = match home {
                    Home::Settled => "ANTHROPIC_AUTH_TOKEN",
                    Home::Fresh => "ANTHROPIC_API_KEY",
                };
                vec![
                    ("ANTHROPIC_BASE_URL", url.to_owned()),
                    (key, KEY.to_owned()),
                    ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".to_owned()),
                    // We are root in the namespace, which it accepts only in a sandbox.
                    ("IS_SANDBOX", "1".to_owned()),
                ]
            }
            Self::Codex => vec![("SCRIPTED_KEY", KEY.to_owned())],
            Self::Gemini => {
                vec![("GEMINI_API_KEY", KEY.to_owned()), ("GOOGLE_GEMINI_BASE_URL", url.to_owned())]
            }
            Self::Opencode => Vec::new(),
            Self::Qwen => vec![
                ("OPENAI_API_KEY", KEY.to_owned()),
                ("OPENAI_BASE_URL", format!("{url}/v1")),
                ("OPENAI_MODEL", MODEL.to_owned()),
            ],
            Self::Copilot => vec![
                ("COPILOT_PROVIDER_BASE_URL", format!("{url}/v1")),
                ("COPILOT_PROVIDER_API_KEY", KEY.to_owned()),
                // It must know the model's limits, and it knows none of ours.
                ("COPILOT_MODEL", "gpt-4.1".to_owned()),
            ],
        }
    }

    /// Writes the files of its own that it needs in a home.
    pub fn prepare(self, home: &Path, cwd: &Path, url: &str, kind: Home) -> io::Result<()> {
        let settled = kind == Home::Settled;
        let project = cwd.display().to_string();
        let (path, text) = match self {
            Self::Claude => {
                let mut settings = json!({"hasCompletedOnboarding": true});
                if settled {
                    settings["projects"] = json!({project: {"hasTrustDialogAccepted": true}});
                }
                (".claude.json", settings.to_string())
            }
            Self::Codex => (".codex/config.toml", codex(url, settled.then_some(&*project))),
            Self::Gemini => {
                if settled {
                    let trusted = json!({project: "TRUST_FOLDER"}).to_string();
                    write(&home.join(".gemini/trustedFolders.json"), &trusted)?;
                }
                let settings = json!({"security": {"auth": {"selectedType": "gemini-api-key"}}});
                (".gemini/settings.json", settings.to_string())
            }
            Self::Opencode => (".config/opencode/opencode.json", opencode(url).to_string()),
            Self::Qwen => {
                let settings = json!({
                    "security": {"auth": {"selectedType": "openai"}},
                    "memory": {"enableManagedAutoMemory": false, "enableManagedAutoDream": false},
                });
                (".qwen/settings.json", settings.to_string())
            }
            Self::Copilot => {
                let trusted = if settled { vec![project] } else { Vec::new() };
                (".copilot/config.json", json!({"trusted_folders": trusted}).to_string())
            }
        };
        write(&home.join(path), &text)
    }
}

fn codex(url: &str, trusted: Option<&str>) -> String {
    let trust = trusted.map(|cwd| format!("[projects.{cwd:?}]\ntrust_level = \"trusted\"\n"));
    format!(
        "model = \"{MODEL}\"\nmodel_provider = \"scripted\"\ncheck_for_update_on_startup = false\n\
         [model_providers.scripted]\nname = \"scripted\"\nbase_url = \"{url}/v1\"\n\
         wire_api = \"responses\"\nenv_key = \"SCRIPTED_KEY\"\n{}",
        trust.unwrap_or_default()
    )
}

fn opencode(url: &str) -> Value {
    let model = format!("scripted/{MODEL}");
    json!({
        "autoupdate": false, "share": "disabled", "model": model, "small_model": model,
        "provider": {"scripted": {
            "npm": "@ai-sdk/openai-compatible", "name": "Scripted",
            "options": {"baseURL": format!("{url}/v1"), "apiKey": KEY},
            "models": {MODEL: {"name": "Scripted Model"}},
        }},
    })
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, text)
}
