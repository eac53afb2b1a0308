//! The ways of speaking to a model, and how each says what the script says.

mod chat;
mod gemini;
mod limit;
mod messages;
mod responses;

use std::io;

use serde_json::{Value, json};

use super::http::HttpResponder;
use super::scene::ModelTurn;

/// A way of speaking to a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ApiDialect {
    Messages,
    Responses,
    /// `OpenAI`'s chat completions, which many others speak as well.
    Chat,
    Gemini,
}

impl ApiDialect {
    pub(super) fn of_path(path: &str) -> Option<Self> {
        if path.ends_with("/messages") {
            Some(Self::Messages)
        } else if path.ends_with("/responses") {
            Some(Self::Responses)
        } else if path.ends_with("/chat/completions") {
            Some(Self::Chat)
        } else if path.ends_with(":generateContent") || path.ends_with(":streamGenerateContent") {
            Some(Self::Gemini)
        } else {
            None
        }
    }

    pub(super) fn answer(
        self,
        body: &Value,
        path: &str,
        turn: &ModelTurn,
        responder: &mut HttpResponder,
    ) -> io::Result<()> {
        let (speech, call) = match turn {
            ModelTurn::Refuse(limit::STATUS) => return limit::answer(self, responder),
            ModelTurn::Refuse(status) => return responder.json(*status, &self.refusal(*status)),
            ModelTurn::Say(speech, call) => (speech, call.as_ref()),
        };
        match self {
            Self::Messages => messages::answer(body, speech, call, responder),
            Self::Responses => responses::answer(body, speech, call, responder),
            Self::Chat => chat::answer(body, speech, call, responder),
            Self::Gemini => gemini::answer(body, path, speech, call, responder),
        }
    }

    fn refusal(self, status: u16) -> Value {
        let key = status == 401;
        let message = if key { "no good key (scripted)" } else { "bad request (scripted)" };
        match self {
            Self::Messages => {
                let kind = if key { "authentication_error" } else { "invalid_request_error" };
                json!({"type": "error", "error": {"type": kind, "message": message}})
            }
            Self::Gemini => {
                let kind = if key { "UNAUTHENTICATED" } else { "INVALID_ARGUMENT" };
                json!({"error": {"code": status, "message": message, "status": kind}})
            }
            Self::Responses | Self::Chat => {
                let code = if key { "invalid_api_key" } else { "bad_request" };
                let kind = "invalid_request_error";
                json!({"error": {"message": message, "type": kind, "code": code, "param": null}})
            }
        }
    }
}

/// Whether the answer is wanted in events.
fn streams(body: &Value) -> bool {
    body["stream"] == true
}

/// An id that no other has.
fn id(prefix: &str) -> String {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(1);
    format!("{prefix}{:024x}", NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Something that fits a JSON schema.
fn fitting(schema: &Value) -> Value {
    if let Some(choices) = schema["enum"].as_array() {
        let user = choices.iter().find(|choice| **choice == "user");
        return user.or(choices.first()).cloned().unwrap_or_default();
    }
    let kind = schema["type"].as_str().unwrap_or("string").to_lowercase();
    match kind.as_str() {
        "object" => {
            let properties = schema["properties"].as_object().into_iter().flatten();
            properties.map(|(name, schema)| (name.clone(), fitting(schema))).collect()
        }
        "number" | "integer" => json!(1),
        "boolean" => json!(false),
        "array" => json!([]),
        _ => json!("scripted"),
    }
}
