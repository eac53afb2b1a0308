//! The page.

use axum::body::Body;
use axum::http::{HeaderValue, Method, header};
use axum::response::Response;

/// What the page may do: its own scripts and styles, and talking to us. The styles that xterm.js
/// writes are sheets its scripts construct, so nothing inline is needed.
const PAGE_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
    connect-src 'self'; img-src 'self' data:; font-src 'self'; manifest-src 'self'; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// A file of the page, if there is one at this path.
pub(super) fn file(method: &Method, path: &str) -> Option<Response> {
    if !matches!(*method, Method::GET | Method::HEAD) {
        return None;
    }
    let asset = coven_web::get(path)?;
    let body = if *method == Method::HEAD { Body::empty() } else { Body::from(asset.bytes) };
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(asset.content_type));
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(PAGE_SECURITY_POLICY));
    let cache = if asset.immutable { "public, max-age=31536000, immutable" } else { "no-cache" };
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(cache));
    Some(response)
}
