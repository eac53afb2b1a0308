//! Everything this crate does to a text, with what must hold for any text. The tests and the
//! fuzz target `notation` share it.

use std::sync::OnceLock;

use coven_notation::{
    FileSyntax, HumanDuration, NodeValue, ProblemReport, SourceFile, SourceNode, SourceSpan, check,
    parse, read, schema_of, within,
};
use schemars::JsonSchema;
use serde::Deserialize;

/// A file with all that schemas here have: references, alternatives, bounds, forms.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "it is only read")]
pub(crate) struct File {
    /// A name.
    #[schemars(regex(pattern = r"^[a-z-]+$"))]
    pub(crate) name: String,
    /// What to do.
    #[serde(default)]
    pub(crate) steps: Vec<Step>,
    /// How long.
    pub(crate) timeout: Option<HumanDuration>,
    /// More files inside this one.
    pub(crate) inner: Option<Box<File>>,
}

/// A step, told apart by `type`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case", deny_unknown_fields)]
#[allow(dead_code, reason = "it is only read")]
pub(crate) enum Step {
    /// Runs an agent.
    Agent {
        /// What it is told.
        prompt: String,
        /// One code or several.
        codes: Option<Codes>,
    },
    /// Waits.
    Gate {
        /// What must succeed.
        command: Option<String>,
    },
}

/// One code or several.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
#[allow(dead_code, reason = "it is only read")]
pub(crate) enum Codes {
    /// One.
    One(u8),
    /// Several.
    Several(Vec<u8>),
}

/// Reads a text in both syntaxes and holds the results against what must be true of them.
///
/// # Panics
///
/// When something does not hold.
pub(crate) fn any_text(text: &str) {
    let source = SourceFile::new("file\u{1b}", text);
    for syntax in [FileSyntax::Yaml, FileSyntax::Json] {
        let parsed = parse(&source, syntax);
        if syntax == FileSyntax::Json {
            as_serde_json_says(&source, &parsed);
        }
        match &parsed {
            Ok(node) => {
                tree(&source, node);
                harmless(&ProblemReport::new(source.clone(), check(node, schema())));
            }
            Err(problems) => {
                assert!(!problems.is_empty(), "refused without a reason");
                harmless(&ProblemReport::new(source.clone(), problems.clone()));
            }
        }
        let read = read::<File>(&source, syntax);
        assert_eq!(read.node.is_some(), parsed.is_ok());
        assert_eq!(read.value.is_some(), read.problems.is_empty(), "{:?}", read.problems);
        harmless(&ProblemReport::new(source.clone(), read.problems));
    }
}

/// Made once: the fuzzer comes here thousands of times a second.
fn schema() -> &'static serde_json::Value {
    static SCHEMA: OnceLock<serde_json::Value> = OnceLock::new();
    SCHEMA.get_or_init(schema_of::<File>)
}

/// What is accepted as JSON is what `serde_json` accepts, but for our limits, with the same value.
fn as_serde_json_says(
    source: &SourceFile,
    parsed: &Result<SourceNode, Vec<coven_notation::FileProblem>>,
) {
    let theirs = serde_json::from_str::<serde_json::Value>(source.text());
    match (parsed, theirs) {
        (Ok(node), Ok(value)) => assert_eq!(node.to_json(), value),
        (Ok(_), Err(error)) => panic!("serde_json refuses it: {error}"),
        (Err(problems), Ok(_)) => {
            let limits = ["duplicate-key", "too-deep", "too-many-values"];
            let is_limit = |code: &str| limits.contains(&code);
            assert!(problems.iter().all(|problem| is_limit(problem.code)), "{problems:?}");
        }
        (Err(_), Err(_)) => {}
    }
}

/// Every place is in the text, on whole characters, and pieces of strings lie in their strings.
fn tree(source: &SourceFile, node: &SourceNode) {
    place(source, node.span);
    if let NodeValue::String(text) = &node.value {
        let ends = text.char_indices().map(|(at, _)| at).chain([text.len()]);
        for at in ends.take(64) {
            for end in [at, text.len()] {
                let span = within(source, node, at..end);
                place(source, span);
                assert!(span.start >= node.span.start && span.end <= node.span.end);
            }
        }
    }
    for item in node.items() {
        tree(source, item);
    }
    for entry in node.entries() {
        place(source, entry.key_span);
        tree(source, &entry.value);
    }
}

fn place(source: &SourceFile, span: SourceSpan) {
    assert!(source.text().get(span.range()).is_some(), "{span:?}");
}

/// Nothing of the file can do something to a terminal.
fn harmless(report: &ProblemReport) {
    for problem in &report.problems {
        place(&report.source, problem.span);
        for (also, _) in &problem.also {
            place(&report.source, *also);
        }
    }
    let is_bad = |c: char| c != '\n' && c.is_control();
    let plain = report.render(false);
    assert!(!plain.contains(is_bad), "{plain:?}");
    // With colours, the only escape sequences are ours.
    let coloured = report.render(true);
    for after in coloured.split('\u{1b}').skip(1) {
        let end = after.find(|c: char| !c.is_ascii_digit() && !"[;".contains(c));
        assert!(end.is_some_and(|end| after.as_bytes()[end] == b'm'), "{coloured:?}");
    }
    let json = report.to_json();
    assert_eq!(json.as_array().map(Vec::len), Some(report.problems.len()));
}
