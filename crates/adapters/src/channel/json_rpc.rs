//! JSON-RPC in lines, as Codex and ACP speak it. Codex leaves out `jsonrpc`.

use serde_json::{Value, json};

use super::question::RequestId;
use crate::transcript::json::JsonNode;

/// What a request has.
pub(super) const MESSAGE: [&str; 4] = ["id", "jsonrpc", "method", "params"];

/// The code for a method that is not known.
pub(super) const METHOD_NOT_FOUND: i64 = -32601;

/// The codes for a request that is not one of the protocol, or not as the protocol has it.
const NOT_UNDERSTOOD: [i64; 2] = [-32600, -32602];

/// How agents say that, which use those codes for other faults too. Codex has an error of its parser
/// for a method that it does not know.
const NOT_UNDERSTOOD_WORDS: [&str; 6] = [
    "unknown variant",
    "unknown method",
    "method not found",
    "missing field",
    "unknown field",
    "invalid params",
];

/// Whether an error says that the request is none that the agent knows, so that it did nothing.
pub(super) fn is_not_understood(error: JsonNode<'_>) -> bool {
    let code = error.get("code").to_value().and_then(|code| code.as_i64());
    let words = error.get("message").str().unwrap_or_default().to_ascii_lowercase();
    code == Some(METHOD_NOT_FOUND)
        || (code.is_some_and(|code| NOT_UNDERSTOOD.contains(&code))
            && NOT_UNDERSTOOD_WORDS.iter().any(|known| words.contains(known)))
}

/// One message.
pub(super) enum RpcMessage<'a> {
    Request {
        id: RequestId,
        method: &'a str,
        params: JsonNode<'a>,
    },
    Notification {
        method: &'a str,
        params: JsonNode<'a>,
    },
    Result {
        id: RequestId,
        result: JsonNode<'a>,
    },
    Error {
        id: RequestId,
        error: JsonNode<'a>,
    },
    /// Not a message of the protocol.
    Other,
}

impl<'a> RpcMessage<'a> {
    pub(super) fn read(message: JsonNode<'a>) -> Self {
        let id = message.get("id");
        let params = message.get("params");
        match (message.get("method").str(), RequestId::read(id)) {
            (Some(method), Some(id)) => Self::Request { id, method, params },
            (Some(method), None) if !id.exists() => Self::Notification { method, params },
            (None, Some(id)) if message.get("error").exists() => {
                Self::Error { id, error: message.get("error") }
            }
            // A result may be null, but it has to be there.
            (None, Some(id)) if message.get("result").is_given() => {
                Self::Result { id, result: message.get("result") }
            }
            _ => Self::Other,
        }
    }
}

/// How messages are written.
#[derive(Clone, Copy)]
pub(super) enum RpcDialect {
    /// With `"jsonrpc": "2.0"`.
    Standard,
    /// Without.
    Bare,
}

impl RpcDialect {
    pub(super) fn request(self, id: u64, method: &str, params: &Value) -> Vec<u8> {
        self.line(json!({"id": id, "method": method, "params": params}))
    }

    pub(super) fn notification(self, method: &str, params: Option<&Value>) -> Vec<u8> {
        match params {
            Some(params) => self.line(json!({"method": method, "params": params})),
            None => self.line(json!({"method": method})),
        }
    }

    pub(super) fn result(self, id: &RequestId, result: &Value) -> Vec<u8> {
        self.answer(id, "result", result)
    }

    pub(super) fn error(self, id: &RequestId, text: &str) -> Vec<u8> {
        self.answer(id, "error", &json!({"code": METHOD_NOT_FOUND, "message": text}))
    }

    /// An answer has the id of its request as that was written, which may be no value that could be
    /// kept as one.
    fn answer(self, id: &RequestId, name: &str, value: &Value) -> Vec<u8> {
        let version = match self {
            Self::Standard => r#","jsonrpc":"2.0""#,
            Self::Bare => "",
        };
        format!("{{\"id\":{}{version},\"{name}\":{value}}}\n", id.json()).into_bytes()
    }

    fn line(self, mut message: Value) -> Vec<u8> {
        if matches!(self, Self::Standard) {
            message["jsonrpc"] = "2.0".into();
        }
        json_line(&message)
    }
}

/// A value as one line.
pub(super) fn json_line(value: &Value) -> Vec<u8> {
    let mut line = value.to_string().into_bytes();
    line.push(b'\n');
    line
}
