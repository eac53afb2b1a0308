//! The limits: each has its own words, and none can be worn down by a hostile file.

use std::time::Duration;

use insta::assert_snapshot;

use super::super::MAX_NODES;
use super::{accepted, refused};
use crate::stopwatch::CpuStopwatch;
use crate::{FileSyntax, MAX_BYTES, MAX_DEPTH, ProblemReport, SourceFile, parse};

/// Far more than a slow machine needs, and far less than a bomb would take.
const SOON: Duration = Duration::from_secs(20);

fn code(text: &str, syntax: FileSyntax) -> &'static str {
    parse(&SourceFile::new("file", text), syntax).unwrap_err()[0].code
}

#[test]
fn a_file_that_is_too_large_is_not_read() {
    let text = "a".repeat(MAX_BYTES + 1);
    assert_snapshot!(
        SourceFile::from_bytes("big.yaml", text.clone().into_bytes()).unwrap_err().render(false), @r"
    error[too-large]: the file has 17 MiB; at most 16 MiB are read
    --> big.yaml
    "
    );
    for syntax in [FileSyntax::Yaml, FileSyntax::Json] {
        assert_eq!(code(&text, syntax), "too-large");
    }
}

#[test]
fn lists_and_maps_nest_as_deep_as_the_limit_and_no_deeper() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    for syntax in [FileSyntax::Yaml, FileSyntax::Json] {
        accepted(&nested(MAX_DEPTH), syntax);
        assert_eq!(code(&nested(MAX_DEPTH + 1), syntax), "too-deep");
        assert_eq!(code(&"[".repeat(1_000_000), syntax), "too-deep");
        assert_eq!(code(&"{\"a\":".repeat(1_000_000), syntax), "too-deep");
    }
    let block = |depth: usize| {
        (0..depth).map(|level| format!("{}k:\n", " ".repeat(level))).collect::<String>()
    };
    accepted(&block(MAX_DEPTH), FileSyntax::Yaml);
    assert_eq!(code(&block(MAX_DEPTH + 1), FileSyntax::Yaml), "too-deep");
    // Neither half alone is too deep.
    let mixed = format!("{} {}", block(MAX_DEPTH / 2).trim_end(), nested(MAX_DEPTH / 2 + 1));
    assert_eq!(code(&mixed, FileSyntax::Yaml), "too-deep");
    assert_snapshot!(refused(&nested(MAX_DEPTH + 1), FileSyntax::Json), @r"
    error[too-deep]: lists and maps lie in each other more than 64 deep
     --> file:1:65
      |
    1 | [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]...
      |                                                                 ^ the limit is reached here
    ");
}

#[test]
fn aliases_cannot_nest_deeper_than_the_limit_either() {
    let line = |level: usize| format!("a{level}: &a{level} [*a{}]\n", level - 1);
    let text = format!("a0: &a0 [x]\n{}", (1..MAX_DEPTH).map(line).collect::<String>());
    assert_eq!(code(&text, FileSyntax::Yaml), "too-deep");
}

#[test]
fn a_bomb_of_aliases_is_refused_before_it_goes_off() {
    let line = |level: usize| {
        let inner = vec![format!("*a{}", level - 1); 9].join(", ");
        format!("a{level}: &a{level} [{inner}]\n")
    };
    let lines: String = (1..30).map(line).collect();
    let text = format!("a0: &a0 [x, x, x, x, x, x, x, x, x]\n{lines}");
    let started = CpuStopwatch::start();
    assert_eq!(code(&text, FileSyntax::Yaml), "too-many-values");
    assert!(started.elapsed() < SOON);
    assert_snapshot!(refused(&text, FileSyntax::Yaml), @r"
    error[too-many-values]: the file has more than 1000000 values or too much text, aliases expanded
     --> file:7:10
      |
    7 | a6: &a6 [*a5, *a5, *a5, *a5, *a5, *a5, *a5, *a5, *a5]
      |          ^^^ the limit is reached here
    ");
}

#[test]
fn one_long_text_behind_many_aliases_is_a_bomb_too() {
    let text = format!("- &a {}\n{}", "x".repeat(4 * 1024 * 1024), "- *a\n".repeat(100_000));
    let started = CpuStopwatch::start();
    assert_eq!(code(&text, FileSyntax::Yaml), "too-many-values");
    assert!(started.elapsed() < SOON);
}

#[test]
fn anchors_around_anchors_do_not_multiply_the_file() {
    let text = format!("{}{}{}", "&a [".repeat(60), "x, ".repeat(200_000), "]".repeat(60));
    assert_eq!(code(&text, FileSyntax::Yaml), "too-many-values");
}

#[test]
fn a_file_with_too_many_values_is_refused() {
    let text = format!("[{}0]", "0,".repeat(MAX_NODES));
    assert_eq!(code(&text, FileSyntax::Json), "too-many-values");
    assert_eq!(code(&text, FileSyntax::Yaml), "too-many-values");
}

#[test]
fn a_file_of_mistakes_gives_a_bounded_report() {
    let text = format!("[{}]", "nope,".repeat(500_000));
    let problems = parse(&SourceFile::new("file", text), FileSyntax::Json).unwrap_err();
    assert!(problems.len() <= 201, "{}", problems.len());
    let source = SourceFile::new("file", "a:\n".repeat(100_000));
    assert_eq!(parse(&source, FileSyntax::Yaml).unwrap_err().len(), 100);
}

#[test]
fn ten_megabytes_are_read_in_a_moment() {
    let words = "and then that ".repeat(10);
    let line = format!("- {{name: step, prompt: \"do ${{x}} {words}\", list: [1, 2, 3]}}\n");
    let count = 10_000_000 / line.len();
    let json_line = "{\"name\":\"step\",\"prompt\":\"do ${x} and then\\tthat\",\"list\":[1,2]},\n";
    let json = format!("[{}null]", json_line.repeat(100_000));
    // The tests are built without much optimisation; released, this is a tenth of it.
    let started = CpuStopwatch::start();
    assert_eq!(accepted(&line.repeat(count), FileSyntax::Yaml).items().len(), count);
    assert_eq!(accepted(&json, FileSyntax::Json).items().len(), 100_001);
    assert!(started.elapsed() < SOON, "{:?}", started.elapsed());
}

#[test]
fn bytes_that_are_not_text_are_reported_where_they_stand() {
    let report = |bytes: &[u8]| -> ProblemReport {
        SourceFile::from_bytes("file.yaml", bytes.to_vec()).unwrap_err()
    };
    assert_snapshot!(report(b"a: 1\nname: caf\xe9\nb: 2\n").render(false), @r"
    error[not-utf8]: the file is not UTF-8 text
     --> file.yaml:2:10
      |
    2 | name: caf�
      |          ^ byte 0xe9 does not belong here
      |
      = help: save the file as UTF-8
    ");
    assert_snapshot!(report(b"\xef\xbb\xbfname: \xc3\x28\n").render(false), @r"
    error[not-utf8]: the file is not UTF-8 text
     --> file.yaml:1:7
      |
    1 | name: �(
      |       ^ byte 0xc3 does not belong here
      |
      = help: save the file as UTF-8
    ");
    assert_snapshot!(report(b"\xff\xfea\0:\0").render(false), @r"
    error[not-utf8]: the file is not UTF-8 text
    --> file.yaml
     = help: it looks like UTF-16; save it as UTF-8
    ");
}
