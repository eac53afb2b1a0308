//! The terminal of a task, from the viewer's side.

use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{WebSocketStream, client_async};

use super::transport::{DaemonStream, Transport};
use super::{ClientError, problem};
use crate::attach::{FromDaemon, FromViewer, SUBPROTOCOL};

/// What a terminal tells.
#[derive(Clone, Debug, PartialEq)]
pub enum FromTerminal {
    /// Bytes that the agent printed, to be shown as they are.
    Bytes(Vec<u8>),
    /// Something about the terminal.
    Said(FromDaemon),
}

/// The terminal of a task. Its two halves may be used at once.
pub struct TerminalConnection {
    /// What is said to it.
    pub sender: ToTerminal,
    messages: SplitStream<WebSocketStream<DaemonStream>>,
}

impl std::fmt::Debug for TerminalConnection {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Terminal").finish_non_exhaustive()
    }
}

/// The half that speaks.
pub struct ToTerminal {
    messages: SplitSink<WebSocketStream<DaemonStream>, Message>,
}

impl std::fmt::Debug for ToTerminal {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("ToTerminal").finish_non_exhaustive()
    }
}

fn unreachable(error: impl std::fmt::Display) -> ClientError {
    ClientError::Unreachable(error.to_string())
}

fn failed(error: Error) -> ClientError {
    match error {
        Error::Http(answer) => {
            problem(answer.status(), answer.body().as_deref().unwrap_or_default())
        }
        other => unreachable(other),
    }
}

impl TerminalConnection {
    pub(super) async fn open(transport: &Transport, path: &str) -> Result<Self, ClientError> {
        let wire = transport.connect().await?;
        let url = format!("ws://{}{path}", transport.host());
        let mut request = url.into_client_request().map_err(failed)?;
        let headers = request.headers_mut();
        headers.insert("Sec-WebSocket-Protocol", HeaderValue::from_static(SUBPROTOCOL));
        if let Some(value) = transport.authorization() {
            headers.insert("Authorization", value.clone());
        }
        let (socket, _) = client_async(request, wire).await.map_err(failed)?;
        let (sink, messages) = socket.split();
        Ok(Self { sender: ToTerminal { messages: sink }, messages })
    }

    /// The next thing it tells; nothing once the connection is closed.
    pub async fn next(&mut self) -> Result<Option<FromTerminal>, ClientError> {
        loop {
            match self.messages.next().await {
                None | Some(Ok(Message::Close(_))) => return Ok(None),
                Some(Ok(Message::Binary(bytes))) => {
                    return Ok(Some(FromTerminal::Bytes(bytes.to_vec())));
                }
                Some(Ok(Message::Text(text))) => {
                    let said = serde_json::from_str(&text);
                    let said = said.map_err(|error| ClientError::Unreadable(error.to_string()))?;
                    return Ok(Some(FromTerminal::Said(said)));
                }
                Some(Ok(_)) => {}
                Some(Err(error)) => return Err(failed(error)),
            }
        }
    }
}

impl ToTerminal {
    /// Sends bytes that the viewer typed.
    pub async fn write(&mut self, bytes: Vec<u8>) -> Result<(), ClientError> {
        self.messages.send(Message::Binary(bytes.into())).await.map_err(failed)
    }

    /// Sends a control message, such as a new size.
    pub async fn say(&mut self, what: &FromViewer) -> Result<(), ClientError> {
        let text = serde_json::to_string(what)
            .map_err(|error| ClientError::Unreadable(error.to_string()))?;
        self.messages.send(Message::Text(text.into())).await.map_err(failed)
    }
}
