//! A pattern for a whole text, such as a command.

use regex::Regex;

#[derive(Debug, Clone)]
pub(crate) struct WholePattern {
    regex: Regex,
    /// The pattern is nothing but the text it stands for.
    pub(crate) exact: bool,
}

impl WholePattern {
    /// The pattern that holds for a text from its first to its last character.
    pub(crate) fn new(part: &Regex) -> Result<Self, regex::Error> {
        let source = part.as_str();
        let regex = Regex::new(&format!(r"\A(?:{source})\z"))?;
        let parsed = regex_syntax::parse(source).ok();
        let exact = parsed.is_some_and(|parsed| parsed.properties().is_literal());
        Ok(Self { regex, exact })
    }

    pub(crate) fn matches(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }
}
