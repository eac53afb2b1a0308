//! What a tree costs, in time and on disk, against a bare `git worktree add` of the same repository:
//! making it, keeping what is in it, and comparing five thousand changed files. Writes its section
//! of docs/benchmarks.md.
//!
//! ```text
//! cargo xtask bench trees                      measure and write docs/benchmarks.md
//! cargo xtask bench trees -- --write PATH      write another file; PATH counts from the root
//! cargo xtask bench trees -- --quick           a short look, printed only
//! ```

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark says what it measured")]

mod place;
mod report;

use std::error::Error;
use std::time::{Duration, Instant};

use coven_git::mirror::CheckpointRequest;
use coven_git::{Commit, Identity, Mirror};
use coven_testkit::bench::arguments;

use self::place::Place;

/// How many files the repositories have.
const FULL_SIZES: &[usize] = &[1000, 20_000, 100_000];
const QUICK_SIZES: &[usize] = &[1000];

/// How often each thing is measured; the best counts.
const FULL_ROUNDS: usize = 3;
const QUICK_ROUNDS: usize = 1;

/// How many files an agent changed that are compared.
const CHANGED_FILES: usize = 5000;

/// What was measured in a repository of one size.
struct Measured {
    files: usize,
    /// A bare `git worktree add`, and what it takes on disk.
    bare: Duration,
    bare_bytes: u64,
    /// The same as Coven makes it.
    made: Duration,
    /// The first look at everything in it, with which it is compared later.
    first: Duration,
    /// What the mirror took up on disk beyond the objects it shares with the repository, for the
    /// first tree.
    mirror_bytes: u64,
    /// Keeping it again when nothing has changed.
    unchanged: Duration,
    /// `git status` in it, which has to look at as many files.
    status: Duration,
    /// Some files were changed: how many, keeping them, and the list of the changes.
    changed: usize,
    kept: Duration,
    compared: Duration,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = arguments::read(env!("CARGO_MANIFEST_DIR"), None)?;
    let (sizes, rounds) =
        if arguments.quick { (QUICK_SIZES, QUICK_ROUNDS) } else { (FULL_SIZES, FULL_ROUNDS) };
    let mut all = Vec::new();
    for &files in sizes {
        eprintln!("{files} files");
        all.push(measure(files, rounds)?);
    }
    let section = report::section(&all, rounds);
    println!("{section}");
    if let Some(path) = arguments.publish(&section)? {
        eprintln!("written to {}", path.display());
    }
    Ok(())
}

fn measure(files: usize, rounds: usize) -> Result<Measured, Box<dyn Error>> {
    let place = Place::with_files(files)?;
    let head = place.head()?;
    let (mut bare, mut made) = (Duration::MAX, Duration::MAX);
    let mut bare_bytes = 0;
    for round in 0..rounds {
        let path = place.path(&format!("bare-{round}"));
        bare = bare.min(took(|| place.add_bare(&path, &format!("bare-{round}")))?.0);
        bare_bytes = place::size_of(&path)?;
        let branch = format!("coven/made-{round}");
        made = made.min(took(|| place.add(&format!("made-{round}"), &branch, &head))?.0);
    }
    let tree = place.path("made-0");
    let before = place::size_of(&place.path("state"))?;
    let mirror = place.mirror()?;
    mirror.take_in(&place.repository, &head)?;
    let shared = place::linked_size_of(&place.path("state"))?;
    let (first, start) = took(|| hold(&mirror, &tree, &head, 0))?;
    let mirror_bytes = place::size_of(&place.path("state"))?.saturating_sub(before + shared);
    let mut number = 0;
    let mut again = |parent: &Commit| {
        number += 1;
        took(|| hold(&mirror, &tree, parent, number))
    };
    let mut unchanged = Duration::MAX;
    for _ in 0..rounds {
        unchanged = unchanged.min(again(&start)?.0);
    }
    let mut status = Duration::MAX;
    for _ in 0..rounds {
        status = status.min(took(|| place.status(&tree))?.0);
    }
    let changed = Place::change(&tree, CHANGED_FILES.min(files))?;
    let (kept, end) = again(&start)?;
    let mut compared = Duration::MAX;
    for _ in 0..rounds {
        let (time, found) = took(|| mirror.changes(&start, &end))?;
        assert_eq!(found.len(), changed, "every changed file is listed");
        compared = compared.min(time);
    }
    Ok(Measured {
        files,
        bare,
        bare_bytes,
        made,
        first,
        mirror_bytes,
        unchanged,
        status,
        changed,
        kept,
        compared,
    })
}

fn hold(
    mirror: &Mirror,
    tree: &std::path::Path,
    parent: &Commit,
    number: u32,
) -> Result<Commit, coven_git::Error> {
    let held = mirror.checkpoint(&CheckpointRequest {
        tree,
        parent: Some(parent),
        head: None,
        message: "a checkpoint",
        trailers: &[],
        author: &Identity::new("coven", "coven@localhost"),
        reference: Some(&format!("refs/coven/bench/{number}")),
    })?;
    Ok(held.commit)
}

/// How long something takes on the clock, and what came of it.
fn took<T, E>(work: impl FnOnce() -> Result<T, E>) -> Result<(Duration, T), E> {
    let start = Instant::now();
    let done = work()?;
    Ok((start.elapsed(), done))
}
