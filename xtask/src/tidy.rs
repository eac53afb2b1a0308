//! `cargo xtask tidy`: the rules of this repository that neither rustc, clippy nor rustfmt checks.
//!
//! Each check is a function from text to problems in a file of its own under `tidy/`, with tests
//! that show both that it complains and that it keeps quiet. This file gathers the texts, runs
//! every check and reports everything at once, so that one run is enough to know what to mend.

mod headers;
mod layers;
mod length;
pub(crate) mod lexer;
mod links;
mod markdown;
pub(crate) mod names;
mod page;
mod problem;
mod spec;
mod streams;
pub(crate) mod tree;

use std::path::Path;

use crate::cargo;
use crate::error::Error;
use problem::{TidyProblem, TidySeverity};
use tree::TreeFile;

/// Prints every problem and warning to stdout, one per line, and fails if there is a problem.
pub(crate) fn run() -> Result<(), Error> {
    let root = cargo::root();
    let metadata = cargo::read(&["metadata", "--no-deps", "--format-version", "1"])?;
    let packages = layers::packages(&metadata, &root)?;
    let files = tree::read(&root)?;

    let mut problems = check(&files, &packages, &root);
    problems.extend(page::check(&root)?);
    problems.sort();
    for problem in &problems {
        println!("{problem}");
    }
    match problems.iter().filter(|problem| problem.severity == TidySeverity::Error).count() {
        0 => {
            eprintln!("tidy: {} files, no problems", files.len());
            Ok(())
        }
        count => Err(Error::Untidy(count)),
    }
}

fn check(files: &[TreeFile], packages: &[layers::Package], root: &Path) -> Vec<TidyProblem> {
    let (rust, prose): (Vec<&TreeFile>, Vec<&TreeFile>) =
        files.iter().partition(|file| file.is_rust());
    let page = |path: &str| prose.iter().find(|file| file.path == path).map_or("", |f| &f.text);

    let mut problems = layers::check(page(layers::PAGE), packages);
    problems.extend(spec::check(page(spec::PAGE), &rust));
    problems.extend(names::check(&rust));
    for file in &rust {
        problems.extend(headers::check(&file.path, &file.text));
        problems.extend(length::check(&file.path, &file.text));
        problems.extend(streams::check(&file.path, &file.text));
    }
    for file in &prose {
        problems.extend(links::check(&file.path, &file.text, |path| root.join(path).exists()));
    }
    problems
}
