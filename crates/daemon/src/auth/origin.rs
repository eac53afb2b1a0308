//! Whether a request over loopback comes from where it may: our own page, or no page at all.

use std::net::SocketAddr;

use axum::http::{HeaderMap, HeaderName, Uri, header};
use coven_api::{ApiProblem, ProblemCode};

/// The only address that is ours: the daemon listens there and nowhere else.
const OWN_ADDRESS: &str = "127.0.0.1";

/// Other names of this machine. Another user may listen on our port under them, so a browser must
/// keep nothing of ours there: it is sent to our own address, and nothing else is answered.
const OTHER_NAMES: [&str; 2] = ["localhost", "[::1]"];

/// Headers that browsers send by themselves and programs do not.
const BROWSER_HEADERS: [&str; 6] = [
    "sec-fetch-site",
    "sec-fetch-mode",
    "sec-fetch-dest",
    "sec-ch-ua",
    "upgrade-insecure-requests",
    "referer",
];

/// What a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RequestKind {
    /// It reads something.
    Look,
    /// It reads the page itself, which is the same for everybody.
    Page,
    /// It may change something, or opens a conversation.
    Change,
}

/// Turns away foreign hosts, foreign origins, and what a browser sends on behalf of others.
pub(super) fn check(
    headers: &HeaderMap,
    uri: &Uri,
    local: SocketAddr,
    kind: RequestKind,
) -> Result<(), ApiProblem> {
    let port = local.port();
    let host = one(headers, &header::HOST)?;
    // A request may name its host in two places, and both count.
    let named = uri.authority().is_none_or(|authority| is_ours(authority.as_str(), port));
    if !named || !host.is_some_and(|host| is_ours(host, port)) {
        return Err(forbidden("the host of the request is not this daemon")
            .with_hint(format!("ask for http://127.0.0.1:{port}")));
    }
    if let Some(origin) = one(headers, &header::ORIGIN)? {
        let ours = origin.strip_prefix("http://").is_some_and(|host| is_ours(host, port));
        if !ours {
            return Err(forbidden("the request comes from another origin"));
        }
    } else if kind == RequestKind::Change
        && BROWSER_HEADERS.iter().any(|name| headers.contains_key(*name))
    {
        return Err(forbidden("a browser sent this without saying from which page"));
    }
    let site = HeaderName::from_static("sec-fetch-site");
    match one(headers, &site)? {
        None | Some("same-origin" | "none") => Ok(()),
        // A link of another site, or our own file that leads to the page, may open it in a tab. It
        // cannot be framed, and the site that opened it has no hold on it.
        Some(_) if kind == RequestKind::Page && is_navigation(headers)? => Ok(()),
        Some(_) => Err(forbidden("a page of another site sent this")),
    }
}

/// Turns away every browser, our own page included: only programs may send this.
pub(super) fn refuse_browsers(headers: &HeaderMap) -> Result<(), ApiProblem> {
    let has_origin = headers.contains_key(header::ORIGIN);
    if has_origin || BROWSER_HEADERS.iter().any(|name| headers.contains_key(*name)) {
        return Err(forbidden("no page may send this"));
    }
    Ok(())
}

/// Whether a browser opens the answer as a page of its own, in a tab.
fn is_navigation(headers: &HeaderMap) -> Result<bool, ApiProblem> {
    let mode = one(headers, &HeaderName::from_static("sec-fetch-mode"))?;
    let to = one(headers, &HeaderName::from_static("sec-fetch-dest"))?;
    Ok(mode == Some("navigate") && to == Some("document"))
}

/// A header that may be there once.
fn one<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, ApiProblem> {
    let mut values = headers.get_all(name).iter();
    let Some(first) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(forbidden(&format!("the header `{name}` is there more than once")));
    }
    let text = first.to_str().map_err(|_| forbidden(&format!("the header `{name}` is no text")))?;
    Ok(Some(text))
}

fn is_ours(host: &str, port: u16) -> bool {
    is_named(host, OWN_ADDRESS, port)
}

/// Whether a host is this name with this port.
fn is_named(host: &str, name: &str, port: u16) -> bool {
    let rest = host.get(..name.len()).filter(|start| start.eq_ignore_ascii_case(name));
    rest.and_then(|_| host[name.len()..].strip_prefix(':')) == Some(port.to_string().as_str())
}

/// Where a browser is sent that asks for the page under another name of this machine.
pub(super) fn own_page(
    headers: &HeaderMap,
    local: SocketAddr,
    kind: RequestKind,
) -> Option<String> {
    let host = one(headers, &header::HOST).ok()??;
    let port = local.port();
    let elsewhere = OTHER_NAMES.iter().any(|name| is_named(host, name, port));
    (elsewhere && kind == RequestKind::Page).then(|| format!("http://{OWN_ADDRESS}:{port}/"))
}

fn forbidden(detail: &str) -> ApiProblem {
    ApiProblem::new(ProblemCode::Forbidden, detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(pairs: &[(&'static str, &str)], changes: bool) -> bool {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, value.parse().unwrap());
        }
        let kind = if changes { RequestKind::Change } else { RequestKind::Look };
        check(&headers, &Uri::from_static("/"), "127.0.0.1:7717".parse().unwrap(), kind).is_ok()
    }

    #[test]
    fn a_link_of_another_site_opens_the_page_in_a_tab_and_nothing_else() {
        let checked = |kind, mode: &str, to: &str| {
            let mut headers = HeaderMap::new();
            headers.insert("host", "127.0.0.1:7717".parse().unwrap());
            headers.insert("sec-fetch-site", "cross-site".parse().unwrap());
            headers.insert("sec-fetch-mode", mode.parse().unwrap());
            headers.insert("sec-fetch-dest", to.parse().unwrap());
            let address = "127.0.0.1:7717".parse().unwrap();
            check(&headers, &Uri::from_static("/"), address, kind).is_ok()
        };
        assert!(checked(RequestKind::Page, "navigate", "document"));
        assert!(!checked(RequestKind::Page, "navigate", "iframe"));
        assert!(!checked(RequestKind::Page, "no-cors", "script"));
        assert!(!checked(RequestKind::Look, "navigate", "document"));
        assert!(!checked(RequestKind::Change, "navigate", "document"));
    }

    #[test]
    fn only_our_own_names_with_our_own_port_are_us() {
        assert!(checked(&[("host", "127.0.0.1:7717")], true));
        for host in [
            "localhost:7717",
            "LOCALHOST:7717",
            "[::1]:7717",
            "evil.example:7717",
            "127.0.0.1",
            "127.0.0.1:80",
            "127.0.0.1.evil:7717",
            "localhost:77170",
            "",
        ] {
            assert!(!checked(&[("host", host)], true), "{host}");
        }
        assert!(!checked(&[], false));
        let mut headers = HeaderMap::new();
        headers.insert("host", "127.0.0.1:7717".parse().unwrap());
        for (uri, is_ours) in
            [("http://127.0.0.1:7717/status", true), ("http://evil.example/status", false)]
        {
            let (uri, address) = (Uri::from_static(uri), "127.0.0.1:7717".parse().unwrap());
            assert_eq!(check(&headers, &uri, address, RequestKind::Look).is_ok(), is_ours);
        }
        assert!(!checked(&[("host", "127.0.0.1:7717"), ("host", "evil:7717")], false));
    }

    #[test]
    fn a_browser_that_asks_for_the_page_under_another_name_is_sent_to_our_address() {
        let sent = |host: &str, kind| {
            let mut headers = HeaderMap::new();
            headers.insert("host", host.parse().unwrap());
            own_page(&headers, "127.0.0.1:7717".parse().unwrap(), kind)
        };
        for host in ["localhost:7717", "LocalHost:7717", "[::1]:7717"] {
            let page = sent(host, RequestKind::Page);
            assert_eq!(page.as_deref(), Some("http://127.0.0.1:7717/"), "{host}");
            assert_eq!(sent(host, RequestKind::Look), None);
            assert_eq!(sent(host, RequestKind::Change), None);
        }
        for host in
            ["127.0.0.1:7717", "localhost:1", "localhost", "localhost.evil:7717", "evil:7717"]
        {
            assert_eq!(sent(host, RequestKind::Page), None, "{host}");
        }
    }

    #[test]
    fn only_our_own_page_is_let_in_and_a_browser_must_say_where_it_is() {
        let host = ("host", "127.0.0.1:7717");
        assert!(checked(&[host, ("origin", "http://127.0.0.1:7717")], true));
        assert!(checked(&[host, ("sec-fetch-site", "none")], false));
        for origin in
            ["http://evil.example", "null", "https://127.0.0.1:7717", "http://127.0.0.1:8080"]
        {
            assert!(!checked(&[host, ("origin", origin)], true), "{origin}");
        }
        assert!(!checked(&[host, ("sec-fetch-site", "same-origin")], true));
        assert!(!checked(&[host, ("referer", "http://127.0.0.1:7717/")], true));
        for site in ["cross-site", "same-site"] {
            assert!(!checked(&[host, ("sec-fetch-site", site)], false), "{site}");
        }
    }
}
