//! Ids of requests as their agents wrote them.
//!
//! An agent finds its question by the id of the answer. A number that is read as a number and
//! written again may be another text: `18446744073709551616` becomes a fraction, `1e2` becomes
//! `100.0`. So an id that is neither text nor an ordinary number is taken from the line as it stands
//! there.

use std::borrow::Cow;

use crate::transcript::json::JsonValue;

/// Where the protocols have ids of requests.
const PLACES: [&[&str]; 4] =
    [&["id"], &["request_id"], &["response", "request_id"], &["params", "requestId"]];

/// Puts the text of the line in the place of every id in it that would not be written the same
/// again.
pub(super) fn keep_exact(message: &mut JsonValue<'_>, line: &[u8]) {
    for place in PLACES {
        let Some(id) = at(message, place).filter(|id| !id.is_written_the_same()) else { continue };
        if let Some(text) = text_at(line, place) {
            *id = JsonValue::Exact(text);
        }
    }
}

fn at<'a, 'b>(message: &'a mut JsonValue<'b>, place: &[&str]) -> Option<&'a mut JsonValue<'b>> {
    place.iter().try_fold(message, |value, name| value.field_mut(name))
}

/// What stands at a place of a line that is known to be a message.
fn text_at(line: &[u8], place: &[&str]) -> Option<String> {
    let line = String::from_utf8_lossy(line);
    let found = place.iter().try_fold(&*line, |value, name| member(value, name))?;
    Some(found.to_owned())
}

/// The value of the last member with this name, as it is written in an object.
fn member<'a>(object: &'a str, name: &str) -> Option<&'a str> {
    let mut rest = object.trim_start().strip_prefix('{')?.trim_start();
    let mut found = None;
    while rest.starts_with('"') {
        let (key, after) = rest.split_at(end_of_value(rest));
        let value = after.trim_start().strip_prefix(':')?.trim_start();
        let (value, after) = value.split_at(end_of_value(value));
        if serde_json::from_str::<Cow<'_, str>>(key).is_ok_and(|key| key == name) {
            found = Some(value);
        }
        rest = after.trim_start().strip_prefix(',').unwrap_or_default().trim_start();
    }
    found
}

/// Where the JSON value at the beginning of a text ends.
fn end_of_value(text: &str) -> usize {
    let (mut depth, mut in_text, mut is_escaped) = (0_usize, false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if in_text => is_escaped = true,
            b'"' => {
                in_text = !in_text;
                if !in_text && depth == 0 {
                    return at + 1;
                }
            }
            _ if in_text => {}
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth > 1 => depth -= 1,
            b'}' | b']' if depth == 1 => return at + 1,
            b',' | b'}' | b']' | b' ' | b'\t' | b'\r' | b'\n' if depth == 0 => return at,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_value_of_a_member_is_found_as_it_is_written() {
        let line = r#" { "a" : [1, {"id":2}], "\u0069d" :1E3 , "x":"}\",{", "id" : -0 ,"y":{}} "#;
        assert_eq!(member(line, "id"), Some("-0"));
        assert_eq!(member(line, "a"), Some(r#"[1, {"id":2}]"#));
        assert_eq!(member(line, "x"), Some(r#""}\",{""#));
        assert_eq!(member(line, "y"), Some("{}"));
        assert_eq!(member(line, "none"), None);
        assert_eq!(member(r#"{"id":1e2}"#, "id"), Some("1e2"));
        assert_eq!(member("{}", "id"), None);
        let nested = br#"{"response":{"request_id":18446744073709551616}}"#;
        let found = text_at(nested, &["response", "request_id"]);
        assert_eq!(found.as_deref(), Some("18446744073709551616"));
        assert_eq!(text_at(b"{\"a\":\"\xff\",\"id\":1.0}", &["id"]).as_deref(), Some("1.0"));
    }
}
