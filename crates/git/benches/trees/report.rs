//! The section of docs/benchmarks.md.

use std::fmt::Write;
use std::time::Duration;

use coven_testkit::bench::machine;
use coven_testkit::bench::table::{header, row};

use crate::Measured;

/// How long the list of the changed files may take.
const MAX_COMPARING: Duration = Duration::from_secs(1);

pub(crate) fn section(all: &[Measured], rounds: usize) -> String {
    let mut text = String::from("## Trees\n\n`cargo xtask bench trees`\n\n");
    text.push_str(&machine::sentence());
    text.push_str(
        "A repository of text files of about two kilobytes, 100 in a folder. *Bare* is `git worktree \
         add --no-track`.\n\n### Making a tree\n\n",
    );
    let columns = ["bare, ms", "tree, ms", "tree / bare", "bare, MB", "mirror, MB"];
    text.push_str(&header("files", columns));
    for one in all {
        let cells = [
            millis(one.bare),
            millis(one.made),
            ratio(one.made, one.bare),
            megabytes(one.bare_bytes),
            megabytes(one.mirror_bytes),
        ];
        row(&mut text, &one.files.to_string(), cells);
    }
    text.push_str(
        "\nA tree takes on disk what a bare one takes. *Mirror* is what the repository of checkpoints \
         takes beside the objects that it shares with the user's by hard links, once for all trees of \
         a repository.\n\n### Keeping what is in it\n\n",
    );
    let columns = ["git status, ms", "first, ms", "unchanged, ms", "unchanged / status"];
    text.push_str(&header("files", columns));
    for one in all {
        let cells = [
            millis(one.status),
            millis(one.first),
            millis(one.unchanged),
            ratio(one.unchanged, one.status),
        ];
        row(&mut text, &one.files.to_string(), cells);
    }
    text.push_str(
        "\nA checkpoint looks at every file of the tree, as `git status` does, without letting git \
         open one.\n\n### Comparing\n\n",
    );
    text.push_str(&header("files", ["changed files", "checkpoint, ms", "list of changes, ms"]));
    for one in all {
        let list = millis(one.compared);
        let list = if one.compared > MAX_COMPARING { format!("**{list}**") } else { list };
        row(&mut text, &one.files.to_string(), [one.changed.to_string(), millis(one.kept), list]);
    }
    writeln!(
        text,
        "\nThe list has the lines added and removed of each file. The mark: less than a second. What \
         misses it is bold. Nothing is compared unless somebody asks. Times on the clock, the best of \
         {rounds} rounds, the first checkpoint and the one of the changes once. The machine ran other \
         work as well: compare the ratios."
    )
    .ok();
    text
}

fn millis(time: Duration) -> String {
    format!("{:.0}", time.as_secs_f64() * 1e3)
}

fn ratio(one: Duration, other: Duration) -> String {
    format!("{:.2}", one.as_secs_f64() / other.as_secs_f64())
}

fn megabytes(bytes: u64) -> String {
    format!("{}.{}", bytes / 1_000_000, bytes % 1_000_000 / 100_000)
}
