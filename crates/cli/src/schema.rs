//! `coven schema`: the JSON schemas of the files people write, for editors.

use clap::ValueEnum;

use crate::failure::Result;
use crate::output;

/// What `coven schema` takes.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  coven schema grimoire > grimoire.schema.json
  and at the top of a grimoire: # yaml-language-server: $schema=grimoire.schema.json")]
pub(crate) struct Arguments {
    file: File,
}

/// A file that people write.
#[derive(Clone, Copy, ValueEnum)]
enum File {
    /// An adapter's `config.json`.
    Adapter,
    /// The daemon's `config.yaml`.
    Config,
    /// A grimoire, which is a workflow in YAML.
    Grimoire,
    /// A policy, `policy.yaml`.
    Policy,
    /// A stage workflow, which is a workflow in JSON.
    Workflow,
}

pub(crate) fn run(arguments: &Arguments) -> Result {
    let schema = match arguments.file {
        File::Adapter => coven_adapters::config::schema(),
        File::Config => coven_daemon::config_schema(),
        File::Grimoire => coven_workflow::schema::grimoire(),
        File::Policy => coven_policy::schema(),
        File::Workflow => coven_workflow::schema::workflow(),
    };
    output::json(&schema)
}
