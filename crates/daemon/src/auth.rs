//! Authentication. Over the socket: processes of the same user. Over loopback: a request with the
//! token, one of our names as its host, and no foreign origin.
//!
//! A web page in the user's browser can send requests to 127.0.0.1. It cannot know the token, it
//! cannot hide its origin, and a name that was rebound to 127.0.0.1 is not one of ours. There are
//! no cookies and no permissions for other origins, so nothing a browser adds by itself helps it.

mod origin;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, header};
use axum::middleware::Next;
use axum::response::Response;
use coven_api::attach::BEARER_SUBPROTOCOL;
use coven_api::route::ROUTES;
use coven_api::{ApiProblem, ProblemCode};

use crate::answer::respond;
use crate::peer::{Caller, PeerTransport};
use crate::state::Daemon;

/// The size of all headers together.
const MAX_HEADER_BYTES: usize = 16 * 1024;

/// Refuses a request that is not allowed, and adds the caller to one that is.
pub(crate) async fn authenticate(
    State(daemon): State<Daemon>,
    mut request: Request,
    next: Next,
) -> Response {
    let admitted = match check(&daemon, &request) {
        Ok(admitted) => admitted,
        Err(problem) => return respond(&problem),
    };
    match identify(admitted).await {
        Ok(caller) => {
            request.extensions_mut().insert(caller);
            next.run(request).await
        }
        Err(problem) => respond(&problem),
    }
}

/// What an admitted request may do.
#[derive(Clone, Copy, Debug)]
struct Admitted {
    via: PeerTransport,
    /// It may change something.
    changes: bool,
    /// It does, whatever it is.
    acts: bool,
}

fn check(daemon: &Daemon, request: &Request) -> Result<Admitted, ApiProblem> {
    let headers = request.headers();
    let size: usize =
        headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum();
    if size + request.uri().to_string().len() > MAX_HEADER_BYTES {
        let detail = format!("the headers have more than {MAX_HEADER_BYTES} bytes together");
        return Err(ApiProblem::new(ProblemCode::HeadersTooLarge, detail));
    }
    refuse_token_in_url(daemon, request)?;
    let Some(&via) = request.extensions().get::<PeerTransport>() else {
        return Err(ApiProblem::new(
            ProblemCode::Internal,
            "nobody knows where this request comes from",
        ));
    };
    let changes = changes(request);
    if let PeerTransport::Tcp { local, .. } = via {
        origin::check(headers, local, changes)?;
        if !is_open(request) {
            authorize(daemon, headers)?;
        }
    }
    if daemon.service.stopping().is_cancelled() && changes {
        return Err(ApiProblem::new(ProblemCode::Stopping, "the daemon is stopping"));
    }
    // What is only checked changes nothing, whatever its method.
    let looks = matches!(*request.method(), Method::GET | Method::HEAD);
    let acts = !looks && request.uri().path() != "/grimoires/check";
    Ok(Admitted { via, changes, acts })
}

async fn identify(admitted: Admitted) -> Result<Caller, ApiProblem> {
    let caller = match admitted.via {
        // A search through all processes would hold up others on this thread.
        PeerTransport::Tcp { .. } if admitted.changes => {
            let looked = tokio::task::spawn_blocking(move || Caller::new(admitted.via, true)).await;
            looked.map_err(|error| ApiProblem::new(ProblemCode::Internal, error.to_string()))?
        }
        via => Caller::new(via, admitted.changes),
    };
    if admitted.acts {
        caller.may_change()?;
    }
    Ok(caller)
}

/// Whether a request may change something: any that is not a plain look, and conversations.
fn changes(request: &Request) -> bool {
    let looks = matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS);
    !looks || request.headers().contains_key(header::UPGRADE)
}

/// Whether a route needs no token: the page itself, and what it needs before it has one.
fn is_open(request: &Request) -> bool {
    let path = request.uri().path();
    let page = matches!(*request.method(), Method::GET | Method::HEAD)
        && (coven_web::get(path).is_some() || path == "/favicon.ico");
    let method = request.method().as_str();
    page || ROUTES
        .iter()
        .any(|route| route.open && route.path == path && route.method.as_str() == method)
}

fn refuse_token_in_url(daemon: &Daemon, request: &Request) -> Result<(), ApiProblem> {
    let query = request.uri().query().unwrap_or_default();
    let named = query.split('&').any(|pair| {
        let name = pair.split('=').next().unwrap_or_default();
        ["token", "access_token", "bearer"].iter().any(|word| name.eq_ignore_ascii_case(word))
    });
    if named || daemon.token().is_in(&request.uri().to_string()) {
        return Err(ApiProblem::new(ProblemCode::BadRequest, "a token is never taken from a URL")
            .with_hint(
                "send it as `Authorization: Bearer …`, and make a new one if this one was \
                 written down somewhere: delete the daemon's `token` file and start it again",
            ));
    }
    Ok(())
}

fn authorize(daemon: &Daemon, headers: &HeaderMap) -> Result<(), ApiProblem> {
    let shown = bearer(headers).or_else(|| subprotocol(headers));
    match shown {
        Some(token) if daemon.token().is(token) => Ok(()),
        Some(_) => Err(ApiProblem::new(ProblemCode::Unauthorized, "the token is wrong")
            .with_hint("it is in the daemon's `token` file; `coven ui` opens a page that has it")),
        None => Err(ApiProblem::new(ProblemCode::Unauthorized, "there is no token")
            .with_hint("send `Authorization: Bearer` with what is in the daemon's `token` file")),
    }
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// A page cannot set headers of a WebSocket, so it names the token among the subprotocols.
fn subprotocol(headers: &HeaderMap) -> Option<&str> {
    let lists = headers.get_all(header::SEC_WEBSOCKET_PROTOCOL).iter();
    let names = lists.filter_map(|list| list.to_str().ok()).flat_map(|list| list.split(','));
    names.map(str::trim).find_map(|name| name.strip_prefix(BEARER_SUBPROTOCOL))
}
