//! Messages of an agent that cannot be read: too long, too deep, or not JSON. What waits for an
//! answer gets an error; where none can be given, a person is told.

use serde::de::IgnoredAny;

use super::ChannelKind;
use super::fold::ChannelSink;
use super::question::RequestId;
use crate::transcript::LINE_LIMIT;
use crate::transcript::json::{JsonNode, parse};

/// How deep JSON is read. Deeper nesting would need a stack without measure.
pub(super) const MAX_DEPTH: usize = 127;

/// Most messages of one line that are read one by one. There should be one.
const MAX_MESSAGES: usize = 16;

/// What the beginning of a message says, as far as it can be made out.
#[derive(Debug, Default)]
struct MessageHead<'a> {
    id: Option<&'a [u8]>,
    /// The method, or the type of a message of Claude.
    name: Option<String>,
    /// The subtype of a request of Claude.
    subtype: Option<String>,
    has_params: bool,
    is_response: bool,
    /// How deep its values are nested, as far as they are there.
    depth: usize,
    /// Where it ends; nothing if it does not.
    end: Option<usize>,
}

impl<'a> MessageHead<'a> {
    fn read(kind: ChannelKind, bytes: &'a [u8]) -> Self {
        let mut head = Self::default();
        let mut depth = 0;
        let is_claude = kind == ChannelKind::ClaudeStdio;
        head.end = fields(bytes, &mut depth, |name, value| match (is_claude, name) {
            (true, b"request_id") | (false, b"id") => head.id = Some(value),
            (true, b"type") | (false, b"method") => head.name = text(value),
            (true, b"request") => {
                // It may be cut: what stands at its beginning counts.
                let _: Option<usize> = fields(value, &mut 0, |name, value| {
                    if name == b"subtype" {
                        head.subtype = text(value);
                    }
                });
            }
            (false, b"params") => head.has_params = true,
            (false, b"result" | b"error") => head.is_response = true,
            _ => {}
        });
        head.depth = depth;
        head
    }

    /// The id and the name of a request, which waits for its answer.
    fn request(&self, kind: ChannelKind) -> Option<(RequestId, &str)> {
        let name = match (kind, self.name.as_deref()) {
            (ChannelKind::ClaudeStdio, Some("control_request")) => {
                self.subtype.as_deref().unwrap_or("control_request")
            }
            (ChannelKind::ClaudeStdio, _) => return None,
            (_, Some(name)) => name,
            (_, None) if self.has_params && !self.is_response => "the request",
            (_, None) => return None,
        };
        let id = parse(self.id?)?;
        Some((RequestId::read(JsonNode::read(Some(&id)))?, name))
    }

    /// Whether the agent waits for something, or has said the end of something, of which nothing
    /// is known without this message.
    fn matters(&self, kind: ChannelKind, omitted: u64) -> bool {
        match (kind, self.name.as_deref()) {
            (ChannelKind::ClaudeStdio, Some(name)) => {
                matches!(name, "control_request" | "control_response" | "result")
            }
            (_, Some("turn/completed")) => true,
            (_, Some(name)) => self.end.is_none() && name.to_ascii_lowercase().contains("request"),
            (_, None) => self.is_response || omitted > 0,
        }
    }
}

/// The messages that stand in one line, one behind another, and what is behind them; nothing if
/// there is but one.
pub(super) fn messages(bytes: &[u8]) -> Option<(Vec<&[u8]>, &[u8])> {
    let (mut found, mut rest) = (Vec::new(), bytes);
    while found.len() < MAX_MESSAGES
        && let Some(end) = fields(rest, &mut 0, |_, _| ())
    {
        found.push(&rest[..end]);
        rest = rest[end..].trim_ascii();
    }
    let is_several = found.len() > 1 || (found.len() == 1 && rest.starts_with(b"{"));
    is_several.then_some((found, rest))
}

/// Answers a line that is no message with an error, or tells why it could not be read.
pub(super) fn answer(kind: ChannelKind, bytes: &[u8], omitted: u64, out: &mut ChannelSink<'_>) {
    if !bytes.starts_with(b"{") {
        return;
    }
    let head = MessageHead::read(kind, bytes);
    let why = || why(bytes, omitted, head.depth);
    match head.request(kind) {
        Some((id, name)) => out.refuse_for(id, name, Some(why())),
        None if head.matters(kind, omitted) => {
            let name = head.name.as_deref().map(|name| format!(" ({name})")).unwrap_or_default();
            let why = why();
            out.unread(format!(
                "the agent said something that could not be read{name}: {why}. If it asked \
                 something, it has got no answer"
            ));
        }
        None => {}
    }
}

/// Why a message cannot be read.
fn why(bytes: &[u8], omitted: u64, depth: usize) -> String {
    if omitted > 0 {
        let limit = LINE_LIMIT >> 20;
        return format!("it is longer than {limit} MiB");
    }
    if depth > MAX_DEPTH {
        return format!("it is nested {depth} levels deep, and {MAX_DEPTH} are read");
    }
    match serde_json::from_slice::<IgnoredAny>(bytes) {
        Err(error) => format!("it is no JSON ({error})"),
        Ok(_) => "it has too many values, or a number that is too large".to_owned(),
    }
}

fn text(value: &[u8]) -> Option<String> {
    Some(JsonNode::read(Some(&parse(value)?)).str()?.to_owned())
}

/// Reads the fields of an object, of which a value may be anything and the last may be cut, and
/// gives where the object ends. It is called for every message that cannot be read otherwise: it
/// keeps nothing and does not call itself.
fn fields<'a>(
    bytes: &'a [u8],
    depth: &mut usize,
    mut each: impl FnMut(&'a [u8], &'a [u8]),
) -> Option<usize> {
    let mut at = bytes.starts_with(b"{").then_some(1)?;
    *depth = 1;
    loop {
        at = after_blanks(bytes, at);
        match bytes.get(at)? {
            b'}' => return Some(at + 1),
            b',' => at += 1,
            b'"' => {
                let name_end = text_end(bytes, at)?;
                let name = &bytes[at + 1..name_end - 1];
                at = after_blanks(bytes, name_end);
                if *bytes.get(at)? != b':' {
                    return None;
                }
                let begin = after_blanks(bytes, at + 1);
                let end = value_end(bytes, begin, depth);
                each(name, &bytes[begin..end.unwrap_or(bytes.len())]);
                at = end?;
            }
            _ => return None,
        }
    }
}

fn after_blanks(bytes: &[u8], at: usize) -> usize {
    let blanks = bytes.iter().skip(at).take_while(|byte| byte.is_ascii_whitespace());
    (at + blanks.count()).min(bytes.len())
}

/// Where the text ends that begins here; nothing if it is cut.
fn text_end(bytes: &[u8], at: usize) -> Option<usize> {
    let mut at = at + 1;
    loop {
        match bytes.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// Where the value ends that begins here, and how deep it makes its object; nothing if it is cut.
fn value_end(bytes: &[u8], begin: usize, depth: &mut usize) -> Option<usize> {
    let (mut at, mut open) = (begin, 0_usize);
    loop {
        match bytes.get(at)? {
            b'"' => at = text_end(bytes, at)?,
            b'{' | b'[' => {
                open += 1;
                *depth = (*depth).max(open + 1);
                at += 1;
            }
            b'}' | b']' if open > 0 => {
                open -= 1;
                at += 1;
            }
            b',' | b'}' | b']' if open == 0 => return Some(at),
            _ => at += 1,
        }
        if open == 0 && matches!(bytes[begin], b'"' | b'{' | b'[') {
            return Some(at);
        }
    }
}
