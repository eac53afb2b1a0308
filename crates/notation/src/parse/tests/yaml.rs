//! YAML: values, places, and mistakes in words.

use insta::assert_snapshot;

use super::{places, refused, yaml};
use crate::{FileSyntax, SourceFile, parse};

fn no(text: &str) -> String {
    refused(text, FileSyntax::Yaml)
}

#[test]
fn scalars_are_those_of_the_core_schema_and_maps_keep_their_order() {
    let node = yaml(
        "z: 1\na: -7\nbig: 18446744073709551615\nhuge: 99999999999999999999\nf: 1.5\ne: 1e3\n\
         octal: 0o17\nhex: 0xff\nyes: yes\nt: True\nn: ~\nempty:\nversion: \"1.10\"\n\
         plain: 1_000\ntime: 12:30\ntagged: !!str 3\nforced: !!float 3\n",
    );
    assert_snapshot!(node.to_json(), @r#"{"z":1,"a":-7,"big":18446744073709551615,"huge":1e+20,"f":1.5,"e":1000.0,"octal":15,"hex":255,"yes":"yes","t":true,"n":null,"empty":null,"version":"1.10","plain":"1_000","time":"12:30","tagged":"3","forced":3}"#);
}

#[test]
fn every_value_knows_the_bytes_it_stands_for() {
    let text = "a: &x \"q\\u00e9\"\nb:\n  - 'one'\n  - {k: [1, 2]}\nc: |-\n  lit\n  eral\nd: *x\n";
    assert_eq!(
        places(text, &yaml(text)),
        [
            text.trim_end(),
            "a",
            "\"q\\u00e9\"",
            "b",
            "- 'one'\n  - {k: [1, 2]}",
            "'one'",
            "{k: [1, 2]}",
            "k",
            "[1, 2]",
            "1",
            "2",
            "c",
            "|-\n  lit\n  eral",
            "d",
            "*x",
        ]
    );
}

#[test]
fn a_block_scalar_starts_at_its_indicator_whatever_stands_around_it() {
    for (text, expected) in [
        ("a: |  # a | b\n\n  x\n\nb: 1\n", "|  # a | b\n\n  x"),
        ("a|b: &n|m !!str >+2\n   x\n", ">+2\n   x"),
        ("- |\n x", "|\n x"),
        ("|\n x\n", "|\n x"),
        ("a: |\nb: 1\n", "|"),
        ("a: >\r\n  x\r\n  y\r\n", ">\r\n  x\r\n  y"),
    ] {
        let node = yaml(text);
        let all = places(text, &node);
        assert!(all.iter().any(|place| place == expected), "{expected:?} is not in {all:?}");
    }
}

#[test]
fn a_byte_order_mark_and_windows_line_ends_change_nothing() {
    let plain = yaml("a: 1\nb: |\n  x\n  y\n").to_json();
    let source = SourceFile::new("file", "\u{feff}a: 1\r\nb: |\r\n  x\r\n  y\r\n");
    let node = parse(&source, FileSyntax::Yaml).unwrap();
    assert_eq!(node.to_json(), plain);
    let place = source.position(node.get("b").unwrap().span.start);
    assert_eq!((place.line, place.column), (2, 4));
}

#[test]
fn columns_count_characters() {
    let text = "\"ключ 🦀\": [ü, x]\n";
    let source = SourceFile::new("file", text);
    let node = parse(&source, FileSyntax::Yaml).unwrap();
    let list = node.get("ключ 🦀").unwrap();
    assert_eq!(source.position(list.span.start).column, 11);
    assert_eq!(source.position(list.items()[1].span.start).column, 15);
}

#[test]
fn keys_are_text_as_it_was_written() {
    let node = yaml("1: a\ntrue: b\n~: c\n0x1F: d\n");
    let keys: Vec<&str> = node.entries().iter().map(|entry| entry.key.as_str()).collect();
    assert_eq!(keys, ["1", "true", "~", "0x1F"]);
}

#[test]
fn every_duplicate_key_is_reported_with_both_places() {
    assert_snapshot!(no("a: 1\nb: {x: 1, y: 2, x: 3}\na: 2\na: 3\n"), @r"
    error[duplicate-key]: duplicate key `x`
     --> file:2:17
      |
    2 | b: {x: 1, y: 2, x: 3}
      |     -           ^ again here
      |     |
      |     first here
      |
      = help: remove one of the two, or merge them

    error[duplicate-key]: duplicate key `a`
     --> file:3:1
      |
    3 | a: 2
      | ^ again here
      |
     ::: file:1:1
      |
    1 | a: 1
      | - first here
      |
      = help: remove one of the two, or merge them

    error[duplicate-key]: duplicate key `a`
     --> file:4:1
      |
    4 | a: 3
      | ^ again here
      |
     ::: file:1:1
      |
    1 | a: 1
      | - first here
      |
      = help: remove one of the two, or merge them
    ");
}

#[test]
fn a_key_must_be_text_and_must_be_there() {
    assert_snapshot!(no("[x]: 1\n: 2\n"), @r"
    error[bad-key]: a key must be text, not a list or a map
     --> file:1:1
      |
    1 | [x]: 1
      | ^^^

    error[bad-key]: a key is missing before the `:`
     --> file:2:1
      |
    2 | : 2
      | ^
    ");
}

#[test]
fn aliases_need_an_anchor_that_is_not_around_them() {
    assert_snapshot!(no("defaults: &defaults {a: 1}\nb: *default\nc: &c [*c]\nd: *zzz\n"), @r"
    error[unknown-alias]: there is no anchor `&default` before this alias
     --> file:2:4
      |
    2 | b: *default
      |    ^^^^^^^^
      |
      = help: did you mean `*defaults`?

    error[alias-cycle]: this alias lies inside the value it stands for
     --> file:3:8
      |
    3 | c: &c [*c]
      |        ^^

    error[unknown-alias]: there is no anchor `&zzz` before this alias
     --> file:4:4
      |
    4 | d: *zzz
      |    ^^^^
    ");
}

#[test]
fn an_aliased_value_stands_where_the_alias_stands_and_its_parts_where_they_are_written() {
    let text = "a: &x {k: v}\nb: *x\n";
    let node = yaml(text);
    let b = node.get("b").unwrap();
    assert_eq!(&text[b.span.range()], "*x");
    assert_eq!(b.get("k").unwrap().span, node.get("a").unwrap().get("k").unwrap().span);
}

#[test]
fn tags_of_our_own_do_not_exist_and_known_ones_must_fit() {
    assert_snapshot!(no("a: !secret x\nb: !!int many\nc: !!set {x}\nd: .inf\n"), @r"
    error[unsupported-tag]: the tag `!secret` is not supported
     --> file:1:12
      |
    1 | a: !secret x
      |            ^
      |
      = help: write the value without a tag

    error[bad-scalar]: `many` is not what its tag `!!int` says
     --> file:2:10
      |
    2 | b: !!int many
      |          ^^^^

    error[unsupported-tag]: the tag `!!set` is not supported
     --> file:3:10
      |
    3 | c: !!set {x}
      |          ^
      |
      = help: write the value without a tag

    error[bad-scalar]: `.inf` is not a number that can be used
     --> file:4:4
      |
    4 | d: .inf
      |    ^^^^
    ");
}

#[test]
fn a_second_document_is_refused() {
    assert_snapshot!(no("a: 1\n---\nb: 2\n"), @r"
    error[several-documents]: the file has more than one YAML document
     --> file:2:1
      |
    2 | ---
      | ^^^ the second one starts here
      |
      = help: a file holds one document; move the others to files of their own
    ");
    yaml("%YAML 1.2\n---\na: 1\n...\n");
}

#[test]
fn nothing_is_not_a_document() {
    for text in ["", "\n\n", "# only a comment\n", "---\n", "\u{feff}"] {
        let problems = parse(&SourceFile::new("file", text), FileSyntax::Yaml).unwrap_err();
        assert_eq!(problems.iter().map(|p| p.code).collect::<Vec<_>>(), ["empty-file"], "{text:?}");
    }
    assert_snapshot!(no(""), @r"
    error[empty-file]: the file is empty
    --> file
    ");
}

#[test]
fn tabs_are_named() {
    assert_snapshot!(no("a: 1\n\tb: 2\n"), @r"
    error[syntax]: a tab stands where YAML allows only spaces
     --> file:2:1
      |
    2 |  b: 2
      | ^ this is a tab
      |
      = help: indent with spaces
    ");
    assert_snapshot!(no("a:\n\tb: 2\n"), @r"
    error[syntax]: a tab stands where YAML allows only spaces
     --> file:2:1
      |
    2 |  b: 2
      | ^ this is a tab
      |
      = help: indent with spaces
    ");
}

#[test]
fn a_colon_in_plain_text_is_explained() {
    assert_snapshot!(no("prompt: Fix this: now\n"), @r"
    error[syntax]: a value cannot start here
     --> file:1:17
      |
    1 | prompt: Fix this: now
      |                 ^ because of this colon
      |
      = help: quote the text if the colon belongs to it; otherwise look at the indentation
    ");
}

#[test]
fn a_regular_expression_in_double_quotes_is_explained() {
    assert_snapshot!(no("pattern: \"a\\n\\d+\"\n"), @r#"
    error[syntax]: `\d` is not an escape that double quotes know
     --> file:1:14
      |
    1 | pattern: "a\n\d+"
      |              ^^
      |
      = help: in single quotes a backslash is just a backslash
    "#);
}

#[test]
fn a_variable_in_brackets_is_explained() {
    assert_snapshot!(no("inputs: {spec: ${input.spec}}\n"), @r"
    error[syntax]: a comma or the closing bracket is missing
     --> file:1:17
      |
    1 | inputs: {spec: ${input.spec}}
      |                 ^
      |
      = help: inside [] and {} put text with ${…}, commas or brackets in quotes
    ");
}

#[test]
fn quotes_and_brackets_that_do_not_match_are_explained() {
    assert_snapshot!(no("a: 'it's'\n"), @r"
    error[syntax]: there is text behind the closing quote
     --> file:1:8
      |
    1 | a: 'it's'
      |        ^
      |
      = help: inside single quotes an apostrophe is written twice: 'it''s'
    ");
    assert_snapshot!(no("a: \"x\nb: 3\n"), @r"
    error[syntax]: text in quotes is not closed
     --> file:2:1
      |
    2 | b: 3
      | ^
      |
      = help: close the quote that was opened before
    ");
    assert_snapshot!(no("a: [1, 2\nb: 3\n"), @r"
    error[syntax]: a colon stands where it cannot be
     --> file:2:2
      |
    2 | b: 3
      |  ^
      |
      = help: a bracket before it may not be closed
    ");
    assert_snapshot!(no("a: [1, 2}\n"), @r"
    error[syntax]: `[` is closed with `}`
     --> file:1:4
      |
    1 | a: [1, 2}
      |    ^
    ");
    assert_snapshot!(no("a: [1, 2"), @r"
    error[syntax]: the `[` is never closed
     --> file:1:4
      |
    1 | a: [1, 2
      |    ^
    ");
}

#[test]
fn wrong_indentation_is_explained() {
    assert_snapshot!(no("a:\n    b: 1\n  c: 2\n"), @r"
    error[syntax]: a key was expected here
     --> file:3:3
      |
    3 |   c: 2
      |   ^
      |
      = help: entries of one map start in the same column
    ");
    assert_snapshot!(no("key: value\n- item\n"), @r"
    error[syntax]: a key was expected here
     --> file:2:3
      |
    2 | - item
      |   ^
      |
      = help: entries of one map start in the same column
    ");
    assert_snapshot!(no("a: - b\n"), @r"
    error[syntax]: a list cannot start here
     --> file:1:4
      |
    1 | a: - b
      |    ^
      |
      = help: begin the list on a line of its own
    ");
    assert_snapshot!(no("a: 1\njust text\nb: 2\n"), @r"
    error[syntax]: a key without a `:`
     --> file:2:1
      |
    2 | just text
      | ^
      |
      = help: write `key: value`, with a space behind the colon
    ");
}

#[test]
fn reserved_and_control_characters_are_explained_and_not_printed() {
    assert_snapshot!(no("a: @me\n"), @r"
    error[syntax]: text cannot start with `@`
     --> file:1:4
      |
    1 | a: @me
      |    ^
      |
      = help: put the text in quotes
    ");
    let escape = no("a: x\u{1b}[31mred\n");
    assert!(!escape.contains('\u{1b}'));
    assert_snapshot!(escape, @r#"
    error[syntax]: the control character U+001B cannot be written as it is
     --> file:1:5
      |
    1 | a: x␛[31mred
      |     ^
      |
      = help: write it as an escape in double quotes, like "\x1b"
    "#);
}
