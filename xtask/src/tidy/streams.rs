//! Only the command line talks to the terminal. Everything below it returns values, so that what
//! an agent writes can never end up in the middle of our own output. Clippy refuses the macros that
//! print; this refuses the streams behind them.

use super::lexer::{self, CodeToken};
use super::problem::TidyProblem;

const STREAMS: [&str; 2] = ["stdout", "stderr"];
/// Modules, in the standard library and in the crates we use, that hand out our own streams.
const STREAM_MODULES: [&str; 2] = ["io", "stdio"];

pub(crate) fn check(path: &str, text: &str) -> Vec<TidyProblem> {
    if may_print(path) {
        return Vec::new();
    }
    let code = lexer::code(text);
    let tokens = lexer::tokens(&code);
    let found = (0..tokens.len()).filter_map(|at| own_stream(&tokens[at..]));
    found
        .map(|(line, what)| {
            TidyProblem::error(path, line, format!("{what}: only crates/cli talks to the terminal"))
        })
        .collect()
}

/// The command line, the chores, and what is run by hand or by tests rather than shipped.
fn may_print(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    matches!(
        parts.as_slice(),
        ["xtask" | "fuzz", ..]
            | ["crates", "cli", ..]
            | ["crates", _, "examples" | "benches" | "tests", ..]
            | ["crates", "testkit", "src", "agent.rs"]
    )
}

/// Where and how the tokens begin with one of our own streams.
fn own_stream(tokens: &[CodeToken<'_>]) -> Option<(usize, String)> {
    let text = |at: usize| tokens.get(at).map_or("", |token| token.text);
    let here = tokens.first()?;
    if !STREAM_MODULES.contains(&here.text) || text(1) != ":" || text(2) != ":" {
        return None;
    }
    let names = match text(3) {
        "{" => braced(&tokens[3..]),
        _ => tokens.get(3..4).unwrap_or_default(),
    };
    let stream = names.iter().find(|name| STREAMS.contains(&name.text))?;
    Some((stream.line, format!("`{}::{}`", here.text, stream.text)))
}

/// The tokens from an opening brace up to the brace that closes it.
fn braced<'t, 's>(tokens: &'t [CodeToken<'s>]) -> &'t [CodeToken<'s>] {
    let mut depth = 0_usize;
    let end = tokens.iter().position(|token| {
        match token.text {
            "{" => depth += 1,
            "}" => depth -= 1,
            _ => {}
        }
        depth == 0
    });
    &tokens[..end.unwrap_or(tokens.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        check(path, text).iter().map(|problem| problem.line).collect()
    }

    #[test]
    fn our_own_streams_are_found_however_they_are_named() {
        for text in [
            "std::io::stdout().lock();",
            "let mut out = io::stderr();",
            "use std::io::{self, stdout as out};",
            "use std::{fmt, io::{Write, stderr}};",
            "tokio::io::stdout();",
            "rustix::stdio::stdout();",
        ] {
            assert_eq!(lines("crates/terminal/src/lib.rs", text), [1], "{text}");
        }
        let spread = "use std::io::{\n    Write,\n    stdout,\n};";
        assert_eq!(lines("crates/terminal/src/lib.rs", spread), [3]);
    }

    #[test]
    fn comments_strings_and_other_meanings_of_the_words_are_left_alone() {
        for text in [
            "// io::stdout()",
            "/// ```\n/// io::stdout();\n/// ```",
            "let s = \"io::stdout()\";",
            "writeln!(out)?;",
            "Command::new(x).stdout(Stdio::null());",
            "struct S { stdout: Vec<u8> } use std::io::{Read, Write}; fn stdout() {}",
        ] {
            assert_eq!(lines("crates/terminal/src/lib.rs", text), [0; 0], "{text}");
        }
    }

    #[test]
    fn the_command_line_and_what_is_not_shipped_may_print() {
        for path in [
            "crates/cli/src/main.rs",
            "xtask/src/main.rs",
            "fuzz/targets/screen.rs",
            "crates/terminal/examples/render.rs",
            "crates/testkit/src/agent.rs",
            "crates/terminal/benches/terminal/main.rs",
            "crates/terminal/tests/screen.rs",
        ] {
            assert_eq!(lines(path, "io::stdout();"), [0; 0], "{path}");
        }
        for path in ["crates/terminal/src/tests/a.rs", "crates/testkit/src/lib.rs"] {
            assert_eq!(lines(path, "io::stdout();"), [1], "{path}");
        }
    }
}
