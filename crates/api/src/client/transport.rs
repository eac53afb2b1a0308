//! Byte streams to the daemon, and HTTP over them.

use std::fmt;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::future::BoxFuture;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use hyper::{Method, Request, Response, StatusCode, Uri};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};

use super::{ClientError, DaemonAddress, problem};

/// How long the daemon may take to accept a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a connection is kept for the next request. The daemon lets go of one that says nothing
/// for ten seconds, and a request must not be on its way just then.
const IDLE_TIMEOUT: Duration = Duration::from_secs(5);

/// How long an answer may take. Adapters ask programs for their versions, which takes a while.
const ANSWER_TIMEOUT: Duration = Duration::from_mins(1);

/// A byte stream in both directions, of any kind.
trait ByteStream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> ByteStream for T {}

/// One connection to the daemon.
pub(super) struct DaemonStream(Box<dyn ByteStream>);

impl DaemonStream {
    fn new(stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static) -> Self {
        Self(Box::new(stream))
    }
}

impl AsyncRead for DaemonStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl AsyncWrite for DaemonStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}

impl Connection for DaemonStream {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

/// Opens a byte stream for each connection.
#[derive(Clone)]
struct Connector(Arc<dyn Fn() -> BoxFuture<'static, io::Result<DaemonStream>> + Send + Sync>);

impl Connector {
    fn new<F, S>(open: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = io::Result<S>> + Send + 'static,
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        Self(Arc::new(move || {
            let opening = open();
            Box::pin(async move {
                match tokio::time::timeout(CONNECT_TIMEOUT, opening).await {
                    Ok(opened) => opened.map(DaemonStream::new),
                    Err(_) => Err(io::Error::new(
                        io::ErrorKind::TimedOut,
                        "the connection was not accepted in time",
                    )),
                }
            })
        }))
    }
}

/// The pool asks by address; there is only one.
impl tower_service::Service<Uri> for Connector {
    type Response = TokioIo<DaemonStream>;
    type Error = io::Error;
    type Future = BoxFuture<'static, io::Result<TokioIo<DaemonStream>>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        let opening = self.0();
        Box::pin(async move { opening.await.map(TokioIo::new) })
    }
}

/// Speaks HTTP with one daemon. Clones share their connections.
#[derive(Clone)]
pub(super) struct Transport {
    connector: Connector,
    pool: legacy::Client<Connector, Full<Bytes>>,
    /// The daemon's name in requests.
    host: String,
    /// What shows that we may, as a header.
    authorization: Option<HeaderValue>,
}

impl fmt::Debug for Transport {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Transport").field("host", &self.host).finish_non_exhaustive()
    }
}

/// An answer that has come as a whole.
pub(super) struct HttpAnswer {
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

impl Transport {
    pub(super) fn to(address: DaemonAddress) -> Result<Self, ClientError> {
        match address {
            DaemonAddress::Socket(path) => {
                Ok(Self::over(move || UnixStream::connect(path.clone())))
            }
            DaemonAddress::Tcp { address, token } => {
                let mut value = HeaderValue::from_str(&format!("Bearer {token}"))
                    .map_err(|_| ClientError::Unreadable("the token is no text".to_owned()))?;
                value.set_sensitive(true);
                let connect = move || async move {
                    let stream = TcpStream::connect(address).await?;
                    // A key is typed and to be seen at once.
                    stream.set_nodelay(true)?;
                    Ok(stream)
                };
                let (host, authorization) = (address.to_string(), Some(value));
                Ok(Self { host, authorization, ..Self::over(connect) })
            }
        }
    }

    pub(super) fn over<F, S>(connect: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = io::Result<S>> + Send + 'static,
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let connector = Connector::new(connect);
        let pool = legacy::Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE_TIMEOUT)
            .build(connector.clone());
        Self { connector, pool, host: "localhost".to_owned(), authorization: None }
    }

    pub(super) fn host(&self) -> &str {
        &self.host
    }

    pub(super) fn authorization(&self) -> Option<&HeaderValue> {
        self.authorization.as_ref()
    }

    /// A connection for something else than requests.
    pub(super) async fn connect(&self) -> Result<DaemonStream, ClientError> {
        self.connector.0().await.map_err(|error| ClientError::Unreachable(error.to_string()))
    }

    /// Sends a request and waits for the whole answer.
    pub(super) async fn answer(
        &self,
        method: Method,
        path: &str,
        headers: HeaderMap,
        body: Option<Vec<u8>>,
    ) -> Result<HttpAnswer, ClientError> {
        let answer = async {
            let answer = self.begin(method, path, headers, body).await?;
            let headers = answer.headers().clone();
            Ok(HttpAnswer { headers, body: whole(answer).await? })
        };
        match tokio::time::timeout(ANSWER_TIMEOUT, answer).await {
            Ok(answer) => answer,
            Err(_) => Err(ClientError::Unreachable(format!(
                "there was no answer within {} seconds",
                ANSWER_TIMEOUT.as_secs()
            ))),
        }
    }

    /// Sends a request and gives its answer once it begins, if that is not a problem. The body may
    /// go on for ever.
    pub(super) async fn begin(
        &self,
        method: Method,
        path: &str,
        mut headers: HeaderMap,
        body: Option<Vec<u8>>,
    ) -> Result<Response<Incoming>, ClientError> {
        if let Some(value) = &self.authorization {
            headers.insert(AUTHORIZATION, value.clone());
        }
        if body.is_some() {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        let mut request =
            Request::builder().method(method).uri(format!("http://{}{path}", self.host));
        if let Some(all) = request.headers_mut() {
            *all = headers;
        }
        let request = request
            .body(Full::from(body.unwrap_or_default()))
            .map_err(|error| ClientError::Unreadable(format!("{path} is no address: {error}")))?;
        let answer = self.pool.request(request).await.map_err(|error| unreachable(&error))?;
        let status = answer.status();
        if status.is_success() {
            return Ok(answer);
        }
        Err(refusal(status, answer).await)
    }
}

async fn refusal(status: StatusCode, answer: Response<Incoming>) -> ClientError {
    match whole(answer).await {
        Ok(body) => problem(status, &body),
        Err(error) => error,
    }
}

async fn whole(answer: Response<Incoming>) -> Result<Bytes, ClientError> {
    let body = answer.into_body().collect().await.map_err(|error| unreachable(&error))?;
    Ok(body.to_bytes())
}

/// An error with everything behind it; a connection's error says nothing at its top.
pub(super) fn unreachable(error: &dyn std::error::Error) -> ClientError {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = error.source();
    }
    ClientError::Unreachable(text)
}
