//! Authentication. Over the socket: processes of the same user. Over loopback: a request with a
//! token of a device whose role is enough, one of our names as its host, and no foreign origin.
//!
//! A web page in the user's browser can send requests to 127.0.0.1. It cannot know a token, it
//! cannot hide its origin, and a name that was rebound to 127.0.0.1 is not one of ours. There are
//! no cookies and no permissions for other origins, so nothing a browser adds by itself helps it.

mod origin;

use std::sync::Arc;

use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};
use coven_api::attach::BEARER_SUBPROTOCOL;
use coven_api::device::DeviceRole;
use coven_api::route::{ROUTES, RouteAccess};
use coven_api::{ApiProblem, ProblemCode};

use crate::answer::respond;
use crate::device::{DeviceConnection, DeviceGrant};
use crate::peer::{Caller, PeerTransport};
use crate::route::device::now;
use crate::secret::has_token;
use crate::state::Daemon;

/// The size of all headers together.
const MAX_HEADER_BYTES: usize = 16 * 1024;

/// Refuses a request that is not allowed, and adds the caller to one that is.
pub(crate) async fn authenticate(
    State(daemon): State<Daemon>,
    mut request: Request,
    next: Next,
) -> Response {
    if let Some(page) = own_page(&request) {
        return Redirect::permanent(&page).into_response();
    }
    let admitted = match check(&daemon, &request) {
        Ok(admitted) => admitted,
        Err(problem) => return respond(&problem),
    };
    // An agent that reports is nobody who could ask for more: no handler finds a caller.
    if admitted.access == RouteAccess::Report {
        return next.run(request).await;
    }
    match identify(&daemon, admitted).await {
        Ok(caller) => {
            request.extensions_mut().insert(caller);
            next.run(request).await
        }
        Err(problem) => respond(&problem),
    }
}

/// Where a request is sent that asks for the page under another name of this machine.
fn own_page(request: &Request) -> Option<String> {
    match request.extensions().get::<PeerTransport>()? {
        PeerTransport::Tcp { local, .. } => {
            origin::own_page(request.headers(), *local, kind_of(request))
        }
        PeerTransport::Socket { .. } => None,
    }
}

/// What an admitted request may do.
#[derive(Clone, Debug)]
struct Admitted {
    via: PeerTransport,
    /// The device that showed itself, over loopback.
    device: Option<DeviceGrant>,
    access: RouteAccess,
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
    refuse_token_in_url(request)?;
    let Some(&via) = request.extensions().get::<PeerTransport>() else {
        return Err(ApiProblem::new(
            ProblemCode::Internal,
            "nobody knows where this request comes from",
        ));
    };
    let (changes, access) = (changes(request), access(request));
    let mut device = None;
    if let PeerTransport::Tcp { local, .. } = via {
        origin::check(headers, request.uri(), local, kind_of(request))?;
        if access == RouteAccess::Report {
            origin::refuse_browsers(headers)?;
        } else if access != RouteAccess::Open {
            device = Some(authorize(daemon, request)?);
        }
    }
    if access == RouteAccess::Report && matches!(via, PeerTransport::Socket { .. }) {
        let detail = "agents report over the daemon's address on loopback";
        return Err(ApiProblem::new(ProblemCode::Forbidden, detail));
    }
    if daemon.service.stopping().is_cancelled() && changes {
        return Err(ApiProblem::new(ProblemCode::Stopping, "the daemon is stopping"));
    }
    // What is only checked changes nothing, whatever its method.
    let looks = matches!(*request.method(), Method::GET | Method::HEAD);
    let acts = !looks && request.uri().path() != "/grimoires/check";
    Ok(Admitted { via, device, access, changes, acts })
}

async fn identify(daemon: &Daemon, admitted: Admitted) -> Result<Caller, ApiProblem> {
    let Admitted { via, device, access, changes, acts } = admitted;
    let registry = daemon.service.holders();
    let caller = if changes {
        // A search through all processes would hold up others on this thread.
        coven_service::blocking_work(move || Caller::new(via, device, true, &registry)).await
    } else {
        Caller::new(via, device, false, &registry)
    };
    if acts {
        caller.may_change()?;
    }
    match (access, via) {
        (RouteAccess::Socket, PeerTransport::Tcp { .. }) => {
            return Err(ApiProblem::new(
                ProblemCode::Forbidden,
                "this is there only over the daemon's socket, whatever the device",
            )
            .with_hint("use `coven`, or ask the socket"));
        }
        (RouteAccess::Device(role), _) => caller.may(role)?,
        _ => {}
    }
    Ok(caller)
}

/// Whether a request may change something: any that is not a plain look, and conversations.
fn changes(request: &Request) -> bool {
    let looks = matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS);
    !looks || request.headers().contains_key(header::UPGRADE)
}

/// Who may ask this. What no route is for needs a device that may look, so that strangers learn
/// nothing from what is there and what is not.
fn access(request: &Request) -> RouteAccess {
    if is_page(request) {
        return RouteAccess::Open;
    }
    let path = request.extensions().get::<MatchedPath>().map(MatchedPath::as_str);
    let method = match request.method() {
        &Method::HEAD => "GET",
        method => method.as_str(),
    };
    let route =
        ROUTES.iter().find(|route| Some(route.path) == path && route.method.as_str() == method);
    route.map_or(RouteAccess::Device(DeviceRole::Look), |route| route.access)
}

/// Whether a request is for a file of the page.
fn is_page(request: &Request) -> bool {
    let path = request.uri().path();
    matches!(*request.method(), Method::GET | Method::HEAD)
        && (coven_web::get(path).is_some() || path == "/favicon.ico")
}

/// What a request is, for the check of where it comes from.
fn kind_of(request: &Request) -> origin::RequestKind {
    if changes(request) {
        origin::RequestKind::Change
    } else if is_page(request) && matches!(request.uri().path(), "/" | "/index.html") {
        origin::RequestKind::Page
    } else {
        origin::RequestKind::Look
    }
}

fn refuse_token_in_url(request: &Request) -> Result<(), ApiProblem> {
    let query = request.uri().query().unwrap_or_default();
    let named = query.split('&').any(|pair| {
        let name = pair.split('=').next().unwrap_or_default();
        ["token", "access_token", "bearer"].iter().any(|word| name.eq_ignore_ascii_case(word))
    });
    let url = request.uri().to_string();
    if named || has_token(&url) || has_token(&percent_decoded(&url)) {
        return Err(ApiProblem::new(ProblemCode::BadRequest, "a token is never taken from a URL")
            .with_hint(
                "send it as `Authorization: Bearer …`; if it was written down somewhere, remove \
                 its device (`coven device rm NAME`) and add another",
            ));
    }
    Ok(())
}

/// A URL with its escaped characters as they are.
fn percent_decoded(url: &str) -> String {
    let mut parts = url.split('%');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let code = part.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match code {
            Some(code) => {
                text.push(char::from(code));
                text.push_str(&part[2..]);
            }
            None => text.push_str(part),
        }
    }
    text
}

/// The device whose token a request shows. Its connection ends with the device from now on.
fn authorize(daemon: &Daemon, request: &Request) -> Result<DeviceGrant, ApiProblem> {
    let headers = request.headers();
    let unauthorized = |detail: &str| {
        ApiProblem::new(ProblemCode::Unauthorized, detail).with_hint(
            "for a program: coven device add NAME --token; for a browser: coven ui; the socket \
             needs neither",
        )
    };
    let token = bearer(headers).or_else(|| subprotocol(headers));
    let token = token.ok_or_else(|| unauthorized("there is no token of a device"))?;
    let wrong = || unauthorized("the token is not one of a device, or its device was removed");
    let device = daemon.devices().authenticate(token).ok_or_else(wrong)?;
    if let Some(connection) = request.extensions().get::<Arc<DeviceConnection>>() {
        daemon.devices().attach(&device.id, connection).ok_or_else(wrong)?;
    }
    note_use(daemon, &device);
    Ok(device)
}

/// Takes note of when a device was last used, now and then, without waiting for the disk.
fn note_use(daemon: &Daemon, device: &DeviceGrant) {
    if !daemon.devices().store().is_last_use_old(&device.id, now()) {
        return;
    }
    let (devices, id) = (daemon.devices().clone(), device.id.clone());
    daemon.service.spawn(async move {
        let noted = tokio::task::spawn_blocking(move || devices.store().note_use(&id, now())).await;
        if let Ok(Err(error)) = noted {
            tracing::warn!("the last use of a device is not kept: {error}");
        }
    });
}

pub(crate) fn bearer(headers: &HeaderMap) -> Option<&str> {
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
