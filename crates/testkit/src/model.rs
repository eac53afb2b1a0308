//! A model server without a model: it answers agent CLIs by a script, on loopback only.
//!
//! It speaks what the CLIs speak: Anthropic messages, `OpenAI` responses and chat completions, and
//! Gemini content generation, each streamed or in one piece. Which scene is played is said by a
//! tag in the last text of the user, `play:twice` for example; [`Scene`] lists them. What was
//! asked is kept, so that a test can see what really reached the model.

mod conversation;
mod dialect;
mod http;
mod scene;

#[cfg(test)]
mod tests;

use std::io;
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde_json::{Value, json};

use conversation::ModelConversation;
use dialect::ApiDialect;
use http::{HttpRequest, HttpResponder};

pub use scene::{MODEL, PROBE, REASON, SLOW_WORDS, Scene, TAG, USED};

/// A request to the model, and how far its answer came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelExchange {
    /// The scene that its tag named. Requests without tools or tag are a program's own business
    /// (titles, summaries, suggestions) and have none.
    pub scene: Option<Scene>,
    /// Everything the user said in it, oldest first.
    pub said: Vec<String>,
    /// What came of the tool calls since the last tag, oldest first.
    pub results: Vec<String>,
    /// The tools that were offered.
    pub tools: Vec<String>,
    /// Whether the answer is still on its way.
    pub open: bool,
}

/// The server. Dropping it ends it.
#[derive(Debug)]
pub struct ModelServer {
    address: SocketAddr,
    shared: Arc<SharedExchanges>,
    listener: Option<JoinHandle<()>>,
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
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let shared = Arc::<SharedExchanges>::default();
        let theirs = shared.clone();
        let listener = thread::Builder::new()
            .name("model".to_owned())
            .spawn(move || listen(&listener, &theirs))?;
        Ok(Self { address, shared, listener: Some(listener) })
    }

    /// Where it listens, as the beginning of an address without a slash at its end.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Every request so far.
    pub fn exchanges(&self) -> Vec<ModelExchange> {
        self.shared.lock().exchanges.clone()
    }

    /// Waits until the requests are as wanted, but no longer than this. Says whether they are.
    pub fn wait(
        &self,
        patience: Duration,
        mut wanted: impl FnMut(&[ModelExchange]) -> bool,
    ) -> bool {
        let state = self.shared.lock();
        let (state, _) = self
            .shared
            .changed
            .wait_timeout_while(state, patience, |state| !wanted(&state.exchanges))
            .unwrap_or_else(PoisonError::into_inner);
        wanted(&state.exchanges)
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.shared.lock().closing = true;
        self.shared.changed.notify_all();
        // The listener waits for a connection; this one tells it to look.
        let _ = TcpStream::connect(self.address);
        if let Some(listener) = self.listener.take() {
            let _ = listener.join();
        }
    }
}

impl SharedExchanges {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets time pass, unless the server ends meanwhile. Says whether it goes on.
    fn pause(&self, time: Duration) -> bool {
        let state = self.lock();
        let (state, _) = self
            .changed
            .wait_timeout_while(state, time, |state| !state.closing)
            .unwrap_or_else(PoisonError::into_inner);
        !state.closing
    }

    fn opened(&self, exchange: ModelExchange) -> usize {
        let mut state = self.lock();
        state.exchanges.push(exchange);
        self.changed.notify_all();
        state.exchanges.len() - 1
    }

    fn closed(&self, exchange: usize) {
        if let Some(exchange) = self.lock().exchanges.get_mut(exchange) {
            exchange.open = false;
        }
        self.changed.notify_all();
    }
}

/// Takes connections until the server ends, then ends them.
fn listen(listener: &TcpListener, shared: &Arc<SharedExchanges>) {
    let mut connections: Vec<(TcpStream, JoinHandle<()>)> = Vec::new();
    for stream in listener.incoming() {
        if shared.lock().closing {
            break;
        }
        connections.retain(|(_, thread)| !thread.is_finished());
        let (Ok(stream), shared) = (stream, shared.clone()) else { continue };
        let Ok(ours) = stream.try_clone() else { continue };
        let serve = move || drop(serve(&stream, &shared));
        if let Ok(thread) = thread::Builder::new().name("model connection".to_owned()).spawn(serve)
        {
            connections.push((ours, thread));
        }
    }
    for (stream, thread) in connections {
        // One that has ended already needs no end.
        let _ = stream.shutdown(Shutdown::Both);
        let _ = thread.join();
    }
}

/// Answers one connection until either side ends it.
fn serve(stream: &TcpStream, shared: &SharedExchanges) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = io::BufReader::new(stream);
    while let Some(request) = HttpRequest::read(&mut reader, stream)? {
        let mut responder = HttpResponder::new(stream, shared);
        answer(&request, &mut responder)?;
        if responder.is_last() {
            break;
        }
    }
    stream.shutdown(Shutdown::Both)
}

fn answer(request: &HttpRequest, responder: &mut HttpResponder<'_>) -> io::Result<()> {
    let path = request.path();
    if request.method != "POST" {
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
    let Ok(body) = serde_json::from_slice::<Value>(&request.body) else {
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
