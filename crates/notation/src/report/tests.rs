//! Reports as people and programs see them, and that nothing in a file can reach a terminal.

use insta::assert_snapshot;

use super::ProblemReport;
use crate::{FileProblem, SourceFile, SourceSpan};

fn one(text: &str, problem: FileProblem) -> ProblemReport {
    ProblemReport::new(SourceFile::new("some/file.yaml", text), vec![problem])
}

#[test]
fn a_problem_shows_its_place_its_words_and_what_to_do() {
    let problem = FileProblem::warning("odd", SourceSpan::new(14, 19), "this is odd")
        .label("here")
        .with_related(SourceSpan::new(3, 6), "and there")
        .help("do something");
    assert_snapshot!(one("a: one\nb: two three\n", problem).render(false), @r"
    warning[odd]: this is odd
     --> some/file.yaml:2:8
      |
    2 | b: two three
      |        ^^^^^ here
      |
     ::: some/file.yaml:1:4
      |
    1 | a: one
      |    --- and there
      |
      = help: do something
    ");
}

#[test]
fn problems_are_in_the_order_of_the_file() {
    let source = SourceFile::new("f", "a\nb\nc\n");
    let at = |start: usize| {
        FileProblem::error("x", SourceSpan::new(start, start + 1), format!("at {start}"))
    };
    let report = ProblemReport::new(source, vec![at(4), at(0), at(2)]);
    let lines: Vec<u64> = report
        .to_json()
        .as_array()
        .unwrap()
        .iter()
        .map(|problem| problem["line"].as_u64().unwrap())
        .collect();
    assert_eq!(lines, [1, 2, 3]);
}

#[test]
fn programs_get_every_part() {
    let problem = FileProblem::error("odd", SourceSpan::new(3, 10), "this is odd")
        .label("here")
        .with_related(SourceSpan::new(0, 1), "and there")
        .help("do something");
    let json = one("ü: one\nb: two\n", problem).to_json();
    assert_snapshot!(serde_json::to_string_pretty(&json).unwrap(), @r#"
    [
      {
        "code": "odd",
        "severity": "error",
        "message": "this is odd",
        "file": "some/file.yaml",
        "line": 1,
        "column": 3,
        "endLine": 2,
        "endColumn": 3,
        "label": "here",
        "help": "do something",
        "snippet": "ü: one",
        "also": [
          {
            "line": 1,
            "column": 1,
            "endLine": 1,
            "endColumn": 2,
            "label": "and there"
          }
        ]
      }
    ]
    "#);
}

#[test]
fn colours_are_used_only_when_asked_for() {
    let problem = || FileProblem::error("odd", SourceSpan::new(0, 1), "this is odd");
    assert!(one("abc\n", problem()).render(true).contains("\u{1b}["));
    assert!(!one("abc\n", problem()).render(false).contains('\u{1b}'));
}

#[test]
fn control_characters_of_a_file_never_reach_the_output() {
    let text = "key\u{1b}]0;title\u{7}: \u{9b}31m\u{202e}x\u{7f}\r\nnext: \0\u{feff}\n";
    let problem =
        FileProblem::error("odd", SourceSpan::new(0, 60), "found \u{1b}[31m`\u{0}`\nand more")
            .label("at \u{8}\u{1b}c")
            .help("not \u{9d}this\u{2028}")
            .with_related(SourceSpan::new(42, 43), "also\r\nhere\u{1b}[2J");
    let report = ProblemReport::new(SourceFile::new("na\u{1b}me\n", text), vec![problem]);
    let plain = report.render(false);
    let bad = |c: char| c != '\n' && (c.is_control() || "\u{202e}\u{2028}\u{feff}".contains(c));
    assert!(!plain.contains(bad), "{plain:?}");
    let coloured = report.render(true);
    assert!(!coloured.contains("\u{1b}c") && !coloured.contains("\u{1b}[2J"), "{coloured:?}");
    assert!(!report.to_json().to_string().contains("\\u001b"));
    assert_snapshot!(plain, @r"
    error[odd]: found ␛[31m`␀`␊and more
     --> na␛me␊:1:1
      |
    1 | key␛]0;title␇: �31m�x␡
      | ^^^^^^^^^^^^^^^^^^^^^^ at ␈␛c
      |
     ::: na␛me␊:3:1
      |
    3 |
      | - also␍␊here␛[2J
      |
      = help: not �this�
    ");
}

#[test]
fn columns_are_those_of_the_file_beside_wide_and_odd_characters() {
    let text = "\u{1b}\t\"ключ 🦀\": нет # x\n";
    let start = text.find("нет").unwrap();
    let problem = FileProblem::error("odd", SourceSpan::new(start, start + 6), "this is odd");
    let report = one(text, problem);
    assert_eq!(report.to_json()[0]["column"], 13);
    assert_snapshot!(report.render(false), @r#"
    error[odd]: this is odd
     --> some/file.yaml:1:13
      |
    1 | ␛ "ключ 🦀": нет # x
      |              ^^^
    "#);
}

#[test]
fn a_place_over_several_lines_is_marked_in_its_first() {
    let problem = FileProblem::error("odd", SourceSpan::new(3, 14), "this is odd").label("this");
    assert_snapshot!(one("a: {\n  b: 1\n}\n", problem).render(false), @r"
    error[odd]: this is odd
     --> some/file.yaml:1:4
      |
    1 | a: {
      |    ^ this
    ");
}

#[test]
fn a_long_line_is_cut_around_the_place() {
    let text = format!("{}HERE{}\n", "a".repeat(150), "b".repeat(300));
    let problem = FileProblem::error("odd", SourceSpan::new(150, 154), "this is odd");
    assert_snapshot!(one(&text, problem).render(false), @r"
    error[odd]: this is odd
     --> some/file.yaml:1:151
      |
    1 | ...aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaHEREbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb...
      |                                                         ^^^^
    ");
}

#[test]
fn of_a_line_nobody_wrote_by_hand_only_a_piece_is_quoted() {
    let text = format!("{}HERE\u{1b}{}", "ä".repeat(500_000), "b".repeat(500_000));
    let problem =
        FileProblem::error("odd", SourceSpan::new(1_000_000, 1_000_004), "this is odd").help("cut");
    let report = one(&text, problem);
    assert_snapshot!(report.render(false), @r"
    error[odd]: this is odd
    --> some/file.yaml:1:500001
     = note: near `…ääääääääääääääääääääääääääääääääääääääääHERE␛bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb…`
     = help: cut
    ");
    assert_eq!(report.to_json()[0]["column"], 500_001);
}

#[test]
fn places_outside_the_file_are_its_end_and_never_a_panic() {
    for (start, end) in [(0, 0), (2, 1), (5, 5), (3, 900), (900, 1000), (1, 2)] {
        let span = SourceSpan { start, end };
        let problem = FileProblem::error("odd", span, "x").with_related(span, "y");
        for text in ["", "ä\r\nö", "\n\n"] {
            let report = one(text, problem.clone());
            assert!(report.render(false).contains("error[odd]: x"));
            assert!(report.to_json()[0]["line"].as_u64().unwrap() >= 1);
        }
    }
}
