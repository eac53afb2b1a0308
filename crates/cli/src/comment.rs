//! `coven comment`: comments about lines that changed, kept until they are sent.

use std::str::FromStr;

use coven_api::changes::{FileChanges, FileChangesQuery, ReviewComment, ReviewSide};
use coven_api::{ApiClient, ProblemCode};
use serde_json::json;

use crate::connect::{self, block_on};
use crate::diff;
use crate::drafts::{self, Draft, DraftFile, Drafts};
use crate::failure::{CommandFailure, Result};
use crate::find::{self, SessionTarget};
use crate::{output, tty};

/// What `coven comment` takes.
#[expect(clippy::struct_excessive_bools, reason = "each is an option of the command line")]
#[derive(clap::Args)]
#[command(after_help = "Examples:
  coven comment brisk-otter/build.2 src/a.rs:12 \"why twice?\"
  coven comment brisk-otter/build.2 src/a.rs:12-18 \"use the cache\"
  coven comment brisk-otter/build.2 src/a.rs:9 \"this was right\" --old
  coven comment brisk-otter/build.2 --list
  coven review send brisk-otter/build.2      all of them, in one message

The lines are those that `coven diff` shows. Nothing is sent before `coven review send`.")]
pub(crate) struct Arguments {
    /// The session, or the task whose changes it is about.
    #[arg(value_name = "NAME[/TASK]", add = crate::complete::sessions())]
    target: SessionTarget,
    /// The line, or the first and the last of several.
    #[arg(value_name = "PATH:LINE[-LINE]", required_unless_present_any = ["list", "clear"])]
    place: Option<LinePlace>,
    /// The comment; `-` reads stdin.
    #[arg(required_unless_present_any = ["list", "clear"])]
    text: Option<String>,
    /// The line is one that was there before, and was changed or removed.
    #[arg(long)]
    old: bool,
    /// What the lines are compared with: base, target or checkpoint:N; base unless said.
    #[arg(long, value_name = "WHAT", value_parser = diff::against)]
    against: Option<String>,
    /// List the comments that were not sent.
    #[arg(long, conflicts_with_all = ["place", "text", "old", "against", "clear"])]
    list: bool,
    /// Throw the comments away that were not sent.
    #[arg(long, conflicts_with_all = ["place", "text", "old", "against"])]
    clear: bool,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

/// Lines of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
struct LinePlace {
    path: String,
    line: u32,
    end_line: Option<u32>,
}

impl FromStr for LinePlace {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let wrong = || "write PATH:LINE or PATH:FIRST-LAST, such as src/a.rs:12-18".to_owned();
        let (path, lines) = text.rsplit_once(':').ok_or_else(wrong)?;
        let number = |text: &str| text.parse::<u32>().ok().filter(|number| *number > 0);
        let (line, end_line) = match lines.split_once('-') {
            Some((first, last)) => (number(first), Some(number(last).ok_or_else(wrong)?)),
            None => (number(lines), None),
        };
        let line = line.ok_or_else(wrong)?;
        if path.is_empty() || end_line.is_some_and(|end| end < line) {
            return Err(wrong());
        }
        Ok(Self { path: path.to_owned(), line, end_line: end_line.filter(|end| *end > line) })
    }
}

pub(crate) fn run(arguments: Arguments) -> Result {
    let text = match arguments.text.as_deref() {
        Some("-") => Some(tty::all_input()?),
        text => text.map(str::to_owned),
    };
    let text = text.map(|text| text.trim().to_owned());
    if text.as_deref() == Some("") {
        return Err(CommandFailure::usage("the comment is empty")
            .hint("coven comment NAME/TASK PATH:LINE \"TEXT\""));
    }
    block_on(async {
        let client = connect::daemon().await?;
        let (workflow, tree) = find::tree(&client, &arguments.target).await?;
        let (id, name) = (workflow.item.id.as_str(), &workflow.item.name);
        let file = DraftFile::open(id, &tree)?;
        let kept = file.read()?;
        let full = format!("{name}/{tree}");
        if arguments.list {
            return list(&full, kept.as_ref(), arguments.json);
        }
        if arguments.clear {
            file.clear()?;
            let count = kept.map_or(0, |drafts| drafts.comments.len());
            if arguments.json {
                return output::json(
                    &json!({"id": id, "name": name, "tree": tree, "cleared": count}),
                );
            }
            return output::line(&format!("{} of {full} thrown away", comment_count(count)));
        }
        let (Some(place), Some(text)) = (arguments.place, text) else { return Ok(()) };
        let against = against(arguments.against.as_deref(), kept.as_ref())?;
        let side = if arguments.old { ReviewSide::Old } else { ReviewSide::New };
        let now = changes_of(&client, id, &tree, &place.path, &against).await?;
        let last = place.end_line.unwrap_or(place.line);
        let lines = drafts::lines_of(&now, side, place.line, last)
            .ok_or_else(|| not_shown(&full, &place))?;
        let mut drafts = match kept {
            Some(kept) if kept.head != now.head => {
                anchored(&client, id, &tree, kept, &now.head).await?
            }
            Some(kept) => kept,
            None => Drafts::new(&against, &now.head),
        };
        let LinePlace { path, line, end_line } = place;
        let comment = ReviewComment { path, side, line, end_line, text };
        let draft = Draft { comment, lines, outdated: false };
        drafts.comments.push(draft.clone());
        file.write(&drafts)?;
        let count = drafts.comments.len();
        if arguments.json {
            let comment = shown(&draft);
            return output::json(
                &json!({"id": id, "name": name, "tree": tree, "comment": comment, "drafts": count}),
            );
        }
        output::write(&listed(&draft))?;
        output::say!("{} not sent yet: coven review send {full}", comment_count(count));
        Ok(())
    })
}

/// All comments about a tree are about the same comparison.
fn against(said: Option<&str>, kept: Option<&Drafts>) -> Result<String> {
    match (said, kept) {
        (Some(said), Some(kept)) if said != kept.against => {
            let message = format!("the comments that were not sent are against {}", kept.against);
            Err(CommandFailure::usage(message)
                .hint("send them first: coven review send, or throw them away with --clear"))
        }
        (said, kept) => {
            let kept = kept.map(|kept| kept.against.as_str());
            Ok(said.or(kept).unwrap_or("base").to_owned())
        }
    }
}

async fn changes_of(
    client: &ApiClient,
    id: &str,
    tree: &str,
    path: &str,
    against: &str,
) -> Result<FileChanges> {
    let query = FileChangesQuery { path: path.to_owned(), against: Some(against.to_owned()) };
    Ok(client.file_changes(id, tree, &query).await?)
}

/// The drafts, with their lines as they are now.
pub(crate) async fn anchored(
    client: &ApiClient,
    id: &str,
    tree: &str,
    mut drafts: Drafts,
    head: &str,
) -> Result<Drafts> {
    for draft in drafts.comments.iter_mut().filter(|draft| !draft.outdated) {
        let now = match changes_of(client, id, tree, &draft.comment.path, &drafts.against).await {
            Ok(now) => Some(now),
            Err(failure) if failure.is(ProblemCode::FileNotChanged) => None,
            Err(failure) => return Err(failure),
        };
        drafts::anchor(draft, now.as_ref());
    }
    head.clone_into(&mut drafts.head);
    Ok(drafts)
}

fn not_shown(full: &str, place: &LinePlace) -> CommandFailure {
    let lines = match place.end_line {
        Some(end) => format!("lines {} to {end}", place.line),
        None => format!("line {}", place.line),
    };
    let message =
        format!("{lines} of {} did not change, and do not stand beside a change", place.path);
    CommandFailure::not_found(ProblemCode::FileNotChanged, message)
        .hint(format!("coven diff {full} shows the lines; --old means those from before"))
}

fn list(full: &str, drafts: Option<&Drafts>, as_json: bool) -> Result {
    let comments = drafts.map(|drafts| drafts.comments.as_slice()).unwrap_or_default();
    if as_json {
        let comments: Vec<_> = comments.iter().map(shown).collect();
        let against = drafts.map(|drafts| drafts.against.as_str());
        return output::json(&json!({"comments": comments, "against": against}));
    }
    if comments.is_empty() {
        output::say!("Nothing is written about {full}.");
        return Ok(());
    }
    output::write(&comments.iter().map(listed).collect::<String>())
}

/// A comment for programs.
fn shown(draft: &Draft) -> serde_json::Value {
    let mut shown = json!(draft.comment);
    shown["lines"] = json!(draft.lines);
    if draft.outdated {
        shown["outdated"] = json!(true);
    }
    shown
}

/// A comment with its lines.
fn listed(draft: &Draft) -> String {
    let (comment, paint) = (&draft.comment, output::paint());
    let side = if comment.side == ReviewSide::Old { " (before)" } else { "" };
    let gone = if draft.outdated { " (these lines are gone)" } else { "" };
    let head = format!("{}{side}{gone}", place(comment));
    let mut text = format!("{}\n", paint.bold(&output::one_line(&head)));
    for line in &draft.lines {
        text = format!("{text}  {} {}\n", paint.dim("│"), output::visible(line));
    }
    for line in output::clean(&comment.text).lines() {
        text = format!("{text}  {line}\n");
    }
    text
}

/// Where a comment stands, such as `src/a.rs:12-18`.
pub(crate) fn place(comment: &ReviewComment) -> String {
    match comment.end_line {
        Some(end) => format!("{}:{}-{end}", comment.path, comment.line),
        None => format!("{}:{}", comment.path, comment.line),
    }
}

/// How many comments there are, in words.
pub(crate) fn comment_count(count: usize) -> String {
    if count == 1 { "1 comment".to_owned() } else { format!("{count} comments") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_a_file_and_one_line_or_several() {
        let place = |text: &str| text.parse::<LinePlace>();
        let one = LinePlace { path: "src/a.rs".into(), line: 12, end_line: None };
        assert_eq!(place("src/a.rs:12"), Ok(one.clone()));
        assert_eq!(place("src/a.rs:12-12"), Ok(one));
        assert_eq!(place("C:/x:3-5").unwrap().end_line, Some(5));
        for wrong in ["a", "a:", ":3", "a:0", "a:5-3", "a:x", "a:3-"] {
            assert!(place(wrong).is_err(), "{wrong}");
        }
    }
}
