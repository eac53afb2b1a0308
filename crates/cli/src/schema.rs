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
    /// The file whose schema is printed.
    file: SchemaFile,
}

/// A file that people write.
#[derive(Clone, Copy, ValueEnum)]
enum SchemaFile {
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
        SchemaFile::Adapter => coven_adapters::config::schema(),
        SchemaFile::Config => coven_daemon::config_schema(),
        SchemaFile::Grimoire => coven_workflow::schema::grimoire(),
        SchemaFile::Policy => coven_policy::schema(),
        SchemaFile::Workflow => coven_workflow::schema::workflow(),
    };
    output::json(&schema)
}
