//! What is written about the daemon, held against what it does.

use std::path::{Path, PathBuf};

use coven_api::ProblemCode;
use coven_api::route::ROUTES;

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

#[test]
fn every_code_has_a_page_and_every_page_a_code() {
    let mut pages: Vec<String> = std::fs::read_dir(docs().join("errors"))
        .unwrap()
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    pages.sort();
    let mut codes: Vec<String> =
        ProblemCode::ALL.iter().map(|code| code.as_str().to_owned()).collect();
    codes.sort();
    assert_eq!(pages, codes);
    for code in ProblemCode::ALL {
        let text = std::fs::read_to_string(docs().join(format!("errors/{code}.md"))).unwrap();
        assert!(text.starts_with(&format!("# {code}\n")), "{code}");
        assert!(text.contains(code.title()), "{code} has another title");
        assert!(text.contains(&code.status().to_string()), "{code} has another status");
        for part in ["## When", "## What to do"] {
            assert!(text.contains(part), "{code} lacks {part}");
        }
    }
}

#[test]
fn the_page_about_security_names_tests_that_exist() {
    let text = std::fs::read_to_string(docs().join("security.md")).unwrap();
    let names: Vec<&str> = text
        .split('`')
        .skip(1)
        .step_by(2)
        .filter(|word| word.matches('_').count() > 3 && !word.contains([' ', '/', '.']))
        .collect();
    assert!(names.len() > 15, "{names:?}");
    let mut sources = String::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("..")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() && !path.ends_with("target") {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                sources.push_str(&std::fs::read_to_string(path).unwrap());
            }
        }
    }
    for name in names {
        assert!(sources.contains(&format!("fn {name}(")), "no test is called {name}");
    }
}

#[test]
fn routes_that_change_something_say_that_agents_may_not() {
    for route in ROUTES {
        let looks = route.method == coven_api::route::HttpMethod::Get
            || matches!(route.path, "/grimoires/check" | "/sign-in")
            // What an agent reports about itself: it is the one that may.
            || route.path.starts_with("/hook/");
        assert!(
            looks || route.problems.contains(&ProblemCode::AgentMayNot),
            "{} does not say so",
            route.name
        );
    }
}
