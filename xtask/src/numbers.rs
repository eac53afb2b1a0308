//! `cargo xtask numbers`: counts what a stranger meets when reading the code: names, comments,
//! discarded results and lines. The figures are for comparing two states of the tree, or this tree
//! with another (`--root`).

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::cargo;
use crate::error::Error;
use crate::tidy::lexer::{code, comments, tokens};
use crate::tidy::names::{COMPONENT_NAMES, MOST_DEFINITIONS, is_production, without_tests};
use crate::tidy::tree::{self, TreeFile};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Another tree to count, instead of this workspace
    #[arg(long, value_name = "FOLDER")]
    root: Option<PathBuf>,
    /// Also list the names behind the counts
    #[arg(long)]
    names: bool,
}

/// Words that stand where a technical noun should.
const VAGUE_WORDS: [&str; 3] = ["whoever", "nobody", "somebody"];

/// A doc comment of at most so many words says nothing that the name does not.
const SHORT_DOC_WORDS: usize = 3;

pub(crate) fn run(args: &Args) -> Result<(), Error> {
    let root = args.root.clone().unwrap_or_else(cargo::root);
    let files = tree::read(&root)?;
    let counts = Counts::of(files.iter().filter(|file| is_production(&file.path)));
    print!("{}", counts.report(args.names));
    Ok(())
}

#[derive(Debug, Default)]
struct Counts {
    files: usize,
    code_lines: usize,
    types: BTreeMap<String, usize>,
    constants: BTreeMap<String, usize>,
    vague: BTreeMap<&'static str, usize>,
    docs: usize,
    short_docs: usize,
    discarded: usize,
}

impl Counts {
    fn of<'a>(files: impl Iterator<Item = &'a TreeFile>) -> Self {
        let mut counts = Self::default();
        for file in files {
            counts.add(without_tests(&file.text));
        }
        counts
    }

    fn add(&mut self, text: &str) {
        self.files += 1;
        let (code, comments) = (code(text), comments(text));
        self.code_lines += code.lines().filter(|line| !line.trim().is_empty()).count();
        let tokens = tokens(&code);
        for (at, token) in tokens.iter().enumerate() {
            let word = |ahead: usize| tokens.get(at + ahead).map_or("", |token| token.text);
            match token.text {
                "struct" | "enum" | "trait" => count(&mut self.types, word(1)),
                // `const fn` and constants of patterns are none.
                "const" if word(2) == ":" => count(&mut self.constants, word(1)),
                "let" if word(1) == "_" && word(2) == "=" => self.discarded += 1,
                _ => {}
            }
        }
        for line in comments.lines() {
            let lower = line.to_lowercase();
            for vague in VAGUE_WORDS {
                let found = lower.split(|c: char| !c.is_alphanumeric()).any(|word| word == vague);
                *self.vague.entry(vague).or_default() += usize::from(found);
            }
        }
        for doc in docs(&comments) {
            self.docs += 1;
            self.short_docs += usize::from(doc.split_whitespace().count() <= SHORT_DOC_WORDS);
        }
    }

    fn report(&self, names: bool) -> String {
        let definitions: usize = self.types.values().sum();
        let one_word: usize =
            self.types.iter().filter(|(name, _)| is_one_word(name)).map(|(_, count)| count).sum();
        let repeated = |names: &BTreeMap<String, usize>| {
            let often = |(_, count): &(&String, &usize)| **count > MOST_DEFINITIONS;
            let unusual = |(name, _): &(&String, &usize)| !COMPONENT_NAMES.contains(&name.as_str());
            let mut found: Vec<_> = names.iter().filter(often).filter(unusual).collect();
            found.sort_by_key(|(name, count)| (usize::MAX - **count, (*name).clone()));
            found.iter().map(|(name, count)| format!("{name} {count}")).collect::<Vec<_>>()
        };
        let vague: Vec<String> =
            self.vague.iter().map(|(word, count)| format!("{word} {count}")).collect();
        let vague_lines: usize = self.vague.values().sum();
        let percent = |part: usize, all: usize| 100 * part / all.max(1);
        let mut lines = vec![
            format!("files {}, code lines {}", self.files, self.code_lines),
            format!(
                "types {definitions}, with one word {one_word} ({} %)",
                percent(one_word, definitions)
            ),
            format!(
                "type names with more than {MOST_DEFINITIONS} definitions: {}",
                repeated(&self.types).join(", ")
            ),
            format!(
                "constants with more than {MOST_DEFINITIONS} definitions: {}",
                repeated(&self.constants).join(", ")
            ),
            format!("comment lines with vague words {vague_lines}: {}", vague.join(", ")),
            format!(
                "doc comments {}, of {SHORT_DOC_WORDS} words or less {} ({} %)",
                self.docs,
                self.short_docs,
                percent(self.short_docs, self.docs)
            ),
            format!(
                "discarded results (let _ =) {}, per 1,000 code lines {}.{}",
                self.discarded,
                1000 * self.discarded / self.code_lines.max(1),
                10_000 * self.discarded / self.code_lines.max(1) % 10
            ),
        ];
        if names {
            let one_word = self.types.keys().filter(|name| is_one_word(name));
            lines.push(format!(
                "types with one word: {}",
                one_word.cloned().collect::<Vec<_>>().join(", ")
            ));
        }
        lines.join("\n") + "\n"
    }
}

fn count(names: &mut BTreeMap<String, usize>, name: &str) {
    if name.starts_with(|first: char| first.is_ascii_alphabetic()) {
        *names.entry(name.to_owned()).or_default() += 1;
    }
}

/// Whether a type's name has one hump, such as `Place`.
fn is_one_word(name: &str) -> bool {
    name.chars().filter(char::is_ascii_uppercase).count() == 1
}

/// The doc comments of items and fields: neighbouring lines are one.
fn docs(comments: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut open = false;
    for line in comments.lines() {
        let doc = line.trim().strip_prefix("///");
        match (doc, open) {
            (Some(text), true) => {
                if let Some(last) = found.last_mut() {
                    last.push_str(text);
                }
            }
            (Some(text), false) => found.push(text.to_owned()),
            (None, _) => {}
        }
        open = doc.is_some();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_stranger_meets_is_counted_and_tests_are_not() {
        let mut counts = Counts::default();
        counts.add(without_tests(
            "/// When.\nstruct Place;\n\n/// What the session actor\n/// publishes to readers.\n\
             enum SessionState { A }\n// Nobody reads \"struct Quoted\".\nconst LOOK: u8 = 1;\n\
             const fn f() { let _ = 1; let _x = 2; }\n\n#[cfg(test)]\nmod tests { struct Hidden; }\n",
        ));
        assert_eq!(counts.types.keys().collect::<Vec<_>>(), ["Place", "SessionState"]);
        assert_eq!(counts.constants.keys().collect::<Vec<_>>(), ["LOOK"]);
        assert_eq!((counts.docs, counts.short_docs, counts.discarded), (2, 1, 1));
        assert_eq!(counts.vague["nobody"], 1);
        assert!(counts.report(true).contains("types 2, with one word 1 (50 %)"));
    }
}
