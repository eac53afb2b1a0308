//! A person's review of what a task did, given to its agent as one message.

use coven_model::event::SessionEvent;
use coven_model::{AttemptId, ContentDigest, ReviewRemark, SessionId, TaskId, TreeId};
use coven_workflow::SessionInput;
use coven_workflow::input::SentReview;
use coven_workflow::state::{RefusalReason, WorkflowRun};
use serde_json::json;

use super::Orchestrator;
use super::make::TreeOrigin;
use crate::engine::trees::ReviewText;
use crate::error::RequestError;
use crate::options::NewSession;
use crate::state::Environment;
use crate::state::blocking::blocking;
use crate::trees::{
    Review, ReviewComment, ReviewDelivery, ReviewReport, ReviewSide, TreeRequestError,
};

/// What a review may start where no agent is there.
struct RunStart {
    /// The environment of what is started.
    env: Option<Environment>,
    is_allowed: bool,
}

impl Orchestrator {
    /// Gives a review to the agent of a task, as one message behind everything that was said to it
    /// before. Each remark stands below the lines it is about.
    pub async fn review(
        &self,
        id: &SessionId,
        task: &TaskId,
        review: Review,
    ) -> Result<ReviewReport, TreeRequestError> {
        let is_blank = |text: &str| text.trim().is_empty();
        let no_summary = review.summary.as_deref().is_none_or(is_blank);
        if no_summary && review.comments.iter().all(|comment| is_blank(&comment.text)) {
            return Err(TreeRequestError::NotNow("the review says nothing".to_owned()));
        }
        let tree = self.session_trees(id).await?.of_task(task)?;
        let found = self.tree(id, &tree).await?;
        let target = found.target();
        let (review, text) = blocking(move || {
            let text = found.place.review(&review, target.as_deref())?;
            Ok::<_, TreeRequestError>((review, text))
        })
        .await?;
        let ReviewText { message, outdated } = text;
        if review.dry_run {
            return Ok(ReviewReport { message, outdated, delivery: None });
        }
        let snapshot = self.snapshot(id).await?;
        let job = snapshot.task(task)?.attempt;
        let start = RunStart { env: review.env, is_allowed: !review.starts_no_run };
        let review = SentReview {
            job,
            comments: review.comments.iter().map(remark).collect(),
            summary: review.summary,
            prompt: None,
            run: None,
            by: review.by,
        };
        let delivery = if snapshot.live(task).is_some() {
            self.send_review(id, review, &message).await?
        } else {
            self.begin_with_review(id, &tree, review, &message, start).await?
        };
        Ok(ReviewReport { message, outdated, delivery: Some(delivery) })
    }

    /// Sends a review to the agent that is there.
    async fn send_review(
        &self,
        id: &SessionId,
        review: SentReview,
        message: &str,
    ) -> Result<ReviewDelivery, RequestError> {
        let sent = match self.send(id, &review.job.task, message, &review.by).await {
            Ok(arrived) => Ok(arrived),
            // It waits for a person, who decides what becomes of it.
            Err(error @ RequestError::MessageHeld { .. }) => Err(error),
            Err(error) => return Err(error),
        };
        self.input(id, SessionInput::Reviewed(Box::new(review))).await?;
        Ok(ReviewDelivery::Message { arrived: sent? })
    }

    /// Begins another attempt with a review; where the step of the task is over, another run.
    async fn begin_with_review(
        &self,
        id: &SessionId,
        tree: &TreeId,
        review: SentReview,
        message: &str,
        start: RunStart,
    ) -> Result<ReviewDelivery, TreeRequestError> {
        // One fact says both, so that nothing is lost in between.
        let number = review.job.attempt.saturating_add(1);
        let job = AttemptId { attempt: number, ..review.job.clone() };
        let attempt = SentReview { job, prompt: Some(message.to_owned()), ..review.clone() };
        let attempt = SessionInput::Reviewed(Box::new(attempt));
        let snapshot = self.snapshot(id).await?;
        match snapshot.state().admits(&attempt) {
            Err(RefusalReason::Over(_) | RefusalReason::StepOver(_)) if start.is_allowed => {
                return self.begin_run_with_review(id, tree, review, message, start.env).await;
            }
            Err(refused) => return Err(RequestError::from(refused).into()),
            Ok(()) => {}
        }
        let status = snapshot.state().status();
        if status.is_final() && !start.is_allowed {
            return Err(RequestError::from(RefusalReason::Over(status)).into());
        }
        if status.is_final() {
            self.resume(id, start.env).await?;
        }
        self.input(id, attempt).await?;
        Ok(ReviewDelivery::Attempt { number })
    }

    /// Begins a run with one agent like that of the task, in a tree made from what the task did. Its
    /// first fact has the review.
    async fn begin_run_with_review(
        &self,
        id: &SessionId,
        tree: &TreeId,
        mut review: SentReview,
        message: &str,
        env: Option<Environment>,
    ) -> Result<ReviewDelivery, TreeRequestError> {
        let found = self.tree(id, tree).await?;
        let task = review.job.task.clone();
        let run = found.snapshot.state().run();
        let is_over = run.is_some_and(WorkflowRun::is_over);
        let plan = run.and_then(|run| run.follow_up(&task, message));
        let no_agent = || RequestError::from(RefusalReason::NoAgent(task.clone()));
        let plan = plan.ok_or_else(no_agent)?;
        if is_over {
            self.commit_tree(id, &found).await?;
        }
        let found = self.tree(id, tree).await?;
        let target = found.target();
        let head = blocking(move || found.place.newest_commit()).await?;
        let new = NewSession {
            env: env.unwrap_or_else(|| std::env::vars_os().collect()),
            ..NewSession::of_plan(plan)
        };
        let origin = TreeOrigin { head: head.to_string(), branch: target };
        let key = self.follow_up_key(id, &review).await?;
        let run = self.execute_once_from(key, new, origin).await;
        let run = run.map_err(|error| TreeRequestError::NotNow(error.to_string()))?;
        let name = self.entry(&run).map(|entry| entry.name).unwrap_or_default();
        review.run = Some(run.clone());
        self.input(id, SessionInput::Reviewed(Box::new(review))).await?;
        Ok(ReviewDelivery::Run { id: run, name })
    }

    /// What a run is made for that begins with a review: this review, after those that were recorded.
    /// If the process dies before the review is, the same review finds the run that was made for it.
    async fn follow_up_key(
        &self,
        id: &SessionId,
        review: &SentReview,
    ) -> Result<String, RequestError> {
        let (manager, session) = (self.shared.manager.clone(), id.clone());
        let task = review.job.task.clone();
        let recorded = blocking(move || {
            let mut recorded = 0_u32;
            for record in manager.look(&session)?.reader()?.read_from::<SessionEvent>(1)? {
                if let SessionEvent::ReviewSent { job, run: Some(_), .. } = record?.fact {
                    recorded += u32::from(job.task == task);
                }
            }
            Ok::<_, RequestError>(recorded)
        });
        let said = json!({"comments": review.comments, "summary": review.summary});
        let said = ContentDigest::of_bytes(said.to_string().as_bytes());
        Ok(format!("review/{id}/{}/{}/{said}", review.job.task, recorded.await?))
    }
}

fn remark(comment: &ReviewComment) -> ReviewRemark {
    ReviewRemark {
        path: comment.path.display().to_string(),
        old: comment.side == ReviewSide::Old,
        line: comment.line,
        end_line: comment.end_line,
        text: comment.text.clone(),
    }
}
