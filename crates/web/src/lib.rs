//! The page, as bytes.
//!
//! `web/dist` is built by `cargo xtask web` and committed, so that building the daemon needs
//! no other tool. Here it becomes part of the program. Who serves it decides about headers; this
//! crate says what a file is and whether it may be kept for ever.

use std::borrow::Cow;

use rust_embed::RustEmbed;

#[derive(RustEmbed)]
#[folder = "../../web/dist"]
#[exclude = "*.sha256"]
struct Dist;

/// One file of the page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asset {
    pub bytes: Cow<'static, [u8]>,
    /// What that is, as a header says it.
    pub content_type: &'static str,
    /// Whether its name changes with what it holds, so that browsers may keep it for ever.
    pub immutable: bool,
}

/// The file at a path such as `/`, `/index.html` or `/assets/app.js`, with or without the first
/// slash; nothing if there is none. The page keeps its own places in the fragment, so `/` is the
/// only path that shows it.
pub fn get(path: &str) -> Option<Asset> {
    let path = match path.strip_prefix('/').unwrap_or(path) {
        "" => "index.html",
        path => path,
    };
    let file = Dist::get(path)?;
    Some(Asset {
        bytes: file.data,
        content_type: content_type(path),
        immutable: path.starts_with("assets/"),
    })
}

/// The paths of all files there are.
pub fn paths() -> impl Iterator<Item = Cow<'static, str>> {
    Dist::iter()
}

fn content_type(path: &str) -> &'static str {
    match path.rsplit_once('.').map(|(_, extension)| extension) {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("json" | "webmanifest") => "application/json",
        Some("png") => "image/png",
        Some("woff2") => "font/woff2",
        Some("wasm") => "application/wasm",
        Some("txt") => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index() -> String {
        let asset = get("/").expect("there is a page");
        String::from_utf8(asset.bytes.into_owned()).expect("it is text")
    }

    #[test]
    fn the_page_is_found_under_each_of_its_names() {
        for path in ["", "/", "index.html", "/index.html"] {
            let asset = get(path).expect(path);
            assert_eq!(asset.content_type, "text/html; charset=utf-8");
            assert!(!asset.immutable, "the page itself is asked for anew each time");
        }
    }

    #[test]
    fn what_is_not_there_is_nothing_and_no_path_leads_outside() {
        for path in ["/nothing.js", "/../Cargo.toml", "/assets/../../package.json", "//etc/passwd"]
        {
            assert_eq!(get(path), None, "{path}");
        }
    }

    #[test]
    fn the_page_has_no_script_or_style_of_its_own_and_asks_no_other_host() {
        let index = index();
        assert!(!index.contains("http://") && !index.contains("https://"), "{index}");
        assert!(!index.contains("<style") && !index.contains(" style="), "{index}");
        for script in index.split("<script").skip(1) {
            assert!(script.contains("src=\"/") && script.contains("></script>"), "{script}");
        }
    }

    #[test]
    fn every_file_is_of_a_known_kind() {
        for path in paths() {
            let asset = get(&path).expect("it was listed");
            assert_ne!(asset.content_type, "application/octet-stream", "{path}");
        }
    }
}
