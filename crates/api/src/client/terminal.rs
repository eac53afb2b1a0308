//! The terminal of a task, from the viewer's side.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{WebSocketStream, client_async};

use super::{ClientError, DaemonAddress, problem};
use crate::attach::{FromDaemon, FromViewer, SUBPROTOCOL};

/// A connection of either kind.
enum ClientSocket {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl AsyncRead for ClientSocket {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        match self.get_mut() {
            Self::Unix(stream) => Pin::new(stream).poll_read(context, buffer),
            Self::Tcp(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for ClientSocket {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        match self.get_mut() {
            Self::Unix(stream) => Pin::new(stream).poll_write(context, bytes),
            Self::Tcp(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        match self.get_mut() {
            Self::Unix(stream) => Pin::new(stream).poll_flush(context),
            Self::Tcp(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        match self.get_mut() {
            Self::Unix(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Tcp(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}

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
    messages: SplitStream<WebSocketStream<ClientSocket>>,
}

impl std::fmt::Debug for TerminalConnection {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Terminal").finish_non_exhaustive()
    }
}

/// The half that speaks.
pub struct ToTerminal {
    messages: SplitSink<WebSocketStream<ClientSocket>, Message>,
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
    pub(super) async fn open(address: &DaemonAddress, path: &str) -> Result<Self, ClientError> {
        let (wire, host, token) = match address {
            DaemonAddress::Socket(socket) => {
                let stream = UnixStream::connect(socket).await.map_err(unreachable)?;
                (ClientSocket::Unix(stream), "localhost".to_owned(), None)
            }
            DaemonAddress::Tcp { address, token } => {
                let stream = TcpStream::connect(address).await.map_err(unreachable)?;
                // A key is typed and to be seen at once.
                stream.set_nodelay(true).map_err(unreachable)?;
                (ClientSocket::Tcp(stream), address.to_string(), Some(token))
            }
        };
        let mut request = format!("ws://{host}{path}").into_client_request().map_err(failed)?;
        let headers = request.headers_mut();
        headers.insert("Sec-WebSocket-Protocol", HeaderValue::from_static(SUBPROTOCOL));
        if let Some(token) = token {
            let mut value =
                HeaderValue::from_str(&format!("Bearer {token}")).map_err(unreachable)?;
            value.set_sensitive(true);
            headers.insert("Authorization", value);
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
