//! Takes connections, on the socket and on loopback, and hands their requests to the router.
//!
//! Clients are bounded: in number, in how long headers may take, and in how long they may leave
//! what we send unread. The socket has places of its own, so that no number of connections over
//! TCP keeps the owner out. Over TCP only processes of the same user are heard, and those of users
//! that the configuration names as proxies.

mod guarded;
mod limits;
mod peer_users;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use coven_api::{ApiProblem, ProblemCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixListener};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::ServiceExt;

use self::guarded::GuardedStream;
use self::limits::{ConnectionLimits, ConnectionPlace};
pub(crate) use self::peer_users::PeerUsers;
use crate::device::{DeviceAccess, DeviceConnection};
use crate::peer::{PeerTransport, credentials};

/// How long the headers of a request may take.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);

/// What is read of headers at all. Our own limit is lower and answered with a problem.
const MAX_HEADER_BUFFER_BYTES: usize = 64 * 1024;

/// How many headers there may be.
const MAX_HEADERS: usize = 200;

/// How long to wait when the system has no room for another connection.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(50);

/// How long requests that are under way may take once the daemon stops.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(5);

/// Takes connections until it is told to stop.
#[derive(Clone, Debug)]
pub(crate) struct Listening {
    router: Router,
    devices: Arc<DeviceAccess>,
    users: Arc<PeerUsers>,
    limits: ConnectionLimits,
    stopping: CancellationToken,
    connections: TaskTracker,
}

impl Listening {
    pub(crate) fn new(
        router: Router,
        devices: Arc<DeviceAccess>,
        users: PeerUsers,
        stopping: CancellationToken,
    ) -> Self {
        let (limits, users) = (ConnectionLimits::new(), Arc::new(users));
        Self { router, devices, users, limits, stopping, connections: TaskTracker::new() }
    }

    /// Connections of the socket. Only processes of the same user are heard.
    pub(crate) async fn socket(self, listener: UnixListener) {
        let me = rustix::process::geteuid().as_raw();
        while let Some(accepted) = self.stopping.run_until_cancelled(listener.accept()).await {
            let Ok((stream, _)) = accepted else {
                self.breathe().await;
                continue;
            };
            match credentials(&stream) {
                Some((uid, peer)) if uid == me => {
                    let connection = DeviceConnection::new(self.devices.clone(), None);
                    match self.limits.socket_place() {
                        Ok(place) => {
                            let via = PeerTransport::Socket { peer };
                            self.serve(stream, via, place, connection);
                        }
                        Err(limit) => _ = self.connections.spawn(turn_away(stream, limit)),
                    }
                }
                other => {
                    let uid = other.map(|(uid, _)| uid);
                    tracing::warn!(?uid, "another user tried to connect");
                }
            }
        }
    }

    /// Connections over loopback. Whose each is, is asked of the system before anything is read.
    pub(crate) async fn tcp(self, listener: TcpListener, local: SocketAddr) {
        while let Some(accepted) = self.stopping.run_until_cancelled(listener.accept()).await {
            let Ok((stream, peer)) = accepted else {
                self.breathe().await;
                continue;
            };
            // A search through all connections would hold up others on this thread; and when many
            // are searched for at once, the next ones wait in the system's queue.
            let waiting = self.stopping.run_until_cancelled(self.limits.lookup()).await;
            let Some(lookup) = waiting else { return };
            let listening = self.clone();
            self.connections.spawn(async move {
                let users = listening.users.clone();
                let looked = tokio::task::spawn_blocking(move || users.admit(peer, local)).await;
                drop(lookup);
                if let Ok(Some(user)) = looked {
                    let via = PeerTransport::Tcp { peer, local, user: user.id() };
                    listening.take_tcp(stream, via);
                }
            });
        }
    }

    fn take_tcp(&self, stream: TcpStream, via: PeerTransport) {
        // Small answers must not wait for each other.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!("could not set TCP_NODELAY on a connection: {error}");
        }
        match self.limits.tcp_places() {
            Ok((place, waiting)) => {
                let connection = DeviceConnection::new(self.devices.clone(), Some(waiting));
                self.serve(stream, via, place, connection);
            }
            Err(limit) => _ = self.connections.spawn(turn_away(stream, limit)),
        }
    }

    async fn breathe(&self) {
        // Accepting fails when there are too many files; only time helps.
        tokio::select! {
            () = tokio::time::sleep(ACCEPT_RETRY_DELAY) => {}
            () = self.stopping.cancelled() => {}
        }
    }

    fn serve<S>(
        &self,
        stream: S,
        via: PeerTransport,
        place: ConnectionPlace,
        connection: DeviceConnection,
    ) where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let connection = Arc::new(connection);
        let stream = GuardedStream::new(stream, place, connection.clone());
        let (router, stopping) = (self.router.clone(), self.stopping.clone());
        self.connections.spawn(serve(stream, via, connection, router, stopping));
    }

    /// Waits for what is under way. What takes longer than a moment is cut off.
    pub(crate) async fn finish(&self) {
        self.connections.close();
        if tokio::time::timeout(SHUTDOWN_GRACE, self.connections.wait()).await.is_err() {
            tracing::debug!("stopped with {} connections still open", self.connections.len());
        }
    }
}

async fn serve<S>(
    stream: GuardedStream<S>,
    via: PeerTransport,
    device: Arc<DeviceConnection>,
    router: Router,
    stopping: CancellationToken,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let service = router.map_request(move |mut request: Request<hyper::body::Incoming>| {
        request.extensions_mut().insert(via);
        request.extensions_mut().insert(device.clone());
        request
    });
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .max_buf_size(MAX_HEADER_BUFFER_BYTES)
        .max_headers(MAX_HEADERS)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(service))
        .with_upgrades();
    let mut connection = std::pin::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stopping.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!("a connection broke: {error}");
    }
}

/// Says that there is no room, without reading anything.
async fn turn_away<S: AsyncWrite + Unpin>(mut stream: S, limit: String) {
    let problem =
        ApiProblem::new(ProblemCode::TooMany, limit).with_hint("close some, or try again later");
    let body = serde_json::to_string(&problem).unwrap_or_default();
    let text = format!(
        "HTTP/1.1 429 Too Many Requests\r\ncontent-type: {}\r\ncontent-length: {}\r\n\
         connection: close\r\n\r\n{body}",
        coven_api::problem::MEDIA_TYPE,
        body.len(),
    );
    let said = async {
        stream.write_all(text.as_bytes()).await?;
        stream.shutdown().await
    };
    if !matches!(tokio::time::timeout(Duration::from_secs(1), said).await, Ok(Ok(()))) {
        tracing::debug!("could not tell a client that there are too many connections");
    }
}
