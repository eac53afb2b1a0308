//! `coven schema`: the JSON schemas of the files people write, for editors.

use clap::ValueEnum;

use crate::failure::Result;
use crate::output;

/// A file that people write.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum File {
    /// An adapter's `config.json`.
    Adapter,
}

pub(crate) fn run(file: File) -> Result {
    let schema = match file {
        File::Adapter => coven_adapters::config::schema(),
    };
    output::json(&schema)
}
