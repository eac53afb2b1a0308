//! The comments that agents with `expect: comments` answered with, as a list, and as what is sent to
//! the agent whose work they are about.

use coven_api::changes::{AgentComment, AgentComments, ReviewComment, ReviewSide};

use crate::comment::{comment_count, place};
use crate::drafts::Draft;
use crate::output;

/// The narrowest column for the text of a comment.
const MIN_TEXT_COLUMNS: usize = 24;

/// A line for each comment, below a line that says how many there are; nothing if there are none.
pub(crate) fn list(comments: &AgentComments) -> String {
    let count = comments.comments.len() + comments.omitted as usize;
    if count == 0 && comments.summaries.is_empty() {
        return String::new();
    }
    let paint = output::paint();
    let mut text = String::new();
    for summary in &comments.summaries {
        text.push_str(&line(&paint.bold(summary.task.as_str()), &summary.text));
    }
    for one in &comments.comments {
        let old = if one.side == ReviewSide::Old { " (before)" } else { "" };
        let gone = if one.outdated { " (these lines are gone)" } else { "" };
        let at = output::one_line(&format!("{}{old}{gone}", place(&comment(one))));
        let head = format!("{} {}", paint.bold(one.task.as_str()), paint.dim(&at));
        text.push_str(&line(&head, &one.text));
    }
    if comments.omitted > 0 {
        text.push_str(&format!(" and {} more\n", comments.omitted));
    }
    format!("\n{} by agents\n{text}", comment_count(count))
}

/// What was said, on one line as far as there is room.
fn line(head: &str, text: &str) -> String {
    let room = output::columns().saturating_sub(output::width(head) + 3).max(MIN_TEXT_COLUMNS);
    format!(" {head}  {}\n", output::shortened(&output::one_line(text), room))
}

/// The comment as a person would send it.
fn comment(one: &AgentComment) -> ReviewComment {
    ReviewComment {
        path: one.path.clone(),
        side: one.side,
        line: one.line,
        end_line: one.end_line,
        text: one.text.clone(),
    }
}

/// The comments as drafts.
pub(crate) fn drafts(comments: &AgentComments) -> Vec<Draft> {
    let draft = |one: &AgentComment| Draft {
        comment: comment(one),
        lines: one.lines.clone(),
        outdated: one.outdated,
    };
    comments.comments.iter().map(draft).collect()
}

/// What agents say about the whole, with their names.
pub(crate) fn summaries(comments: &AgentComments) -> Vec<String> {
    let summaries = comments.summaries.iter();
    summaries.map(|summary| format!("{}: {}", summary.task, summary.text.trim())).collect()
}

#[cfg(test)]
mod tests {
    use coven_api::changes::AgentSummary;
    use coven_model::TaskId;

    use super::*;

    #[test]
    fn each_comment_is_a_line_with_its_author_its_place_and_what_it_says() {
        assert_eq!(list(&AgentComments::default()), "");
        let task = TaskId::new("review").unwrap();
        let comment = |line, outdated, text: &str| AgentComment {
            task: task.clone(),
            attempt: 1,
            place: 0,
            path: "a.rs".into(),
            side: ReviewSide::New,
            line,
            end_line: (line == 3).then_some(4),
            text: text.to_owned(),
            lines: Vec::new(),
            outdated,
        };
        let found = AgentComments {
            summaries: vec![AgentSummary {
                task: task.clone(),
                attempt: 1,
                text: "Nearly.".into(),
            }],
            comments: vec![comment(3, false, "why\ntwice?"), comment(9, true, "\u{1b}[2Jx")],
            omitted: 1,
            ..AgentComments::default()
        };
        let text = list(&found);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(&lines[..3], ["", "3 comments by agents", " review  Nearly."]);
        assert!(
            lines[3].starts_with(" review a.rs:3-4  why") && lines[3].contains("twice?"),
            "{text}"
        );
        assert!(lines[4].starts_with(" review a.rs:9 (these lines are gone)  "), "{text}");
        assert!(!text.contains('\u{1b}') && lines[5] == " and 1 more", "{text}");
    }
}
