//! A public type whose name has been taken again and again says nothing without its module, and is
//! not found by searching for it.

use std::collections::BTreeMap;

use super::lexer;
use super::problem::TidyProblem;
use super::tree::TreeFile;

/// Names that are the same in every component and are used with their module.
pub(crate) const COMPONENT_NAMES: [&str; 11] = [
    "Args",
    "Arguments",
    "Builder",
    "Command",
    "Config",
    "Error",
    "Options",
    "Problem",
    "Reader",
    "State",
    "Writer",
];

/// How often a name may be defined.
pub(crate) const MOST_DEFINITIONS: usize = 3;

pub(crate) fn check(rust: &[&TreeFile]) -> Vec<TidyProblem> {
    let mut places: BTreeMap<String, Vec<(&str, usize)>> = BTreeMap::new();
    for file in rust.iter().filter(|file| is_production(&file.path)) {
        for (name, line) in public_types(without_tests(&file.text)) {
            places.entry(name).or_default().push((&file.path, line));
        }
    }
    let too_often = places.into_iter().filter(|(name, places)| {
        places.len() > MOST_DEFINITIONS && !COMPONENT_NAMES.contains(&name.as_str())
    });
    too_often
        .flat_map(|(name, places)| {
            let count = places.len();
            let message = move || {
                format!(
                    "{count} public types are called `{name}`; {MOST_DEFINITIONS} is the limit: \
                     say in the name which this is"
                )
            };
            places.into_iter().map(move |(path, line)| TidyProblem::error(path, line, message()))
        })
        .collect()
}

/// Whether a file is part of what users run. Tests, benches, examples and the tools of the project
/// are not.
pub(crate) fn is_production(path: &str) -> bool {
    let other =
        ["tests", "benches", "examples", "xtask", "testkit", "test-programs", "fuzz", "tests.rs"];
    std::path::Path::new(path).extension().is_some_and(|extension| extension == "rs")
        && path.contains("src/")
        && !path.split('/').any(|part| other.contains(&part))
}

/// A file up to the tests in it.
pub(crate) fn without_tests(text: &str) -> &str {
    text.find("#[cfg(test)]\nmod tests {").map_or(text, |at| &text[..at])
}

/// The types a file makes public, with their lines.
fn public_types(text: &str) -> Vec<(String, usize)> {
    let code = lexer::code(text);
    let tokens = lexer::tokens(&code);
    tokens
        .windows(3)
        .filter(|words| {
            words[0].text == "pub" && matches!(words[1].text, "struct" | "enum" | "trait")
        })
        .map(|words| (words[2].text.to_owned(), words[2].line))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The problems of a tree in which each of these files defines the type.
    fn found(paths: &[&str], definition: &str) -> Vec<String> {
        let files: Vec<TreeFile> = paths
            .iter()
            .map(|path| TreeFile { path: (*path).to_owned(), text: definition.to_owned() })
            .collect();
        check(&files.iter().collect::<Vec<_>>()).iter().map(ToString::to_string).collect()
    }

    const FOUR: [&str; 4] =
        ["crates/a/src/lib.rs", "crates/b/src/lib.rs", "crates/c/src/x.rs", "crates/c/src/y.rs"];

    #[test]
    fn the_fourth_public_type_of_a_name_is_a_problem_at_every_place() {
        let problems = found(&FOUR, "//! A.\npub struct Place;\n");
        assert_eq!(problems.len(), 4);
        assert_eq!(
            problems[0],
            "crates/a/src/lib.rs:2: 4 public types are called `Place`; 3 is the limit: say in the \
             name which this is"
        );
        assert_eq!(found(&FOUR[1..], "pub enum Place {}"), [""; 0]);
    }

    #[test]
    fn component_names_private_types_comments_and_tests_do_not_count() {
        for text in [
            "pub struct Error;",
            "struct Place;",
            "pub(crate) struct Place;",
            "// pub struct Place;",
            "#[cfg(test)]\nmod tests { pub struct Place; }",
        ] {
            assert_eq!(found(&FOUR, text), [""; 0], "{text}");
        }
        let elsewhere = FOUR.map(|path| path.replace("/src/", "/tests/"));
        let elsewhere: Vec<&str> = elsewhere.iter().map(String::as_str).collect();
        assert_eq!(found(&elsewhere, "pub struct Place;"), [""; 0]);
    }

    #[test]
    fn only_what_users_run_is_production() {
        assert!(is_production("crates/store/src/lock.rs"));
        for path in ["crates/store/tests/store/lock.rs", "xtask/src/main.rs", "docs/EVENTS.md"] {
            assert!(!is_production(path), "{path}");
        }
    }
}
