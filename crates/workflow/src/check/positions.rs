//! Where the fields of a step stand, for errors that show only when it starts.

use std::collections::BTreeMap;

use coven_notation::{SourceFile, SourceNode};

use crate::plan::SourceLocation;

/// Finds places one after another. A file may be one line of megabytes, so what was counted once
/// is not counted again.
pub(crate) struct PositionFinder<'a> {
    source: &'a SourceFile,
    at: usize,
    line: u32,
    column: u32,
}

impl<'a> PositionFinder<'a> {
    pub(crate) fn new(source: &'a SourceFile) -> Self {
        Self { source, at: 0, line: 1, column: 1 }
    }

    /// The places of all fields of a step or task, by name: `prompt`, `env.NAME`,
    /// `arbiter.prompt`, `until.command`.
    pub(crate) fn of(
        &mut self,
        node: &SourceNode,
        prefix: &str,
    ) -> BTreeMap<String, SourceLocation> {
        let mut places = BTreeMap::new();
        self.collect(node, prefix, &mut places);
        places
    }

    fn collect(
        &mut self,
        node: &SourceNode,
        prefix: &str,
        places: &mut BTreeMap<String, SourceLocation>,
    ) {
        for entry in node.entries() {
            let name = format!("{prefix}{}", entry.key);
            if matches!(entry.key.as_str(), "env" | "arbiter" | "until") {
                self.collect(&entry.value, &format!("{name}."), places);
            } else {
                places.insert(name, self.place(entry.value.span.start));
            }
        }
    }

    fn place(&mut self, offset: usize) -> SourceLocation {
        if offset < self.at {
            // Behind an alias, what lies inside stands further up.
            let position = self.source.position(offset);
            let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
            return SourceLocation { line: number(position.line), column: number(position.column) };
        }
        let between = self.source.text().get(self.at..offset).unwrap_or_default();
        for character in between.chars() {
            if character == '\n' {
                self.line += 1;
                self.column = 1;
            } else {
                self.column += 1;
            }
        }
        self.at = offset;
        SourceLocation { line: self.line, column: self.column }
    }
}
