//! A model server without a model: it answers agent CLIs by a script, on loopback only.
//!
//! It speaks what the CLIs speak: Anthropic messages, `OpenAI` responses and chat completions, and
//! Gemini content generation, each streamed or in one piece. Which scene is played is said by a
//! tag in the last text of the user, `play:twice` for example; [`ModelScene`] lists them. What was
//! asked is kept, so that a test can see what really reached the model.

mod conversation;
mod dialect;
mod http;
mod scene;

#[cfg(test)]
mod tests;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State as Extracted};
use axum::http::{Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::serve::ListenerExt;
use parking_lot::{Condvar, Mutex};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};

use conversation::ModelConversation;
use dialect::ApiDialect;
use http::HttpResponder;

pub use scene::{
    DATA, LONG_COMMAND_LINES, MODEL, ModelScene, PROBE, QUESTION, QUESTION_ENTRIES, REASON,
    SLOW_WORDS, TAG, USED,
};

/// A request to the model, and how far its answer came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelExchange {
    /// The scene that its tag named. Requests without tools or tag are a program's own business
    /// (titles, summaries, suggestions) and have none.
    pub scene: Option<ModelScene>,
    /// Everything the user said in it, oldest first.
    pub said: Vec<String>,
    /// What came of the tool calls since the last text that names a scene, oldest first.
    pub results: Vec<String>,
    /// The tools that were offered.
    pub tools: Vec<String>,
    /// Whether the answer is still on its way.
    pub open: bool,
}

/// The longest body. A long conversation with many tools has one or two megabytes.
const MAX_BODY_BYTES: usize = 256 << 20;

/// The server. Dropping it ends it.
#[derive(Debug)]
pub struct ModelServer {
    address: SocketAddr,
    shared: Arc<SharedExchanges>,
    /// Serves the connections; nothing while it is dropped.
    runtime: Option<Runtime>,
}

/// What all connections share.
#[derive(Debug, Default)]
pub(crate) struct SharedExchanges {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    exchanges: Vec<ModelExchange>,
    closing: bool,
}

impl ModelServer {
    /// Starts a server on a port that the system picks.
    pub fn start() -> io::Result<Self> {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_io().build()?;
        let listener = runtime.block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))?;
        let address = listener.local_addr()?;
        let shared = Arc::<SharedExchanges>::default();
        let router = Router::new()
            .fallback(respond)
            .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
            .with_state(Arc::clone(&shared));
        let listener = listener.tap_io(|stream| {
            // Without it words only come later.
            stream.set_nodelay(true).ok();
        });
        runtime.spawn(async move { axum::serve(listener, router).await });
        Ok(Self { address, shared, runtime: Some(runtime) })
    }

    /// Where it listens, as the beginning of an address without a slash at its end.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Every request so far.
    pub fn exchanges(&self) -> Vec<ModelExchange> {
        self.shared.state.lock().exchanges.clone()
    }

    /// Waits until the requests are as wanted, but no longer than this. Says whether they are.
    pub fn wait(
        &self,
        patience: Duration,
        mut wanted: impl FnMut(&[ModelExchange]) -> bool,
    ) -> bool {
        let mut state = self.shared.state.lock();
        let is_other = |state: &mut State| !wanted(&state.exchanges);
        self.shared.changed.wait_while_for(&mut state, is_other, patience);
        wanted(&state.exchanges)
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.shared.state.lock().closing = true;
        self.shared.changed.notify_all();
        // Not waited for, because a test may drop the server where it must not block.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl SharedExchanges {
    /// Lets time pass, unless the server ends meanwhile. Says whether it goes on.
    fn pause(&self, time: Duration) -> bool {
        let mut state = self.state.lock();
        self.changed.wait_while_for(&mut state, |state| !state.closing, time);
        !state.closing
    }

    fn opened(&self, exchange: ModelExchange) -> usize {
        let mut state = self.state.lock();
        state.exchanges.push(exchange);
        self.changed.notify_all();
        state.exchanges.len() - 1
    }

    fn closed(&self, exchange: usize) {
        if let Some(exchange) = self.state.lock().exchanges.get_mut(exchange) {
            exchange.open = false;
        }
        self.changed.notify_all();
    }
}

/// Answers a request. A scene takes its time, so each is played by a thread of its own.
async fn respond(
    Extracted(shared): Extracted<Arc<SharedExchanges>>,
    method: Method,
    uri: Uri,
    body: Bytes,
) -> Response {
    let (mut responder, begun) = HttpResponder::new(shared);
    tokio::task::spawn_blocking(move || {
        // A client that went away needs no answer.
        answer(&method, uri.path(), &body, &mut responder).ok();
    });
    begun.await.unwrap_or_else(|_| StatusCode::INTERNAL_SERVER_ERROR.into_response())
}

fn answer(
    method: &Method,
    path: &str,
    body: &[u8],
    responder: &mut HttpResponder,
) -> io::Result<()> {
    if *method != Method::POST {
        return if path.ends_with("/models") {
            responder.json(200, &json!({"object": "list", "data": [model()], "models": []}))
        } else if path.contains("/models/") {
            responder.json(200, &model())
        } else {
            responder.json(if path == "/" { 200 } else { 404 }, &not_found())
        };
    }
    if path.ends_with("/count_tokens") {
        return responder.json(200, &json!({"input_tokens": USED.input}));
    }
    if path.ends_with(":countTokens") {
        return responder.json(200, &json!({"totalTokens": USED.input}));
    }
    let Some(dialect) = ApiDialect::of_path(path) else { return responder.json(404, &not_found()) };
    let Ok(body) = serde_json::from_slice::<Value>(body) else {
        return responder
            .json(415, &json!({"error": {"message": "no JSON that is understood here"}}));
    };
    let conversation = ModelConversation::read(dialect, &body);
    let number = responder.shared().opened(ModelExchange {
        scene: conversation.scene(),
        said: conversation.said.clone(),
        results: conversation.results.clone(),
        tools: conversation.tools.iter().map(|tool| tool.name.clone()).collect(),
        open: true,
    });
    let turn = scene::turn(&conversation);
    let done = dialect.answer(&body, path, &turn, responder);
    responder.shared().closed(number);
    done
}

fn model() -> Value {
    json!({
        "id": MODEL, "name": format!("models/{MODEL}"), "object": "model", "type": "model",
        "display_name": "Scripted", "owned_by": "script", "created": 1,
        "created_at": "2026-01-01T00:00:00Z",
    })
}

fn not_found() -> Value {
    json!({"error": {"message": "there is nothing here", "type": "not_found"}})
}
