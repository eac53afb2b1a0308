//! Requests as a test writes them, with nothing added but what HTTP itself asks for. The client of
//! `coven_api` says only what it should, and the daemon has to stand the rest.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use futures_util::future::Either;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{HOST, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, StatusCode};
use hyper_util::rt::TokioIo;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::net::{TcpStream, UnixStream};

pub(crate) type Error = Box<dyn std::error::Error + Send + Sync>;

/// How long an answer may take. The driver of a browser is the slowest to answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(150);

/// Where a request goes.
#[derive(Clone)]
pub(crate) enum Server {
    Socket(PathBuf),
    Tcp(SocketAddr),
}

/// A request that has not been sent. Each has a connection of its own.
pub(crate) struct Request {
    server: Server,
    method: Method,
    path: String,
    headers: HeaderMap,
    body: Bytes,
}

impl Request {
    pub(crate) fn new(server: Server, method: &str, path: &str) -> Self {
        let host = match &server {
            Server::Socket(_) => "localhost".to_owned(),
            Server::Tcp(address) => address.to_string(),
        };
        let method = method.parse().unwrap();
        let request = Self {
            server,
            method,
            path: path.to_owned(),
            headers: HeaderMap::new(),
            body: Bytes::new(),
        };
        request.header(HOST.as_str(), host)
    }

    /// Sets a header, in the place of one with this name.
    #[expect(clippy::needless_pass_by_value, reason = "numbers and texts are given as they are")]
    pub(crate) fn header(mut self, name: &str, value: impl ToString) -> Self {
        let name: HeaderName = name.parse().unwrap();
        self.headers.insert(name, HeaderValue::try_from(value.to_string()).unwrap());
        self
    }

    pub(crate) fn body(mut self, body: impl Into<Bytes>) -> Self {
        self.body = body.into();
        self
    }

    pub(crate) fn json(self, body: &impl Serialize) -> Self {
        let body = serde_json::to_vec(body).unwrap();
        self.header("content-type", "application/json").body(body)
    }

    /// Sends it, and gives the answer once its head has come.
    pub(crate) async fn send(self) -> Result<Response, Error> {
        tokio::time::timeout(ANSWER_TIMEOUT, self.exchange()).await?
    }

    async fn exchange(self) -> Result<Response, Error> {
        let stream = match self.server {
            Server::Socket(path) => Either::Left(UnixStream::connect(path).await?),
            Server::Tcp(address) => Either::Right(TcpStream::connect(address).await?),
        };
        let mut request = hyper::Request::builder()
            .method(self.method)
            .uri(self.path)
            .body(Full::new(self.body))?;
        *request.headers_mut() = self.headers;
        let answer = match stream {
            Either::Left(stream) => over(stream, request).await?,
            Either::Right(stream) => over(stream, request).await?,
        };
        Ok(Response(answer))
    }
}

async fn over(
    stream: impl tokio::io::AsyncRead + tokio::io::AsyncWrite + Send + Unpin + 'static,
    request: hyper::Request<Full<Bytes>>,
) -> Result<hyper::Response<Incoming>, hyper::Error> {
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    sender.send_request(request).await
}

/// An answer whose head has come.
pub(crate) struct Response(hyper::Response<Incoming>);

impl Response {
    pub(crate) fn status(&self) -> StatusCode {
        self.0.status()
    }

    pub(crate) fn headers(&self) -> &HeaderMap {
        self.0.headers()
    }

    /// The next piece of the body; nothing at its end.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Bytes>, Error> {
        let frame = self.0.body_mut().frame().await.transpose()?;
        Ok(frame.map(|frame| frame.into_data().unwrap_or_default()))
    }

    pub(crate) async fn bytes(self) -> Result<Bytes, Error> {
        let body = tokio::time::timeout(ANSWER_TIMEOUT, self.0.into_body().collect()).await??;
        Ok(body.to_bytes())
    }

    pub(crate) async fn text(self) -> Result<String, Error> {
        Ok(String::from_utf8(self.bytes().await?.to_vec())?)
    }

    pub(crate) async fn json<T: DeserializeOwned>(self) -> Result<T, Error> {
        Ok(serde_json::from_slice(&self.bytes().await?)?)
    }
}
