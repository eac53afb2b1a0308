//! Operating system commands to signals.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;

use super::{ProgramStatus, PromptMark, TerminalSignal};

/// Longest link target that is kept, as in other terminals.
const MAX_URI: usize = 2083;

/// The signal in an OSC payload, if it is one of ours and well formed.
pub(crate) fn read(payload: &[u8]) -> Option<TerminalSignal> {
    let text = str::from_utf8(payload).ok()?;
    let (number, rest) = text.split_once(';')?;
    match number {
        "0" | "2" => Some(TerminalSignal::Title(plain(rest))),
        "7" => directory(rest),
        "8" => link(rest),
        "9" => notification_9(rest),
        "99" => notification_99(rest),
        "133" => mark(rest).map(TerminalSignal::Prompt),
        "777" => notification_777(rest),
        "7501" if rest == "?" => Some(TerminalSignal::StatusQuery),
        "7501" => ProgramStatus::read(rest).map(TerminalSignal::Status),
        _ => None,
    }
}

/// Text without control characters: a payload may carry them (tab, line feed, C1).
fn plain(text: &str) -> String {
    text.chars().filter(|char| !char.is_control()).collect()
}

/// Base64 with or without padding, as text.
pub(super) fn decode(text: &str) -> Option<String> {
    let bytes = STANDARD_NO_PAD.decode(text.trim_end_matches('=')).ok()?;
    String::from_utf8(bytes).ok().map(|text| plain(&text))
}

fn directory(text: &str) -> Option<TerminalSignal> {
    let path = plain(text);
    (path.starts_with('/') || path.starts_with("file://"))
        .then_some(TerminalSignal::Directory(path))
}

fn link(text: &str) -> Option<TerminalSignal> {
    let (params, uri) = text.split_once(';')?;
    if uri.is_empty() {
        return Some(TerminalSignal::LinkEnd);
    }
    if uri.len() > MAX_URI || uri.chars().any(char::is_control) {
        return None;
    }
    let id = params.split(':').find_map(|param| param.strip_prefix("id="));
    Some(TerminalSignal::Link {
        id: id.filter(|id| !id.is_empty()).map(plain),
        uri: uri.to_owned(),
    })
}

/// OSC 9 is a notification, unless it begins with a sub-command: 4 is progress, 9 a directory.
fn notification_9(text: &str) -> Option<TerminalSignal> {
    match text.split_once(';') {
        Some(("4", rest)) => progress(rest),
        Some(("9", path)) => directory(path.trim_matches('"')),
        _ if text == "4" || text.is_empty() => None,
        _ => Some(TerminalSignal::Notification { title: None, body: plain(text) }),
    }
}

fn progress(text: &str) -> Option<TerminalSignal> {
    let (state, value) = text.split_once(';').unwrap_or((text, "0"));
    match state {
        "0" => Some(TerminalSignal::Progress(None)),
        "1" | "2" | "3" | "4" => {
            let value: u8 = if value.is_empty() { 0 } else { value.parse().ok()? };
            (value <= 100).then_some(TerminalSignal::Progress(Some(value)))
        }
        _ => None,
    }
}

/// OSC 99 (kitty): `key=value:…;payload`. Only title and body texts are signals; queries, icons
/// and buttons are not.
fn notification_99(text: &str) -> Option<TerminalSignal> {
    let (metadata, payload) = text.split_once(';')?;
    let value = |key: &str| {
        metadata.split(':').filter_map(|pair| pair.split_once('=')).find(|(k, _)| *k == key)
    };
    let text = match value("e") {
        Some((_, "1")) => decode(payload)?,
        _ => plain(payload),
    };
    match value("p").map_or("title", |(_, part)| part) {
        "title" if !text.is_empty() => {
            Some(TerminalSignal::Notification { title: Some(text), body: String::new() })
        }
        "body" => Some(TerminalSignal::Notification { title: None, body: text }),
        _ => None,
    }
}

fn notification_777(text: &str) -> Option<TerminalSignal> {
    let rest = text.strip_prefix("notify;")?;
    let (title, body) = rest.split_once(';').unwrap_or((rest, ""));
    Some(TerminalSignal::Notification { title: Some(plain(title)), body: plain(body) })
}

fn mark(text: &str) -> Option<PromptMark> {
    let mut parts = text.split(';');
    match parts.next()? {
        "A" => Some(PromptMark::PromptStart),
        "B" => Some(PromptMark::CommandStart),
        "C" => Some(PromptMark::OutputStart),
        "D" => Some(PromptMark::CommandEnd(parts.next().and_then(|code| code.parse().ok()))),
        _ => None,
    }
}
