//! What a person says about the changes of a task, sent to its agent as one message.

use coven_api::changes::{RUN_TREE, ReviewAnswer, ReviewComment, ReviewDelivery, SendReview};
use coven_model::{SessionId, TaskId, TreeId};
use coven_orchestrator as engine;
use coven_orchestrator::Orchestrator;

use super::changes::against;
use super::words::path_of_words;
use crate::error::ServiceError;
use crate::find::task_id;
use crate::service::Service;
use crate::start::environment;

/// The most comments of one review.
const MAX_COMMENTS: usize = 200;

/// The longest comment, in bytes.
const MAX_TEXT_BYTES: usize = 16 << 10;

impl Service {
    /// Sends comments to the agent of a task, or says what would be sent. Runs are started for them,
    /// or let go on that are over, only if the caller may start runs.
    pub async fn review(
        &self,
        id: &str,
        task: &str,
        review: SendReview,
        by: &str,
        may_start: bool,
    ) -> Result<ReviewAnswer, ServiceError> {
        let sends = review.send;
        let (orchestrator, session) = self.find_to_run(id).await?;
        let env = review.env.clone().filter(|_| may_start);
        let env = env.map(|env| environment(Some(env))).transpose()?;
        let review = engine::Review { env, starts_no_run: !may_start, ..checked(review, by)? };
        let task = if task == RUN_TREE {
            only_task_of_run(&orchestrator, &session).await?
        } else {
            task_id(task)?
        };
        let report = orchestrator.review(&session, &task, review).await?;
        if sends {
            tracing::info!(workflow = %session, %task, "a review was sent");
        }
        let (mut attempt, mut run) = (None, None);
        let delivery = match report.delivery {
            None => ReviewDelivery::None,
            Some(engine::ReviewDelivery::Message { arrived: true }) => ReviewDelivery::Message,
            Some(engine::ReviewDelivery::Message { arrived: false }) => ReviewDelivery::Queued,
            Some(engine::ReviewDelivery::Attempt { number }) => {
                attempt = Some(number);
                ReviewDelivery::Attempt
            }
            Some(engine::ReviewDelivery::Run { name, .. }) => {
                run = Some(name);
                ReviewDelivery::Run
            }
        };
        Ok(ReviewAnswer {
            delivery,
            attempt,
            run,
            message: report.message,
            outdated: report.outdated.into_iter().map(|place| place as u32).collect(),
        })
    }
}

/// The task that works in the tree of the run, if there is one alone. If there is none, the only agent
/// of the run: what it did was landed there.
async fn only_task_of_run(
    orchestrator: &Orchestrator,
    session: &SessionId,
) -> Result<TaskId, ServiceError> {
    let snapshot = orchestrator.snapshot(session).await?;
    let plan = snapshot.plan().ok_or_else(|| ServiceError::SessionGone(session.clone()))?;
    let lanes = plan.rows.iter().flat_map(|row| &row.lanes);
    // What was done is none of an agent's that only looked at it.
    let is_author = |task: &TaskId| snapshot.state().run().is_some_and(|run| run.is_author(task));
    let (mut tasks, mut agents) = (Vec::new(), Vec::new());
    for lane in lanes.filter(|lane| lane.attempt > 0 && lane.adapter != "shell") {
        let Ok(task) = TaskId::new(lane.task.clone()) else { continue };
        if !is_author(&task) {
            continue;
        }
        if snapshot.state().run().and_then(|run| run.tree_of_task(&task)) == Some(TreeId::Run) {
            tasks.push(task.clone());
        }
        agents.push(task);
    }
    match (tasks.as_slice(), agents.as_slice()) {
        ([only], _) | ([], [only]) => Ok(only.clone()),
        ([], _) => Err(engine::TreeRequestError::NoTree(TreeId::Run).into()),
        (several, _) => {
            Err(ServiceError::WhichTask(several.iter().map(ToString::to_string).collect()))
        }
    }
}

fn checked(review: SendReview, by: &str) -> Result<engine::Review, ServiceError> {
    let wrong = |detail: String| Err(ServiceError::BadInput(detail));
    let summary = review.summary.filter(|text| !text.trim().is_empty());
    if review.comments.is_empty() && summary.is_none() {
        return wrong("a review has comments or a summary".to_owned());
    }
    if review.comments.len() > MAX_COMMENTS {
        return wrong(format!("a review has at most {MAX_COMMENTS} comments"));
    }
    let texts = review.comments.iter().map(|comment| &comment.text).chain(&summary);
    if texts.clone().any(|text| text.len() > MAX_TEXT_BYTES) {
        return wrong(format!("a comment has at most {MAX_TEXT_BYTES} bytes"));
    }
    if texts.clone().any(|text| text.trim().is_empty()) {
        return wrong("a comment is empty".to_owned());
    }
    let is_commit = |head: &String| {
        (40..=64).contains(&head.len()) && head.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    if review.head.as_ref().is_some_and(|head| !is_commit(head)) {
        return wrong("`head` is the `head` of the changes that were looked at".to_owned());
    }
    let comments: Result<Vec<_>, _> = review.comments.into_iter().map(comment).collect();
    Ok(engine::Review {
        comments: comments?,
        summary,
        against: against(review.against.as_deref())?,
        head: review.head,
        dry_run: !review.send,
        by: by.to_owned(),
        env: None,
        starts_no_run: true,
    })
}

fn comment(comment: ReviewComment) -> Result<engine::ReviewComment, ServiceError> {
    let last = comment.end_line.unwrap_or(comment.line);
    if comment.line == 0 || last < comment.line {
        let detail = "lines count from 1, and the last comes after the first";
        return Err(ServiceError::BadInput(detail.to_owned()));
    }
    Ok(engine::ReviewComment {
        path: path_of_words(&comment.path)?,
        side: comment.side,
        line: comment.line,
        end_line: comment.end_line,
        text: comment.text,
    })
}

#[cfg(test)]
mod tests {
    use coven_model::ReviewSide;

    use super::*;

    fn one(path: &str, line: u32, end_line: Option<u32>, text: &str) -> SendReview {
        let comment = ReviewComment {
            path: path.to_owned(),
            side: ReviewSide::New,
            line,
            end_line,
            text: text.to_owned(),
        };
        SendReview { comments: vec![comment], ..SendReview::default() }
    }

    #[test]
    fn a_review_that_says_nothing_or_names_no_lines_is_refused() {
        assert!(checked(one("a", 1, Some(2), "x"), "me").unwrap().dry_run);
        let summary =
            SendReview { summary: Some("ok".into()), send: true, ..SendReview::default() };
        assert!(!checked(summary, "me").unwrap().dry_run);
        for wrong in [
            SendReview::default(),
            SendReview { summary: Some("  ".into()), ..SendReview::default() },
            one("a", 0, None, "x"),
            one("a", 3, Some(2), "x"),
            one("../a", 1, None, "x"),
            one("a", 1, None, " "),
            one("a", 1, None, &"x".repeat(MAX_TEXT_BYTES + 1)),
            SendReview { head: Some("--force".into()), ..one("a", 1, None, "x") },
            SendReview { against: Some("main".into()), ..one("a", 1, None, "x") },
            SendReview {
                comments: vec![one("a", 1, None, "x").comments.remove(0); MAX_COMMENTS + 1],
                ..SendReview::default()
            },
        ] {
            assert!(checked(wrong.clone(), "me").is_err(), "{wrong:?}");
        }
    }
}
