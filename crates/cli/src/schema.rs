//! `coven schema`: the JSON schemas of the files people write, for editors.

use clap::ValueEnum;

use crate::failure::Result;
use crate::output;

/// A file that people write.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum File {
    /// An adapter's `config.json`.
    Adapter,
    /// A grimoire, which is a workflow in YAML.
    Grimoire,
    /// A policy, `policy.yaml`.
    Policy,
    /// A stage workflow, which is a workflow in JSON.
    Workflow,
}

pub(crate) fn run(file: File) -> Result {
    let schema = match file {
        File::Adapter => coven_adapters::config::schema(),
        File::Grimoire => coven_workflow::schema::grimoire(),
        File::Policy => coven_policy::schema(),
        File::Workflow => coven_workflow::schema::workflow(),
    };
    output::json(&schema)
}
