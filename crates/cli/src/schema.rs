//! `coven schema`: the JSON schemas of the files people write, for editors.

use clap::ValueEnum;
use serde_json::Value;

use crate::failure::Result;
use crate::output;

/// What `coven schema` takes.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  coven schema grimoire > grimoire.schema.json
  and at the top of a grimoire: # yaml-language-server: $schema=grimoire.schema.json

`coven init` and `coven grimoire new` write the schema and that line themselves.")]
pub(crate) struct Arguments {
    /// The file whose schema is printed.
    file: SchemaFile,
}

/// A file that people write.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum SchemaFile {
    /// An adapter's `config.json`.
    Adapter,
    /// What an agent answers with `expect: comments`.
    Comments,
    /// The daemon's `config.yaml`.
    Config,
    /// A grimoire, which is a workflow in YAML.
    Grimoire,
    /// A policy, `policy.yaml`.
    Policy,
    /// A project's `.coven/config.yaml`.
    Project,
    /// A stage workflow, which is a workflow in JSON.
    Workflow,
}

impl SchemaFile {
    /// The word by which it is asked for.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Adapter => "adapter",
            Self::Comments => "comments",
            Self::Config => "config",
            Self::Grimoire => "grimoire",
            Self::Policy => "policy",
            Self::Project => "project",
            Self::Workflow => "workflow",
        }
    }

    pub(crate) fn schema(self) -> Value {
        match self {
            Self::Adapter => coven_adapters::config::schema(),
            Self::Comments => coven_workflow::expect::comments::schema(),
            Self::Config => coven_daemon::config_schema(),
            Self::Grimoire => coven_workflow::schema::grimoire(),
            Self::Policy => coven_policy::schema(),
            Self::Project => coven_daemon::project_schema(),
            Self::Workflow => coven_workflow::schema::workflow(),
        }
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result {
    output::json(&arguments.file.schema())
}
