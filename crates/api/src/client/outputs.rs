//! What the steps of a session gave.

use super::{ApiClient, ClientError, part};
use crate::workflow::SessionOutputs;

impl ApiClient {
    /// The output of every step, whole.
    pub async fn outputs(&self, id: &str) -> Result<SessionOutputs, ClientError> {
        self.get(&format!("/workflows/{}/outputs", part(id)), &()).await
    }
}
