//! A person's review of what a task did, given to its agent as one message.

use coven_model::{ReviewRemark, SessionId, TaskId};
use coven_workflow::SessionInput;
use coven_workflow::input::SentReview;

use super::Orchestrator;
use crate::engine::trees::ReviewText;
use crate::error::RequestError;
use crate::state::blocking::blocking;
use crate::trees::{
    Review, ReviewComment, ReviewDelivery, ReviewReport, ReviewSide, TreeRequestError,
};

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
        let tree = self.tree_of_task(id, task).await?;
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
        let by = review.by.clone();
        let attempt = self.snapshot(id).await?.task(task)?.attempt;
        let sent = match self.send(id, task, &message, &by).await {
            Ok(arrived) => Ok(arrived),
            // It waits for a person, who decides what becomes of it.
            Err(error @ RequestError::MessageHeld { .. }) => Err(error),
            Err(error) => return Err(error.into()),
        };
        let sent_review = SentReview {
            job: attempt,
            comments: review.comments.iter().map(remark).collect(),
            summary: review.summary,
            by,
        };
        self.input(id, SessionInput::Reviewed(Box::new(sent_review))).await?;
        let delivery = Some(ReviewDelivery::Message { arrived: sent? });
        Ok(ReviewReport { message, outdated, delivery })
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
