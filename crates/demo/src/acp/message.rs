//! JSON-RPC 2.0: what the client sends, and what is wrong with it.

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// A message of the client.
#[derive(Debug, PartialEq)]
pub(super) enum ClientMessage {
    Request {
        id: Value,
        method: String,
        params: Value,
    },
    Notification {
        method: String,
        params: Value,
    },
    /// The answer to a request of the agent; `None` if the client answered with an error.
    Response {
        id: Value,
        result: Option<Value>,
    },
}

/// Why a request is answered with an error.
#[derive(Debug, PartialEq)]
pub(super) struct RpcError {
    pub(super) code: i32,
    pub(super) message: String,
}

impl RpcError {
    pub(super) const PARSE_ERROR: i32 = -32700;
    pub(super) const INVALID_REQUEST: i32 = -32600;
    pub(super) const METHOD_NOT_FOUND: i32 = -32601;
    pub(super) const INVALID_PARAMS: i32 = -32602;
    pub(super) const INTERNAL_ERROR: i32 = -32603;
    /// The protocol's own code for a session that does not exist.
    pub(super) const RESOURCE_NOT_FOUND: i32 = -32002;

    pub(super) fn new(code: i32, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    pub(super) fn to_json(&self) -> Value {
        json!({ "code": self.code, "message": self.message })
    }
}

/// Reads a line. If it is no message, the error says so, with the id to answer, which is null where
/// it is not known.
pub(super) fn read(line: &[u8]) -> Result<ClientMessage, (Value, RpcError)> {
    let parsed = serde_json::from_slice::<Value>(line).map_err(|error| {
        (Value::Null, RpcError::new(RpcError::PARSE_ERROR, format!("not JSON: {error}")))
    })?;
    let invalid = |id: Option<Value>| {
        let error = RpcError::new(RpcError::INVALID_REQUEST, "not a JSON-RPC message");
        Err((id.unwrap_or_default(), error))
    };
    let Value::Object(mut fields) = parsed else { return invalid(None) };
    let id = fields.remove("id");
    let params = fields.remove("params").unwrap_or_default();
    match (fields.remove("method"), id) {
        (Some(Value::String(method)), Some(id)) => {
            Ok(ClientMessage::Request { id, method, params })
        }
        (Some(Value::String(method)), None) => Ok(ClientMessage::Notification { method, params }),
        (None, Some(id)) if fields.contains_key("result") || fields.contains_key("error") => {
            Ok(ClientMessage::Response { id, result: fields.remove("result") })
        }
        (_, id) => invalid(id),
    }
}

/// The parameters of a method.
pub(super) fn params<T: DeserializeOwned>(params: Value) -> Result<T, RpcError> {
    serde_json::from_value(params)
        .map_err(|error| RpcError::new(RpcError::INVALID_PARAMS, error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(line: &str) -> Result<ClientMessage, (Value, RpcError)> {
        read(line.as_bytes())
    }

    #[test]
    fn messages_are_told_apart_by_their_fields() {
        assert_eq!(
            read_text(r#"{"jsonrpc":"2.0","id":"a","method":"m","params":{"x":1}}"#).unwrap(),
            ClientMessage::Request {
                id: json!("a"),
                method: "m".to_owned(),
                params: json!({ "x": 1 })
            }
        );
        assert_eq!(
            read_text(r#"{"jsonrpc":"2.0","method":"m"}"#).unwrap(),
            ClientMessage::Notification { method: "m".to_owned(), params: Value::Null }
        );
        assert_eq!(
            read_text(r#"{"jsonrpc":"2.0","id":0,"result":{}}"#).unwrap(),
            ClientMessage::Response { id: json!(0), result: Some(json!({})) }
        );
        assert_eq!(
            read_text(r#"{"jsonrpc":"2.0","id":0,"error":{"code":1,"message":"no"}}"#).unwrap(),
            ClientMessage::Response { id: json!(0), result: None }
        );
    }

    #[test]
    fn what_is_no_message_is_answered_with_the_id_it_has() {
        for (line, id, code) in [
            ("{\"id\":1", Value::Null, RpcError::PARSE_ERROR),
            ("nothing", Value::Null, RpcError::PARSE_ERROR),
            ("[]", Value::Null, RpcError::INVALID_REQUEST),
            ("{}", Value::Null, RpcError::INVALID_REQUEST),
            (r#"{"id":7}"#, json!(7), RpcError::INVALID_REQUEST),
            (r#"{"id":7,"method":1}"#, json!(7), RpcError::INVALID_REQUEST),
        ] {
            let (found, error) = read_text(line).unwrap_err();
            assert_eq!((found, error.code), (id, code), "{line}");
        }
        assert_eq!(read(b"\"\xff\"").unwrap_err().1.code, RpcError::PARSE_ERROR);
    }
}
