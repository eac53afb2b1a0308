//! The requests about trees: changes, reviews, landing, and what is left of them.

use super::{ApiClient, ClientError, part, task_path};
use crate::changes::{
    AgentComments, AgentCommentsQuery, ChangesQuery, FileChanges, FileChangesQuery, ReviewAnswer,
    SendReview, TreeChanges,
};
use crate::tree::{
    MergeAnswer, MergeRequest, PruneTrees, PrunedTrees, RestoreTree, RestoredTree, TreeList,
    TreesQuery,
};

impl ApiClient {
    /// What changed in the tree of a task; of `@run` in that of the run.
    pub async fn changes(
        &self,
        id: &str,
        task: &str,
        query: &ChangesQuery,
    ) -> Result<TreeChanges, ClientError> {
        self.get(&task_path(id, task, "changes"), query).await
    }

    /// What changed in one file, line by line.
    pub async fn file_changes(
        &self,
        id: &str,
        task: &str,
        query: &FileChangesQuery,
    ) -> Result<FileChanges, ClientError> {
        self.get(&task_path(id, task, "changes/file"), query).await
    }

    /// What changed, as a patch that git takes.
    pub async fn patch(
        &self,
        id: &str,
        task: &str,
        query: &ChangesQuery,
    ) -> Result<Vec<u8>, ClientError> {
        Ok(self.fetch(&task_path(id, task, "changes/patch"), query).await?.body.to_vec())
    }

    /// What agents say about the work of a task; about `@run` what they say about that of the run.
    pub async fn agent_comments(
        &self,
        id: &str,
        task: &str,
        query: &AgentCommentsQuery,
    ) -> Result<AgentComments, ClientError> {
        self.get(&task_path(id, task, "comments"), query).await
    }

    /// Sends comments about its changes to the agent of a task, or says what would be sent.
    pub async fn review(
        &self,
        id: &str,
        task: &str,
        review: &SendReview,
    ) -> Result<ReviewAnswer, ClientError> {
        self.post(&task_path(id, task, "review"), review).await
    }

    /// The trees of a session, or of all.
    pub async fn trees(
        &self,
        id: Option<&str>,
        query: &TreesQuery,
    ) -> Result<TreeList, ClientError> {
        match id {
            Some(id) => self.get(&format!("/workflows/{}/trees", part(id)), query).await,
            None => self.get("/trees", query).await,
        }
    }

    /// Brings a tree onto a branch, or says what would happen.
    pub async fn merge(
        &self,
        id: &str,
        request: &MergeRequest,
    ) -> Result<MergeAnswer, ClientError> {
        self.post(&format!("/workflows/{}/merge", part(id)), request).await
    }

    /// Removes the trees that are landed or empty.
    pub async fn prune_trees(&self, prune: &PruneTrees) -> Result<PrunedTrees, ClientError> {
        self.post("/trees/prune", prune).await
    }

    /// Brings back what a checkpoint holds.
    pub async fn restore_tree(&self, restore: &RestoreTree) -> Result<RestoredTree, ClientError> {
        self.post("/trees/restore", restore).await
    }
}
