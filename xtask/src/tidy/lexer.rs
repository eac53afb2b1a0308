//! Tells the code, comments and literals of a Rust file apart, as far as tidy needs it: a check
//! for `println!` must not trip over a comment or a string that mentions it.

#[derive(Clone, Copy, PartialEq, Eq)]
enum SpanKind {
    Code,
    Comment,
    /// A string or character literal with its quotes.
    Literal,
}

/// The text with comments and literals turned into blanks. Lines stay where they are.
pub(crate) fn code(text: &str) -> String {
    keep(SpanKind::Code, text)
}

/// The text with everything but comments turned into blanks. Lines stay where they are.
pub(crate) fn comments(text: &str) -> String {
    keep(SpanKind::Comment, text)
}

/// A word or a single punctuation character of code, with its line counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CodeToken<'a> {
    pub(crate) line: usize,
    pub(crate) text: &'a str,
}

/// The tokens of text that has gone through [`code`].
pub(crate) fn tokens(code: &str) -> Vec<CodeToken<'_>> {
    let mut tokens = Vec::new();
    let (mut rest, mut line) = (code, 1);
    while let Some(first) = rest.chars().next() {
        let (text, after) = rest.split_at(word(rest).max(first.len_utf8()));
        if first == '\n' {
            line += 1;
        } else if !first.is_whitespace() {
            tokens.push(CodeToken { line, text });
        }
        rest = after;
    }
    tokens
}

fn keep(wanted: SpanKind, text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let (kind, length) = piece(rest);
        let (piece, after) = rest.split_at(length);
        if kind == wanted {
            kept.push_str(piece);
        } else {
            kept.extend(piece.chars().map(|c| if c == '\n' { c } else { ' ' }));
        }
        rest = after;
    }
    kept
}

/// What the text starts with, and for how many bytes.
fn piece(text: &str) -> (SpanKind, usize) {
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        match comment_or_literal(&text[at..]) {
            Some(found) if at == 0 => return found,
            Some(_) => break,
            None => at += word(&text[at..]).max(first.len_utf8()),
        }
    }
    (SpanKind::Code, at)
}

fn comment_or_literal(text: &str) -> Option<(SpanKind, usize)> {
    if text.starts_with("//") {
        Some((SpanKind::Comment, text.find('\n').unwrap_or(text.len())))
    } else if text.starts_with("/*") {
        Some((SpanKind::Comment, block_comment(text)))
    } else if text.starts_with('"') {
        Some((SpanKind::Literal, string(text)))
    } else if text.starts_with('\'') {
        character(text).map(|length| (SpanKind::Literal, length))
    } else {
        raw_string(text).map(|length| (SpanKind::Literal, length))
    }
}

/// The length of a block comment. Rust's nest.
fn block_comment(text: &str) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    loop {
        let rest = &text[at..];
        if rest.starts_with("/*") {
            depth += 1;
            at += 2;
        } else if rest.starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else if let Some(c) = rest.chars().next() {
            at += c.len_utf8();
        } else {
            return at;
        }
    }
}

/// The length of a string with escapes. A prefix such as `b` was passed over as code: harmless.
fn string(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// The length of a character literal; `None` when the quote begins a lifetime or a label.
fn character(text: &str) -> Option<usize> {
    let mut chars = text.char_indices().skip(1);
    let (_, first) = chars.next()?;
    if first == '\\' {
        chars.next()?;
        return chars.find(|(_, c)| *c == '\'').map(|(at, _)| at + 1);
    }
    chars.next().filter(|(_, c)| *c == '\'').map(|(at, _)| at + 1)
}

/// The length of a raw string with its prefix and hashes; `None` for anything else.
fn raw_string(text: &str) -> Option<usize> {
    let prefix = word(text);
    if !matches!(&text[..prefix], "r" | "br" | "cr") {
        return None;
    }
    let hashes = text[prefix..].bytes().take_while(|byte| *byte == b'#').count();
    let start = prefix + hashes;
    let body = text[start..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    Some(body.find(&end).map_or(text.len(), |at| start + 1 + at + end.len()))
}

/// The length of the word the text starts with; zero when it starts with something else.
fn word(text: &str) -> usize {
    text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Blanks at line ends do not matter to any check and are awkward to write down.
    fn trimmed(text: &str) -> String {
        text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn code_without_comments_and_literals_is_untouched() {
        let text = "fn f<'a>(x: &'a str) -> u8 {\n    x.len() as u8 / 2\n}\n";
        assert_eq!(code(text), text);
        assert_eq!(comments(text).trim(), "");
    }

    #[test]
    fn line_comments_end_with_their_line() {
        assert_eq!(trimmed(&code("a(); // b()\nc();")), "a();\nc();");
        assert_eq!(trimmed(&comments("a(); // b()\nc();")), "     // b()\n");
    }

    #[test]
    fn block_comments_nest_and_keep_their_lines() {
        assert_eq!(code("a /* b /* c */\n d */ e"), "a             \n      e");
    }

    #[test]
    fn strings_may_hold_quotes_comments_and_newlines() {
        assert_eq!(code(r#"a("\"b\\", "//c") + d"#), "a(       ,      ) + d");
        assert_eq!(trimmed(&code("a(\"b\nc\");")), "a(\n  );");
    }

    #[test]
    fn raw_strings_end_at_their_own_number_of_hashes() {
        assert_eq!(code("a(r#\"b\"\\\"#, c)"), "a(        , c)");
        assert_eq!(code("a(br##\"b\"#\"##)"), "a(           )");
        assert_eq!(code("r\"\\\" + a"), "     + a");
    }

    #[test]
    fn a_name_that_only_looks_like_a_raw_string_prefix_is_code() {
        assert_eq!(code("r#type + br"), "r#type + br");
        assert_eq!(code("for_r\"x\""), "for_r   ");
    }

    #[test]
    fn characters_are_literals_and_lifetimes_are_code() {
        assert_eq!(
            code(r#"['"', '\'', b'"', '\u{1b}', 'é'] + a"#),
            "[   ,     , b   ,         ,    ] + a"
        );
        assert_eq!(code("fn f<'a, 'b>() { 'c: loop {} }"), "fn f<'a, 'b>() { 'c: loop {} }");
    }

    #[test]
    fn unfinished_literals_and_comments_end_with_the_text() {
        for text in ["a \"b", "a /* b", "a r#\"b\"", "a // b"] {
            assert_eq!(code(text).trim_end(), "a", "{text}");
        }
        assert_eq!(code("a '"), "a '");
    }

    #[test]
    fn tokens_are_words_and_single_marks_with_their_lines() {
        let found: Vec<_> = tokens("io::a_1!\n  é").iter().map(|t| (t.line, t.text)).collect();
        assert_eq!(found, [(1, "io"), (1, ":"), (1, ":"), (1, "a_1"), (1, "!"), (2, "é")]);
    }
}
