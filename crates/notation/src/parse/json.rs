//! JSON to a tree, strictly, and going on after the mistakes that people make in JSON.
//!
//! What is accepted is exactly what `serde_json` accepts (the tests hold the two together).
//! A parser of our own knows the place of every value, and can say "trailing comma" for each of
//! them at once, where a general one says "expected value" for the first.

use super::{LimitUsage, MAX_DEPTH, MAX_PROBLEMS, duplicates, too_deep, too_many_nodes};
use crate::{FileProblem, MapEntry, NodeValue, SourceNode, SourceSpan};

pub(super) fn parse(text: &str) -> Result<SourceNode, Vec<FileProblem>> {
    let mut reader = JsonReader { text, at: 0, problems: Vec::new(), total: LimitUsage::default() };
    let root = reader.document();
    match root {
        Ok(root) if reader.problems.is_empty() => Ok(root),
        _ => Err(reader.problems),
    }
}

/// What follows cannot be read; the reason is among the problems.
struct JsonAborted;

struct JsonReader<'a> {
    text: &'a str,
    at: usize,
    problems: Vec<FileProblem>,
    total: LimitUsage,
}

impl JsonReader<'_> {
    fn document(&mut self) -> Result<SourceNode, JsonAborted> {
        self.skip_space()?;
        if self.at == self.text.len() {
            self.problems.push(super::empty_file());
            return Err(JsonAborted);
        }
        let root = self.value(0)?;
        self.skip_space()?;
        if self.at < self.text.len() {
            let span = self.character();
            let what = if self.peek() == Some(b',') { "a comma" } else { "more" };
            self.report(span, format!("there is {what} after the end of the value"))?;
        }
        Ok(root)
    }

    fn value(&mut self, depth: usize) -> Result<SourceNode, JsonAborted> {
        let start = self.at;
        let value = match self.peek() {
            Some(b'{' | b'[') if depth >= MAX_DEPTH => {
                self.problems.push(too_deep(self.character()));
                return Err(JsonAborted);
            }
            Some(b'{') => self.map(depth + 1)?,
            Some(b'[') => self.list(depth + 1)?,
            Some(b'"' | b'\'') => NodeValue::String(self.string()?),
            Some(byte) if byte.is_ascii_digit() || b"+-.".contains(&byte) => self.number()?,
            Some(byte) if is_word(byte) => self.word()?,
            Some(_) => {
                let span = self.character();
                let found = &self.text[span.range()];
                self.report(span, format!("expected a value, found `{found}`"))?;
                return Err(JsonAborted);
            }
            None => return self.ended(start, "the file ends where a value should be"),
        };
        let bytes = if let NodeValue::String(text) = &value { text.len() } else { 0 };
        self.total = self.total.plus(LimitUsage { nodes: 1, bytes });
        let node = SourceNode { value, span: SourceSpan::new(start, self.at) };
        if self.total.exceeds_limits() {
            self.problems.push(too_many_nodes(node.span));
            return Err(JsonAborted);
        }
        duplicates(&node, &mut self.problems);
        Ok(node)
    }

    fn list(&mut self, depth: usize) -> Result<NodeValue, JsonAborted> {
        let mut items = Vec::new();
        self.collection(b']', "list", |reader| {
            items.push(reader.value(depth)?);
            Ok(())
        })?;
        Ok(NodeValue::List(items))
    }

    fn map(&mut self, depth: usize) -> Result<NodeValue, JsonAborted> {
        let mut entries = Vec::new();
        self.collection(b'}', "map", |reader| {
            let (key, key_span) = reader.key()?;
            reader.skip_space()?;
            if reader.peek() == Some(b':') {
                reader.at += 1;
            } else {
                let span = reader.character();
                let message = format!("a colon is missing behind the key `{key}`");
                reader.report(span, message)?;
                if reader.peek() == Some(b'=') {
                    reader.at += 1;
                }
            }
            reader.skip_space()?;
            let value = reader.value(depth)?;
            entries.push(MapEntry { key, key_span, value });
            Ok(())
        })?;
        Ok(NodeValue::Map(entries))
    }

    /// What lists and maps have in common: entries with commas between them.
    fn collection(
        &mut self,
        close: u8,
        what: &str,
        mut entry: impl FnMut(&mut Self) -> Result<(), JsonAborted>,
    ) -> Result<(), JsonAborted> {
        let open = self.character();
        self.at += 1;
        let mut comma: Option<SourceSpan> = None;
        let mut first = true;
        loop {
            self.skip_space()?;
            match self.peek() {
                Some(byte) if byte == close => {
                    if let Some(comma) = comma {
                        let message =
                            format!("JSON allows no comma behind the last entry of a {what}");
                        self.problems.push(
                            FileProblem::error("trailing-comma", comma, message)
                                .help("remove this comma"),
                        );
                    }
                    self.at += 1;
                    return Ok(());
                }
                Some(b',') => {
                    let span = self.character();
                    if first || comma.is_some() {
                        self.report(span, "there is no entry before this comma".to_owned())?;
                    }
                    comma = Some(span);
                    self.at += 1;
                }
                Some(_) => {
                    if !first && comma.is_none() {
                        let span = self.character();
                        if matches!(self.peek(), Some(b'}' | b']' | b':')) {
                            let found = &self.text[span.range()];
                            let message =
                                format!("expected a comma or `{}`, found `{found}`", close as char);
                            self.problems.push(
                                FileProblem::error("syntax", span, message)
                                    .with_related(open, format!("the {what} starts here")),
                            );
                            return Err(JsonAborted);
                        }
                        self.report(span, "a comma is missing before this".to_owned())?;
                    }
                    entry(self)?;
                    (first, comma) = (false, None);
                }
                None => {
                    let end = SourceSpan::new(self.at, self.at);
                    let message = format!("the file ends inside a {what}");
                    self.problems.push(
                        FileProblem::error("syntax", end, message)
                            .label(format!("`{}` is missing", close as char))
                            .with_related(open, format!("the {what} starts here")),
                    );
                    return Err(JsonAborted);
                }
            }
        }
    }

    fn key(&mut self) -> Result<(String, SourceSpan), JsonAborted> {
        let start = self.at;
        match self.peek() {
            Some(b'"' | b'\'') => {
                let key = self.string()?;
                Ok((key, SourceSpan::new(start, self.at)))
            }
            Some(byte) if is_word(byte) || byte.is_ascii_digit() => {
                let span = self.word_span();
                let key = self.text[span.range()].to_owned();
                let message = format!("the key `{key}` must be in double quotes");
                self.problems.push(
                    FileProblem::error("syntax", span, message).help(format!("write \"{key}\"")),
                );
                Ok((key, span))
            }
            _ => {
                let span = self.character();
                let found = &self.text[span.range()];
                self.report(span, format!("expected a key in double quotes, found `{found}`"))?;
                Err(JsonAborted)
            }
        }
    }

    fn string(&mut self) -> Result<String, JsonAborted> {
        let start = self.at;
        let quote = self.text.as_bytes()[start];
        let mut text = String::new();
        self.at += 1;
        loop {
            let rest = &self.text[self.at..];
            let special = |b: u8| b == quote || b == b'\\' || b < 0x20;
            let Some(run) = rest.bytes().position(special) else {
                self.at = self.text.len();
                return self.ended(start, "a string is not closed");
            };
            text.push_str(&rest[..run]);
            self.at += run;
            match rest.as_bytes()[run] {
                b'\\' => self.escape(&mut text)?,
                byte if byte == quote => break,
                b'\n' | b'\r' => return self.ended(start, "a string is not closed on its line"),
                byte => {
                    let span = self.character();
                    let message =
                        format!("the control character U+{byte:04X} cannot be written as it is");
                    let help = format!("write it as \\u{byte:04x}");
                    self.problems.push(FileProblem::error("syntax", span, message).help(help));
                    self.check_problem_limit()?;
                    text.push(byte as char);
                    self.at += 1;
                }
            }
        }
        self.at += 1;
        if quote == b'\'' {
            let span = SourceSpan::new(start, self.at);
            let message = "JSON strings are in double quotes";
            self.problems.push(FileProblem::error("syntax", span, message));
            self.check_problem_limit()?;
        }
        Ok(text)
    }

    fn escape(&mut self, text: &mut String) -> Result<(), JsonAborted> {
        let start = self.at;
        let escaped = self.text[start + 1..].chars().next().unwrap_or('\\');
        self.at += 1 + escaped.len_utf8();
        self.at = self.at.min(self.text.len());
        let character = match escaped {
            '"' | '\\' | '/' => Some(escaped),
            'b' => Some('\u{8}'),
            'f' => Some('\u{c}'),
            'n' => Some('\n'),
            'r' => Some('\r'),
            't' => Some('\t'),
            'u' => self.unicode(),
            _ => None,
        };
        if let Some(character) = character {
            text.push(character);
            return Ok(());
        }
        let span = SourceSpan::new(start, self.at);
        let message = format!("`{}` is not an escape that JSON knows", &self.text[span.range()]);
        self.problems.push(
            FileProblem::error("syntax", span, message)
                .help("a backslash itself is written as \\\\"),
        );
        self.check_problem_limit()
    }

    /// The digits behind `\u`, and a second escape when the first is half of a pair.
    fn unicode(&mut self) -> Option<char> {
        let first = self.hex()?;
        if !(0xd800..0xdc00).contains(&first) {
            return char::from_u32(first);
        }
        self.text[self.at..].starts_with("\\u").then(|| self.at += 2)?;
        let second = self.hex()?;
        let low = second.checked_sub(0xdc00).filter(|low| *low < 0x400)?;
        char::from_u32(0x1_0000 + ((first - 0xd800) << 10) + low)
    }

    fn hex(&mut self) -> Option<u32> {
        let digits = self.text.get(self.at..self.at + 4)?;
        let plain = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        let number = plain.then(|| u32::from_str_radix(digits, 16).ok()).flatten()?;
        self.at += 4;
        Some(number)
    }

    fn number(&mut self) -> Result<NodeValue, JsonAborted> {
        let span = self.word_span();
        let text = &self.text[span.range()];
        if let Ok(number) = serde_json::from_str::<serde_json::Number>(text) {
            let whole = number.as_i64().map(NodeValue::Integer);
            let whole = whole.or_else(|| number.as_u64().map(NodeValue::Unsigned));
            return Ok(whole
                .or_else(|| number.as_f64().map(NodeValue::Float))
                .unwrap_or(NodeValue::Null));
        }
        self.report(span, format!("`{text}` is not a number in JSON"))?;
        Ok(NodeValue::Integer(0))
    }

    fn word(&mut self) -> Result<NodeValue, JsonAborted> {
        let span = self.word_span();
        let word = &self.text[span.range()];
        match word {
            "null" => return Ok(NodeValue::Null),
            "true" => return Ok(NodeValue::Bool(true)),
            "false" => return Ok(NodeValue::Bool(false)),
            _ => {}
        }
        let meant = match word.to_lowercase().as_str() {
            "none" | "nil" | "undefined" | "null" => "null".to_owned(),
            "true" | "yes" | "on" => "true".to_owned(),
            "false" | "no" | "off" => "false".to_owned(),
            _ => format!("\"{word}\""),
        };
        let message = format!("`{word}` is not a value in JSON");
        let problem = FileProblem::error("syntax", span, message);
        self.problems.push(problem.help(format!("did you mean {meant}?")));
        self.check_problem_limit()?;
        Ok(NodeValue::Null)
    }

    /// Skips white space, and comments, which it reports.
    fn skip_space(&mut self) -> Result<(), JsonAborted> {
        loop {
            let rest = &self.text[self.at..];
            self.at += rest.len() - rest.trim_start_matches([' ', '\t', '\n', '\r']).len();
            let rest = &self.text[self.at..];
            let length = if rest.starts_with("//") || rest.starts_with('#') {
                rest.find('\n').unwrap_or(rest.len())
            } else if rest.starts_with("/*") {
                rest.find("*/").map_or(rest.len(), |end| end + 2)
            } else {
                return Ok(());
            };
            let span = SourceSpan::new(self.at, self.at + length);
            self.problems.push(
                FileProblem::error("json-comment", span, "JSON has no comments")
                    .help("remove the comment"),
            );
            self.check_problem_limit()?;
            self.at = span.end;
        }
    }

    /// Takes letters, digits and what numbers are made of.
    fn word_span(&mut self) -> SourceSpan {
        let rest = &self.text[self.at..];
        let is_part = |byte: u8| is_word(byte) || byte.is_ascii_digit() || b"+-.".contains(&byte);
        let length = rest.bytes().position(|byte| !is_part(byte)).unwrap_or(rest.len());
        let span = SourceSpan::new(self.at, self.at + length);
        self.at = span.end;
        span
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn character(&self) -> SourceSpan {
        let length = self.text[self.at..].chars().next().map_or(0, char::len_utf8);
        SourceSpan::new(self.at, self.at + length)
    }

    fn report(&mut self, span: SourceSpan, message: String) -> Result<(), JsonAborted> {
        self.problems.push(FileProblem::error("syntax", span, message));
        self.check_problem_limit()
    }

    fn check_problem_limit(&self) -> Result<(), JsonAborted> {
        if self.problems.len() < MAX_PROBLEMS { Ok(()) } else { Err(JsonAborted) }
    }

    fn ended<T>(&mut self, start: usize, message: &str) -> Result<T, JsonAborted> {
        let span = SourceSpan::new(start, self.at);
        self.problems.push(FileProblem::error("syntax", span, message));
        Err(JsonAborted)
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte == b'$' || byte >= 0x80
}
