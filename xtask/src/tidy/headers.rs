//! Every Rust file opens with a `//!` header that says what the file is for.

use super::problem::TidyProblem;

pub(crate) fn check(path: &str, text: &str) -> Option<TidyProblem> {
    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or("");
    let says_something = first.strip_prefix("//!").is_some_and(|header| !header.trim().is_empty());
    (!says_something).then(|| {
        TidyProblem::error(
            path,
            1,
            "the file does not open with a `//!` header that says its purpose",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_on_the_first_line_that_is_not_empty_is_enough() {
        assert_eq!(check("a.rs", "//! Purpose.\n"), None);
        assert_eq!(check("a.rs", "\n//! Purpose.\n#![no_main]\n"), None);
    }

    #[test]
    fn a_missing_late_or_empty_header_is_a_problem() {
        for text in ["", "fn f() {}\n", "use a;\n//! Late.\n", "//!\n//! Late.\n", "// No.\n"] {
            assert_eq!(check("a.rs", text).map(|p| p.line), Some(1), "{text:?}");
        }
    }
}
