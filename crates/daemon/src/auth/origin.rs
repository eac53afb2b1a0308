//! Whether a request over loopback comes from where it may: our own page, or no page at all.

use std::net::SocketAddr;

use axum::http::{HeaderMap, HeaderName, header};
use coven_api::{ApiProblem, ProblemCode};

/// Names of this machine that cannot be made to mean another.
const LOCAL_HOSTS: [&str; 3] = ["127.0.0.1", "localhost", "[::1]"];

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
    local: SocketAddr,
    kind: RequestKind,
) -> Result<(), ApiProblem> {
    let port = local.port();
    let host = one(headers, &header::HOST)?;
    if !host.is_some_and(|host| is_ours(host, port)) {
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
    LOCAL_HOSTS.iter().any(|name| {
        let rest = host.get(..name.len()).filter(|start| start.eq_ignore_ascii_case(name));
        rest.and_then(|_| host[name.len()..].strip_prefix(':')) == Some(port.to_string().as_str())
    })
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
        check(&headers, "127.0.0.1:7717".parse().unwrap(), kind).is_ok()
    }

    #[test]
    fn a_link_of_another_site_opens_the_page_in_a_tab_and_nothing_else() {
        let checked = |kind, mode: &str, to: &str| {
            let mut headers = HeaderMap::new();
            headers.insert("host", "127.0.0.1:7717".parse().unwrap());
            headers.insert("sec-fetch-site", "cross-site".parse().unwrap());
            headers.insert("sec-fetch-mode", mode.parse().unwrap());
            headers.insert("sec-fetch-dest", to.parse().unwrap());
            check(&headers, "127.0.0.1:7717".parse().unwrap(), kind).is_ok()
        };
        assert!(checked(RequestKind::Page, "navigate", "document"));
        assert!(!checked(RequestKind::Page, "navigate", "iframe"));
        assert!(!checked(RequestKind::Page, "no-cors", "script"));
        assert!(!checked(RequestKind::Look, "navigate", "document"));
        assert!(!checked(RequestKind::Change, "navigate", "document"));
    }

    #[test]
    fn only_our_own_names_with_our_own_port_are_us() {
        for host in ["127.0.0.1:7717", "localhost:7717", "LOCALHOST:7717", "[::1]:7717"] {
            assert!(checked(&[("host", host)], true), "{host}");
        }
        for host in [
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
        assert!(!checked(&[("host", "localhost:7717"), ("host", "evil:7717")], false));
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
