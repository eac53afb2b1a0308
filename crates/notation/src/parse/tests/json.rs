//! JSON: strict, and with all the usual mistakes at once.

use insta::assert_snapshot;

use super::{accepted, places, refused};
use crate::FileSyntax;

fn no(text: &str) -> String {
    refused(text, FileSyntax::Json)
}

#[test]
fn every_value_knows_the_bytes_it_stands_for() {
    let text = "{\n\t\"a\": [1, -2.5e3, \"x\\ty\"],\r\n\t\"\\u0062\" : {\"c\": null}\n}";
    let node = accepted(text, FileSyntax::Json);
    assert_eq!(
        places(text, &node),
        [
            text,
            "\"a\"",
            "[1, -2.5e3, \"x\\ty\"]",
            "1",
            "-2.5e3",
            "\"x\\ty\"",
            "\"\\u0062\"",
            "{\"c\": null}",
            "\"c\"",
            "null",
        ]
    );
    assert_eq!(node.to_json(), serde_json::from_str::<serde_json::Value>(text).unwrap());
}

#[test]
fn escapes_and_pairs_of_them_are_characters() {
    let node = accepted(r#""\"\\\/\b\f\n\r\t\u00e9\ud83e\udd80\u0000""#, FileSyntax::Json);
    assert_eq!(node.as_str(), Some("\"\\/\u{8}\u{c}\n\r\té🦀\0"));
}

#[test]
fn comments_and_trailing_commas_are_all_reported_at_once() {
    assert_snapshot!(no("{\n  // who\n  \"a\": [1, 2,], /* and */\n  \"b\": 2,\n}\n# end\n"), @r#"
    error[json-comment]: JSON has no comments
     --> file:2:3
      |
    2 |   // who
      |   ^^^^^^
      |
      = help: remove the comment

    error[trailing-comma]: JSON allows no comma behind the last entry of a list
     --> file:3:13
      |
    3 |   "a": [1, 2,], /* and */
      |             ^
      |
      = help: remove this comma

    error[json-comment]: JSON has no comments
     --> file:3:17
      |
    3 |   "a": [1, 2,], /* and */
      |                 ^^^^^^^^^
      |
      = help: remove the comment

    error[trailing-comma]: JSON allows no comma behind the last entry of a map
     --> file:4:9
      |
    4 |   "b": 2,
      |         ^
      |
      = help: remove this comma

    error[json-comment]: JSON has no comments
     --> file:6:1
      |
    6 | # end
      | ^^^^^
      |
      = help: remove the comment
    "#);
}

#[test]
fn what_other_languages_allow_is_explained() {
    assert_snapshot!(no("{name: 'x', \"on\": True, \"v\": 01, \"n\": NaN, \"z\": None}"), @r#"
    error[syntax]: the key `name` must be in double quotes
     --> file:1:2
      |
    1 | {name: 'x', "on": True, "v": 01, "n": NaN, "z": None}
      |  ^^^^
      |
      = help: write "name"

    error[syntax]: JSON strings are in double quotes
     --> file:1:8
      |
    1 | {name: 'x', "on": True, "v": 01, "n": NaN, "z": None}
      |        ^^^

    error[syntax]: `True` is not a value in JSON
     --> file:1:19
      |
    1 | {name: 'x', "on": True, "v": 01, "n": NaN, "z": None}
      |                   ^^^^
      |
      = help: did you mean true?

    error[syntax]: `01` is not a number in JSON
     --> file:1:30
      |
    1 | {name: 'x', "on": True, "v": 01, "n": NaN, "z": None}
      |                              ^^

    error[syntax]: `NaN` is not a value in JSON
     --> file:1:39
      |
    1 | {name: 'x', "on": True, "v": 01, "n": NaN, "z": None}
      |                                       ^^^
      |
      = help: did you mean "NaN"?

    error[syntax]: `None` is not a value in JSON
     --> file:1:49
      |
    1 | {name: 'x', "on": True, "v": 01, "n": NaN, "z": None}
      |                                                 ^^^^
      |
      = help: did you mean null?
    "#);
}

#[test]
fn forgotten_commas_and_colons_are_named_where_they_are_missing() {
    assert_snapshot!(no("{\"a\": 1\n \"b\" 2,\n \"c\": [1 2,,3]}"), @r#"
    error[syntax]: a comma is missing before this
     --> file:2:2
      |
    2 |  "b" 2,
      |  ^

    error[syntax]: a colon is missing behind the key `b`
     --> file:2:6
      |
    2 |  "b" 2,
      |      ^

    error[syntax]: a comma is missing before this
     --> file:3:10
      |
    3 |  "c": [1 2,,3]}
      |          ^

    error[syntax]: there is no entry before this comma
     --> file:3:12
      |
    3 |  "c": [1 2,,3]}
      |            ^
    "#);
}

#[test]
fn strings_end_on_their_line_and_know_their_escapes() {
    assert_snapshot!(no("{\"a\": \"\\d+ \\ud800\", \"b\": \"tab\there\"}"), @r#"
    error[syntax]: `\d` is not an escape that JSON knows
     --> file:1:8
      |
    1 | {"a": "\d+ \ud800", "b": "tab here"}
      |        ^^
      |
      = help: a backslash itself is written as \\

    error[syntax]: `\ud800` is not an escape that JSON knows
     --> file:1:12
      |
    1 | {"a": "\d+ \ud800", "b": "tab here"}
      |            ^^^^^^
      |
      = help: a backslash itself is written as \\

    error[syntax]: the control character U+0009 cannot be written as it is
     --> file:1:30
      |
    1 | {"a": "\d+ \ud800", "b": "tab here"}
      |                              ^
      |
      = help: write it as \u0009
    "#);
    assert_snapshot!(no("{\"a\": \"open\n}"), @r#"
    error[syntax]: a string is not closed on its line
     --> file:1:7
      |
    1 | {"a": "open
      |       ^^^^^
    "#);
    assert_snapshot!(no("[\"open"), @r#"
    error[syntax]: a string is not closed
     --> file:1:2
      |
    1 | ["open
      |  ^^^^^
    "#);
}

#[test]
fn brackets_that_do_not_match_name_the_one_that_is_open() {
    assert_snapshot!(no("{\"a\": [1, 2}"), @r#"
    error[syntax]: expected a comma or `]`, found `}`
     --> file:1:12
      |
    1 | {"a": [1, 2}
      |       -    ^
      |       |
      |       the list starts here
    "#);
    assert_snapshot!(no("{\"a\": [1, 2"), @r#"
    error[syntax]: the file ends inside a list
     --> file:1:12
      |
    1 | {"a": [1, 2
      |       -    ^ `]` is missing
      |       |
      |       the list starts here
    "#);
    assert_snapshot!(no("{\"a\":"), @r#"
    error[syntax]: the file ends where a value should be
     --> file:1:6
      |
    1 | {"a":
      |      ^
    "#);
}

#[test]
fn one_value_is_one_file() {
    assert_snapshot!(no("{} {}"), @r"
    error[syntax]: there is more after the end of the value
     --> file:1:4
      |
    1 | {} {}
      |    ^
    ");
    assert_snapshot!(no(" \n"), @r"
    error[empty-file]: the file is empty
     --> file:1:1
      |
    1 |  
      | ^
    ");
    assert_snapshot!(no("?"), @r"
    error[syntax]: expected a value, found `?`
     --> file:1:1
      |
    1 | ?
      | ^
    ");
}

#[test]
fn duplicate_keys_are_reported_with_both_places() {
    assert_snapshot!(no("{\"a\": 1, \"b\": 2, \"a\": 3}"), @r#"
    error[duplicate-key]: duplicate key `a`
     --> file:1:18
      |
    1 | {"a": 1, "b": 2, "a": 3}
      |  --- first here  ^^^ again here
      |
      = help: remove one of the two, or merge them
    "#);
}
