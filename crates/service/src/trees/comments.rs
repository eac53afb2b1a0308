//! What agents with `expect: comments` say about the work of a task.

use coven_api::changes::{AgentComment, AgentComments, AgentCommentsQuery, AgentSummary, RUN_TREE};
use coven_model::TreeId;
use coven_orchestrator as engine;
use coven_orchestrator::TreeRequestError;

use super::tree_name;
use super::words::{line_words, path_words};
use crate::error::ServiceError;
use crate::find::{FoundSession, task_id};
use crate::service::Service;

/// The largest answer, in bytes of what is in it.
const MAX_ANSWER_BYTES: usize = 5 << 20;

/// What a comment takes beside its texts.
const COMMENT_BYTES: usize = 200;

impl Service {
    /// The comments of agents about the work of a task, where their lines are now.
    pub async fn agent_comments(
        &self,
        id: &str,
        task: &str,
        query: &AgentCommentsQuery,
    ) -> Result<AgentComments, ServiceError> {
        let FoundSession { sessions, id: session, .. } = self.find(id).await?;
        let trees = sessions.session_trees(&session).await?;
        let tree = if task == RUN_TREE {
            Some(TreeId::Run)
        } else {
            match trees.of_task(&task_id(task)?) {
                Ok(tree) => Some(tree),
                // It works in the base directory, with all that have no tree.
                Err(TreeRequestError::NotInTree(_)) => None,
                Err(error) => return Err(error.into()),
            }
        };
        let found = trees.comments(tree.as_ref(), query.from.as_deref()).await?;
        Ok(answer(found))
    }
}

fn answer(found: engine::AgentComments) -> AgentComments {
    let mut answer = AgentComments {
        tree: found.tree.as_ref().map(tree_name),
        head: found.head,
        ..AgentComments::default()
    };
    let mut room = MAX_ANSWER_BYTES;
    for (job, text) in found.summaries {
        if let Some(left) = room.checked_sub(text.len() + COMMENT_BYTES) {
            room = left;
            answer.summaries.push(AgentSummary { task: job.task, attempt: job.attempt, text });
        }
    }
    for comment in found.comments {
        let comment = one(comment);
        let lines = comment.lines.iter().map(|line| line.len() + 4).sum::<usize>();
        let size = COMMENT_BYTES + comment.path.len() + comment.text.len() + lines;
        match room.checked_sub(size) {
            Some(left) if answer.omitted == 0 => {
                room = left;
                answer.comments.push(comment);
            }
            _ => answer.omitted += 1,
        }
    }
    answer
}

fn one(comment: engine::AgentComment) -> AgentComment {
    let engine::AgentComment { job, place, comment, lines, outdated } = comment;
    AgentComment {
        task: job.task,
        attempt: job.attempt,
        place: place as u32,
        path: path_words(&comment.path),
        side: comment.side,
        line: comment.line,
        end_line: comment.end_line,
        text: comment.text,
        lines: lines.iter().map(|line| line_words(line).0.into_owned()).collect(),
        outdated,
    }
}

#[cfg(test)]
mod tests {
    use coven_model::{AttemptId, ReviewSide, TaskId};

    use super::*;

    #[test]
    fn an_answer_has_no_more_than_it_can_hold_and_says_how_much_is_missing() {
        let job = AttemptId { task: TaskId::new("review").unwrap(), attempt: 1 };
        let comment = |place| engine::AgentComment {
            job: job.clone(),
            place,
            comment: engine::ReviewComment {
                path: "a\u{202e}b".into(),
                side: ReviewSide::New,
                line: 1,
                end_line: None,
                text: "x".repeat(1 << 20),
            },
            lines: vec!["a\u{202e}".into()],
            outdated: false,
        };
        let found = engine::AgentComments {
            comments: (0..7).map(comment).collect(),
            ..engine::AgentComments::default()
        };
        let answer = answer(found);
        assert_eq!((answer.comments.len(), answer.omitted), (4, 3));
        let first = &answer.comments[0];
        assert_eq!(
            (first.path.as_str(), first.lines[0].as_str()),
            (r#""a\342\200\256b""#, "a⟨U+202E⟩")
        );
    }
}
