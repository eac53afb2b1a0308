//! A piece of a value is found where it stands, in every style.

use crate::{FileSyntax, NodeValue, SourceFile, SourceNode, SourceSpan, parse, within};

/// Where the `nth` (from 0) occurrence of `needle` in a string's value stands in the file.
fn find_within(source: &SourceFile, node: &SourceNode, needle: &str, nth: usize) -> SourceSpan {
    let text = node.as_str().unwrap_or_default();
    match text.match_indices(needle).nth(nth) {
        Some((start, _)) => within(source, node, start..start + needle.len()),
        None => node.span,
    }
}

/// The text and place of the second `${x}` in the value of `a`.
fn second(text: &str, syntax: FileSyntax) -> (String, String) {
    let source = SourceFile::new("file", text);
    let node = parse(&source, syntax).unwrap();
    let span = find_within(&source, node.get("a").unwrap(), "${x}", 1);
    (source.slice(span).to_owned(), source.position(span.start).to_string())
}

fn yaml(text: &str) -> (String, String) {
    second(text, FileSyntax::Yaml)
}

fn found(at: &str) -> (String, String) {
    ("${x}".to_owned(), at.to_owned())
}

#[test]
fn plain_and_quoted_text() {
    assert_eq!(yaml("a: ${x} and ${x} # ${x}\n"), found("1:13"));
    assert_eq!(yaml("a: \"\\t${x}\\u00e9 ${x}\"\n"), found("1:18"));
    assert_eq!(yaml("a: 'it''s ${x}, ${x}'\n"), found("1:17"));
    assert_eq!(yaml("a: &anchor !!str ${x} ${x}\n"), found("1:23"));
    assert_eq!(
        second("{\"a\": \"\\\"\\ud83e\\udd80${x}\\\\ ${x}\"}", FileSyntax::Json),
        found("1:29")
    );
}

#[test]
fn text_over_several_lines() {
    assert_eq!(yaml("a: ${x}\n  and\n\n  ${x} too\n"), found("4:3"));
    assert_eq!(yaml("a: \"${x}  \n   and\\\n   \\ more\n\n  ${x}\"\n"), found("5:3"));
    assert_eq!(yaml("a: '${x}\r\n  and ${x}'\r\n"), found("2:7"));
}

#[test]
fn block_text() {
    assert_eq!(yaml("a: |\n  ${x}\n\n    deeper\n  then ${x}\nb: 1\n"), found("5:8"));
    assert_eq!(yaml("a: |-  # ${x}\r\n  ${x}\r\n  ${x}\r\n"), found("3:3"));
    assert_eq!(yaml("a: |2+\n    ${x}\n   ${x}\n\n"), found("3:4"));
    assert_eq!(yaml("a: >\n  ${x}\n  and\n\n  more\n    kept\n  ${x}\n"), found("7:3"));
    assert_eq!(yaml("a: >-\n\n  ${x} ä\n  ${x}\n"), found("4:3"));
}

#[test]
fn an_escape_that_is_one_character_is_one_place() {
    let source = SourceFile::new("file", "a: \"x\\u00e9\\ny\"");
    let node = parse(&source, FileSyntax::Yaml).unwrap();
    let a = node.get("a").unwrap();
    assert_eq!(source.slice(within(&source, a, 1..3)), "\\u00e9");
    assert_eq!(source.slice(within(&source, a, 3..5)), "\\ny");
    assert_eq!(source.slice(within(&source, a, 4..4)), "");
    assert_eq!(within(&source, a, 4..4).start, 13);
}

#[test]
fn what_cannot_be_placed_is_the_whole_node() {
    assert_eq!(yaml("b: &b ${x} ${x}\na: *b\n"), ("*b".to_owned(), "2:4".to_owned()));
    let source = SourceFile::new("file", "a: 3");
    let node = parse(&source, FileSyntax::Yaml).unwrap();
    let number = node.get("a").unwrap();
    assert_eq!(within(&source, number, 0..1), number.span);
    let other = SourceNode {
        value: NodeValue::String("not what is written".to_owned()),
        span: number.span,
    };
    assert_eq!(within(&source, &other, 0..3), number.span);
    assert_eq!(find_within(&source, &other, "absent", 0), number.span);
}
