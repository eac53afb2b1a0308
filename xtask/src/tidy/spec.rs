//! Keeps docs/SPEC.md and the tests honest with each other: every test named there exists, is run
//! and claims the id, and every claim of a test is listed there.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use super::lexer::{self, CodeToken};
use super::markdown::{self, TableRow};
use super::problem::TidyProblem;
use super::tree::TreeFile;

pub(crate) const PAGE: &str = "docs/SPEC.md";

/// What the last column says while no test shows a capability yet.
const NOT_YET: &str = "—";
/// What the last column says for a heading whose scenarios have rows of their own.
const ITS_PARTS: &str = "its parts";

const COLUMNS: [&str; 4] = ["id", "capability", "lives in", "shown by"];

pub(crate) fn check(page: &str, rust: &[&TreeFile]) -> Vec<TidyProblem> {
    let (rows, mut problems) = rows(page);
    if rows.is_empty() {
        let message = format!("no table with the columns `{}`", COLUMNS.join("`, `"));
        return vec![TidyProblem::error(PAGE, 1, message)];
    }
    let tests: Vec<TestFunction> = rust.iter().flat_map(|file| tests_in(file)).collect();
    for (id, row) in &rows {
        if let Some(message) = wrong_proof(id, row, &rows, &tests) {
            problems.push(TidyProblem::error(PAGE, row.line, message));
        }
    }
    for file in rust {
        problems.extend(wrong_claims(file, &rows, &tests));
    }
    problems
}

/// The rows by id. An id stands once and every cell says something.
fn rows(page: &str) -> (BTreeMap<String, TableRow>, Vec<TidyProblem>) {
    let mut rows = BTreeMap::new();
    let mut problems = Vec::new();
    let is_ours = |table: &markdown::MarkdownTable| {
        (0..).zip(COLUMNS).all(|(column, name)| table.header.cell(column) == name)
    };
    for row in markdown::tables(page).into_iter().filter(is_ours).flat_map(|table| table.rows) {
        let (id, line) = (row.cell(0).to_owned(), row.line);
        if let Some(empty) = (0..).zip(COLUMNS).find(|(column, _)| row.cell(*column).is_empty()) {
            problems.push(TidyProblem::error(
                PAGE,
                line,
                format!("the column `{}` is empty", empty.1),
            ));
        }
        if !is_id(&id) {
            problems.push(TidyProblem::error(
                PAGE,
                line,
                format!("`{id}` does not look like an id"),
            ));
        }
        if rows.insert(id.clone(), row).is_some() {
            problems.push(TidyProblem::error(PAGE, line, format!("a second row for {id}")));
        }
    }
    (rows, problems)
}

/// What is wrong with the last column of a row.
fn wrong_proof(
    id: &str,
    row: &TableRow,
    rows: &BTreeMap<String, TableRow>,
    tests: &[TestFunction],
) -> Option<String> {
    let cell = row.cell(3);
    let has_parts = || rows.keys().any(|other| is_part_of(other, id));
    match cell {
        NOT_YET => None,
        ITS_PARTS if has_parts() => None,
        ITS_PARTS => Some(format!("{id} has no parts")),
        _ => {
            let mut named = markdown::code_spans(cell).peekable();
            if named.peek().is_none() {
                return Some(format!("name a test in backticks, or write `{NOT_YET}`"));
            }
            named.find_map(|path| wrong_test(id, path, tests))
        }
    }
}

/// Why a test does not show what a row says.
fn wrong_test(id: &str, path: &str, tests: &[TestFunction]) -> Option<String> {
    let found: Vec<&TestFunction> = tests.iter().filter(|test| test.is_at(path)).collect();
    let why = if found.is_empty() {
        "there is no such test"
    } else if found.iter().any(|test| test.ignored) {
        "that test is ignored"
    } else if !found.iter().any(|test| test.claims(id)) {
        "that test has no `Spec:` line with the id"
    } else {
        return None;
    };
    Some(format!("{id} is said to be shown by `{path}`, but {why}"))
}

fn is_part_of(id: &str, whole: &str) -> bool {
    id.strip_prefix(whole).is_some_and(|rest| rest.starts_with('.'))
}

/// A function that carries `#[test]` or an attribute that ends in `::test`.
#[derive(Debug)]
struct TestFunction {
    /// The file's crate and then its folders and name below `src` or `tests`.
    modules: Vec<String>,
    name: String,
    /// The lines from its documentation to its name.
    lines: RangeInclusive<usize>,
    file: String,
    ids: Vec<String>,
    ignored: bool,
}

impl TestFunction {
    /// Whether `crate::module::name` means this test. Folders that say nothing (`tests`, the crate's
    /// own name again) may be left out.
    fn is_at(&self, path: &str) -> bool {
        let Some((modules, name)) = path.rsplit_once("::") else { return false };
        let mut wanted = modules.split("::");
        let mut own = self.modules.iter();
        name == self.name
            && wanted.next() == own.next().map(String::as_str)
            && wanted.all(|module| own.any(|one| one == module))
    }

    fn claims(&self, id: &str) -> bool {
        self.ids.iter().any(|claimed| claimed == id)
    }
}

/// The crate a file belongs to: `crates/<name>/…`, or a top folder such as `xtask/…`.
fn package_of(path: &str) -> Option<&str> {
    let mut parts = path.strip_prefix("crates/").unwrap_or(path).split('/');
    let package = parts.next()?;
    parts.next().map(|_| package)
}

fn tests_in(file: &TreeFile) -> Vec<TestFunction> {
    let Some(package) = package_of(&file.path) else { return Vec::new() };
    let below = file.path.split('/').skip_while(|part| !matches!(*part, "src" | "tests")).skip(1);
    let modules: Vec<String> = std::iter::once(package)
        .chain(below.map(|part| part.trim_end_matches(".rs")))
        .map(str::to_owned)
        .collect();
    let code = lexer::code(&file.text);
    let tokens = lexer::tokens(&code);
    let code_lines: Vec<&str> = code.lines().collect();
    let comments = lexer::comments(&file.text);
    let comment_lines: Vec<&str> = comments.lines().collect();
    let test = |at: usize| {
        let name = function_after(&tokens[at..])?;
        let first = first_line_of_item(tokens[at].line, &code_lines, &comment_lines);
        let lines = first..=name.line;
        let spanned = |all: &[&str]| -> Vec<String> {
            all[first - 1..name.line].iter().map(|line| (*line).to_owned()).collect()
        };
        let comments = spanned(&comment_lines);
        Some(TestFunction {
            modules: modules.clone(),
            name: name.text.to_owned(),
            lines,
            file: file.path.clone(),
            ids: comments.iter().flat_map(|line| claimed_ids(line)).map(str::to_owned).collect(),
            ignored: spanned(&code_lines).iter().any(|line| line.contains("#[ignore")),
        })
    };
    let starts = (0..tokens.len()).filter(|at| begins_test_attribute(&tokens[*at..]));
    starts.filter_map(test).collect()
}

/// The first line of the documentation and attributes around a line, counted from 1.
fn first_line_of_item(line: usize, code: &[&str], comments: &[&str]) -> usize {
    let belongs = |line: &usize| {
        let code = code[line - 1].trim_end();
        let is_comment = !comments[line - 1].trim().is_empty();
        if code.is_empty() { is_comment } else { !code.ends_with(['{', '}', ';']) }
    };
    (1..line).rev().take_while(belongs).last().unwrap_or(line)
}

fn begins_test_attribute(tokens: &[CodeToken<'_>]) -> bool {
    let [hash, bracket, path @ ..] = tokens else {
        return false;
    };
    if (hash.text, bracket.text) != ("#", "[") {
        return false;
    }
    let end = path.iter().position(|token| matches!(token.text, "]" | "(" | "="));
    end.and_then(|end| path[..end].last()).is_some_and(|last| last.text == "test")
}

fn function_after<'a>(tokens: &[CodeToken<'a>]) -> Option<CodeToken<'a>> {
    let at = tokens.iter().position(|token| token.text == "fn")?;
    tokens.get(at + 1).copied()
}

/// The `Spec:` lines of a file that name something SPEC.md does not have or does not show by the
/// test below the line.
fn wrong_claims(
    file: &TreeFile,
    rows: &BTreeMap<String, TableRow>,
    tests: &[TestFunction],
) -> Vec<TidyProblem> {
    let comments = lexer::comments(&file.text);
    let claims = comments
        .lines()
        .enumerate()
        .flat_map(|(index, comment)| claimed_ids(comment).map(move |id| (index + 1, id)));
    claims
        .filter_map(|(line, id)| {
            let test =
                tests.iter().find(|test| test.file == file.path && test.lines.contains(&line));
            let message = match (rows.get(id).map(|row| row.cell(3)), test) {
                (None, _) => format!("{PAGE} knows no id `{id}`"),
                (Some(NOT_YET), _) => format!("{PAGE} does not say yet which test shows {id}"),
                (Some(ITS_PARTS), _) => format!("{id} is shown by its parts: name the part"),
                (Some(_), None) => format!("no test follows that could show {id}"),
                (Some(cell), Some(test)) => {
                    if markdown::code_spans(cell).any(|path| test.is_at(path)) {
                        return None;
                    }
                    format!("{PAGE} does not list `{}` for {id}", test.name)
                }
            };
            Some(TidyProblem::error(&file.path, line, message))
        })
        .collect()
}

/// The ids of a comment of the form `/// Spec: C1.6.2, GR.3.1`.
fn claimed_ids(comment: &str) -> impl Iterator<Item = &str> {
    let body =
        comment.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '/' | '!' | '*'));
    let ids = body.strip_prefix("Spec:").unwrap_or("");
    ids.split([',', ' ']).map(|id| id.trim().trim_end_matches('.')).filter(|id| !id.is_empty())
}

/// A chapter in capitals, then numbers: `C0.3.1`, `RT.9`.
fn is_id(text: &str) -> bool {
    let mut parts = text.split('.');
    let chapter = parts.next().unwrap_or("");
    let numbers: Vec<&str> = parts.collect();
    let is_chapter = chapter.starts_with(|c: char| c.is_ascii_uppercase())
        && chapter.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit());
    let is_number = |part: &&str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    is_chapter && !numbers.is_empty() && numbers.iter().all(is_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "| id | capability | lives in | shown by |\n|---|---|---|---|\n";
    const SHOWN: &str = "| C0.3 | Text. | terminal | its parts |\n\
                         | C0.3.1 | Strips. | terminal | `terminal::sanitise::strips` |\n\
                         | C0.4 | Later. | store | — |\n";
    const TEST: &str = "//! T.\n/// Spec: C0.3.1\n#[test]\nfn strips() {}\n";

    fn found(rows: &str, path: &str, text: &str) -> Vec<String> {
        let file = TreeFile { path: path.to_owned(), text: text.to_owned() };
        let page = format!("{HEADER}{rows}");
        check(&page, &[&file]).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_page_and_a_test_that_agree_pass() {
        assert_eq!(found(SHOWN, "crates/terminal/src/sanitise.rs", TEST), [""; 0]);
    }

    #[test]
    fn a_test_that_does_not_exist_shows_nothing() {
        let missing = "docs/SPEC.md:4: C0.3.1 is said to be shown by `terminal::sanitise::strips`, \
                       but there is no such test";
        let elsewhere = found(SHOWN, "crates/tape/src/sanitise.rs", "#[test]\nfn strips() {}\n");
        assert_eq!(elsewhere, [missing]);
        let no_test = found(SHOWN, "crates/terminal/src/lib.rs", "// #[test]\nfn strips() {}\n");
        assert_eq!(no_test, [missing]);
    }

    #[test]
    fn a_claim_must_name_an_id_that_exists_and_is_shown() {
        let text = format!("{TEST}//! Spec: C9.1, C0.4\n// Spec: C0.3.\n// Spec: C0.3.1\n");
        assert_eq!(
            found(SHOWN, "crates/terminal/src/sanitise.rs", &text),
            [
                "crates/terminal/src/sanitise.rs:5: docs/SPEC.md knows no id `C9.1`",
                "crates/terminal/src/sanitise.rs:5: docs/SPEC.md does not say yet which test shows C0.4",
                "crates/terminal/src/sanitise.rs:6: C0.3 is shown by its parts: name the part",
                "crates/terminal/src/sanitise.rs:7: no test follows that could show C0.3.1",
            ]
        );
    }

    #[test]
    fn a_claim_of_a_test_that_the_page_does_not_list_is_refused() {
        let text = format!("{TEST}\n/// Spec: C0.3.1\n#[test]\nfn strips_more() {{}}\n");
        assert_eq!(
            found(SHOWN, "crates/terminal/src/sanitise.rs", &text),
            [
                "crates/terminal/src/sanitise.rs:6: docs/SPEC.md does not list `strips_more` for C0.3.1"
            ]
        );
    }

    #[test]
    fn a_test_shows_only_what_it_claims_and_only_if_it_is_run() {
        let said =
            "docs/SPEC.md:4: C0.3.1 is said to be shown by `terminal::sanitise::strips`, but";
        let path = "crates/terminal/tests/terminal/sanitise.rs";
        let silent = "fn other() {}\n\n/// It strips.\n#[test]\nfn strips() {}\n";
        assert_eq!(
            found(SHOWN, path, silent),
            [format!("{said} that test has no `Spec:` line with the id")]
        );
        let ignored = TEST.replace("#[test]", "#[test]\n#[ignore = \"slow\"]");
        assert_eq!(found(SHOWN, path, &ignored), [format!("{said} that test is ignored")]);
    }

    #[test]
    fn the_modules_of_a_path_are_those_of_the_file() {
        let missing = "docs/SPEC.md:4: C0.3.1 is said to be shown by `terminal::sanitise::strips`, \
                       but there is no such test";
        let elsewhere = found(SHOWN, "crates/terminal/src/screen.rs", TEST);
        assert_eq!(elsewhere[0], missing);
        for path in ["src/sanitise/tests.rs", "tests/terminal/sanitise.rs", "src/a/sanitise/b.rs"] {
            assert_eq!(found(SHOWN, &format!("crates/terminal/{path}"), TEST), [""; 0], "{path}");
        }
    }

    #[test]
    fn claims_stand_in_comments_of_their_own_and_not_in_strings_or_sentences() {
        let text =
            "const A: &str = \"\n/// Spec: C9.1\n\";\n// A `Spec:` line and Spec: C9.2 too.\n";
        assert_eq!(found("| C0.4 | Later. | store | — |\n", "crates/a/src/lib.rs", text), [""; 0]);
    }

    #[test]
    fn rows_that_say_too_little_or_the_same_twice_are_problems() {
        let rows = "| C0.4 | | store | — |\n| C0.4 | A. | a | — |\n| x | B. | b | — |\n\
                    | C0.5 | C. | c | its parts |\n| C0.6 | D. | d | soon |\n";
        assert_eq!(
            found(rows, "crates/a/src/lib.rs", ""),
            [
                "docs/SPEC.md:3: the column `capability` is empty",
                "docs/SPEC.md:4: a second row for C0.4",
                "docs/SPEC.md:5: `x` does not look like an id",
                "docs/SPEC.md:6: C0.5 has no parts",
                "docs/SPEC.md:7: name a test in backticks, or write `—`",
            ]
        );
    }

    #[test]
    fn a_page_without_the_table_is_a_problem() {
        assert_eq!(check("# Spec\n", &[]).len(), 1);
    }

    #[test]
    fn tests_are_found_behind_other_attributes_and_in_macros() {
        let text = "#[test]\n#[should_panic(expected = \"fn no\")]\npub async fn a() {}\n\
                    #[tokio::test(flavor = \"x\")]\nasync fn b() {}\n\
                    proptest! {\n #[test]\n fn c(x in 0..9) {} }\n\
                    #[cfg(test)]\nmod tests { fn helper() {} }\n";
        let file = TreeFile { path: "crates/a/src/lib.rs".to_owned(), text: text.to_owned() };
        let names: Vec<String> = tests_in(&file).into_iter().map(|test| test.name).collect();
        assert_eq!(names, ["a", "b", "c"]);
    }

    #[test]
    fn ids_are_a_chapter_and_numbers() {
        assert!(["C0.3.1", "RT.9", "AD.10.2"].into_iter().all(is_id));
        assert!(!["C0", "c0.1", "C0.", "C0.x", "0.1", ""].into_iter().any(is_id));
    }

    #[test]
    fn files_belong_to_the_crate_whose_folder_they_are_in() {
        assert_eq!(package_of("crates/terminal/src/a/b.rs"), Some("terminal"));
        assert_eq!(package_of("xtask/src/main.rs"), Some("xtask"));
        assert_eq!(package_of("build.rs"), None);
    }
}
