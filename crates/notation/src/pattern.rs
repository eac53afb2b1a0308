//! Regular expressions in files, with their mistakes at the exact place.

use regex::{Regex, RegexBuilder};

use crate::{FileProblem, SourceFile, SourceNode, within};

/// The flags that [`compile`] knows.
const FLAGS: &str = "imsx";

/// Compiles the regular expression in a string node.
///
/// `flags` are letters out of `i` (case does not matter), `m` (`^` and `$` at every line), `s`
/// (`.` matches line breaks) and `x` (white space is ignored). The problem points at the part of
/// the expression that is wrong.
pub fn compile(
    source: &SourceFile,
    node: &SourceNode,
    flags: &str,
) -> Result<Regex, Box<FileProblem>> {
    let problem = |message: String| Box::new(FileProblem::error("bad-pattern", node.span, message));
    let Some(text) = node.as_str() else {
        return Err(problem("a regular expression must be a string".to_owned()));
    };
    if let Some(flag) = flags.chars().find(|flag| !FLAGS.contains(*flag)) {
        return Err(problem(format!("`{flag}` is not a flag; there are `i`, `m`, `s` and `x`")));
    }
    let has = |flag: char| flags.contains(flag);
    let parsed = regex_syntax::ParserBuilder::new().ignore_whitespace(has('x')).build().parse(text);
    if let Err(error) = parsed {
        let (message, piece) = match &error {
            regex_syntax::Error::Parse(error) => (error.kind().to_string(), error.span()),
            regex_syntax::Error::Translate(error) => (error.kind().to_string(), error.span()),
            _ => return Err(problem(format!("not a regular expression: {error}"))),
        };
        let mut problem = problem(format!("not a regular expression: {message}"));
        problem.span = within(source, node, piece.start.offset..piece.end.offset);
        problem.help = dialect_hint(text);
        return Err(problem);
    }
    RegexBuilder::new(text)
        .case_insensitive(has('i'))
        .multi_line(has('m'))
        .dot_matches_new_line(has('s'))
        .ignore_whitespace(has('x'))
        .build()
        .map_err(|error| problem(format!("not a regular expression: {error}")))
}

/// What people who know other dialects try, and this one does not have.
fn dialect_hint(text: &str) -> Option<String> {
    let look_around = ["(?=", "(?!", "(?<=", "(?<!"].iter().any(|piece| text.contains(piece));
    let help = "look-ahead and look-behind do not exist here; match the text itself";
    look_around.then(|| help.to_owned())
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::compile;
    use crate::{FileSyntax, ProblemReport, SourceFile, parse};

    fn about(text: &str, syntax: FileSyntax, flags: &str) -> String {
        let source = SourceFile::new("file", text);
        let node = parse(&source, syntax).unwrap();
        let problem = compile(&source, node.get("p").unwrap(), flags).unwrap_err();
        ProblemReport::new(source, vec![*problem]).render(false)
    }

    #[test]
    fn the_part_that_is_wrong_is_marked() {
        assert_snapshot!(about("{\"p\": \"a\\\\d(b\"}", FileSyntax::Json, ""), @r#"
        error[bad-pattern]: not a regular expression: unclosed group
         --> file:1:12
          |
        1 | {"p": "a\\d(b"}
          |            ^
        "#);
        assert_snapshot!(about("p: 'it''s [z-a]'\n", FileSyntax::Yaml, "i"), @r"
        error[bad-pattern]: not a regular expression: invalid character class range, the start must be <= the end
         --> file:1:12
          |
        1 | p: 'it''s [z-a]'
          |            ^^^
        ");
        assert_snapshot!(about("p: a(?!b)\n", FileSyntax::Yaml, ""), @r"
        error[bad-pattern]: not a regular expression: look-around, including look-ahead and look-behind, is not supported
         --> file:1:5
          |
        1 | p: a(?!b)
          |     ^^^
          |
          = help: look-ahead and look-behind do not exist here; match the text itself
        ");
        assert_snapshot!(about("p: \"\\\\p{Nope}\"\n", FileSyntax::Yaml, ""), @r#"
        error[bad-pattern]: not a regular expression: Unicode property not found
         --> file:1:5
          |
        1 | p: "\\p{Nope}"
          |     ^^^^^^^^^
        "#);
    }

    #[test]
    fn flags_types_and_sizes_are_checked() {
        assert_snapshot!(about("p: a\n", FileSyntax::Yaml, "ig"), @r"
        error[bad-pattern]: `g` is not a flag; there are `i`, `m`, `s` and `x`
         --> file:1:4
          |
        1 | p: a
          |    ^
        ");
        assert_snapshot!(about("p: 3\n", FileSyntax::Yaml, ""), @r"
        error[bad-pattern]: a regular expression must be a string
         --> file:1:4
          |
        1 | p: 3
          |    ^
        ");
        assert_snapshot!(about("p: (a{1000}){1000}\n", FileSyntax::Yaml, ""), @r"
        error[bad-pattern]: not a regular expression: Compiled regex exceeds size limit of 10485760 bytes.
         --> file:1:4
          |
        1 | p: (a{1000}){1000}
          |    ^^^^^^^^^^^^^^^
        ");
    }

    #[test]
    fn flags_mean_what_they_say() {
        let source = SourceFile::new("file", "p: ^a . B$ # x");
        let node = parse(&source, FileSyntax::Yaml).unwrap();
        let regex = compile(&source, node.get("p").unwrap(), "imsx").unwrap();
        assert!(regex.is_match("x\nA\nb\ny"));
        assert!(!compile(&source, node.get("p").unwrap(), "").unwrap().is_match("A\nb"));
    }
}
