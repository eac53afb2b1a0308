//! Secrets on their way from a person to an agent. They are in memory only: a decision is written
//! down without its text before the text is typed, and after a crash in between the agent's question
//! is asked again.

use std::collections::HashMap;

use coven_model::event::InterventionDecision;
use coven_model::{InterventionChoice, InterventionId};
use parking_lot::Mutex;

/// The texts of decisions that were made and not carried out yet.
#[derive(Default)]
pub(crate) struct SecretAnswers {
    texts: Mutex<HashMap<InterventionId, String>>,
}

impl SecretAnswers {
    /// Takes the text out of an answer, which is recorded without it.
    pub(crate) fn keep(&self, id: &InterventionId, decision: &mut InterventionDecision) {
        if decision.choice == InterventionChoice::Answer
            && let Some(text) = decision.text.take()
        {
            decision.secret = true;
            self.texts.lock().insert(id.clone(), text);
        }
    }

    /// The text of a decision, which is carried out once.
    pub(crate) fn take(&self, id: &InterventionId) -> Option<String> {
        self.texts.lock().remove(id)
    }
}

#[cfg(test)]
mod tests {
    use coven_model::SessionId;
    use coven_runner::AnswerAction;

    use super::*;
    use crate::engine::answer::action;

    #[test]
    fn the_reason_of_a_denial_is_no_secret() {
        let session = SessionId::new("0190d1c7-0000-7000-8000-000000000001").unwrap();
        let id = InterventionId::in_session(&session, 1);
        let answers = SecretAnswers::default();
        let decision = InterventionDecision::new(InterventionChoice::Deny, "user");
        let mut decision = decision.with_text("not here");
        answers.keep(&id, &mut decision);
        assert_eq!((decision.text.as_deref(), decision.secret), (Some("not here"), false));
    }

    #[test]
    fn a_secret_is_handed_over_once_and_never_recorded() {
        let session = SessionId::new("0190d1c7-0000-7000-8000-000000000001").unwrap();
        let id = InterventionId::in_session(&session, 1);
        let answers = SecretAnswers::default();
        let decision = InterventionDecision::new(InterventionChoice::Answer, "user");
        let mut decision = decision.with_text("sk-123");
        answers.keep(&id, &mut decision);
        assert!(!serde_json::to_string(&decision).unwrap().contains("sk-123"));
        assert!(decision.secret);
        let secret = AnswerAction::Secret("sk-123".to_owned());
        assert_eq!(action(&decision, answers.take(&id)), Some(secret));
        // As after a crash: nothing is typed, and the question is asked again.
        assert_eq!(action(&decision, answers.take(&id)), None);
    }
}
