//! YAML 1.2 to a tree.
//!
//! The grammar is granit-parser's, which is what serde-saphyr stands on: it gives every event its
//! bytes. Here its events become nodes, without recursion, and aliases are expanded on a budget.

use std::collections::{HashMap, HashSet};

use granit_parser::{Event, Parser, ScalarStyle, Span as Place, StructureStyle, Tag};

use super::{MAX_DEPTH, MAX_PROBLEMS, Weight, duplicates, scalar, too_deep, too_many_nodes};
use crate::{Entry, Node, Problem, Span, Value, near};

pub(super) fn parse(text: &str) -> Result<Node, Vec<Problem>> {
    let options = granit_parser::options! {
        emit_unresolved_aliases: true,
        emit_anchor_events: true,
        emit_comments: false,
        flow_nesting_limit: MAX_DEPTH,
        block_nesting_limit: MAX_DEPTH,
    };
    let mut tree = Builder { text, ..Builder::default() };
    for event in Parser::new_from_str_with_options(text, options) {
        let go_on = match event {
            Ok((event, place)) => tree.take(event, place),
            Err(error) => {
                tree.problems.push(super::yaml_errors::explain(text, &error));
                Err(Stop)
            }
        };
        if go_on.is_err() || tree.problems.len() >= MAX_PROBLEMS {
            break;
        }
    }
    match tree.root {
        Some(root) if tree.problems.is_empty() => Ok(root),
        None if tree.problems.is_empty() => Err(vec![super::empty_file()]),
        _ => Err(tree.problems),
    }
}

/// What follows cannot be read; the reason is among the problems.
struct Stop;

#[derive(Default)]
struct Builder<'a> {
    text: &'a str,
    open: Vec<Frame>,
    root: Option<Node>,
    documents: usize,
    problems: Vec<Problem>,
    /// Finished nodes that have an anchor.
    anchors: HashMap<usize, Anchored>,
    names: HashSet<String>,
    total: Weight,
    /// What the copies behind anchors weigh.
    kept: Weight,
    /// Where the previous event ended.
    last: usize,
}

struct Anchored {
    node: Node,
    weight: Weight,
    height: usize,
}

/// A list or map that is not finished.
struct Frame {
    value: Value,
    /// The key whose value comes next; its text is missing when it was refused.
    key: Option<(Option<String>, Span)>,
    style: StructureStyle,
    anchor: usize,
    start: usize,
    weight: Weight,
    height: usize,
}

impl Builder<'_> {
    fn take(&mut self, event: Event<'_>, place: Place) -> Result<(), Stop> {
        let range = place.byte_range().unwrap_or(0..0);
        let mut span = Span::new(range.start, range.end);
        match event {
            Event::DocumentStart(explicit, _) => {
                self.documents += 1;
                if self.documents > 1 {
                    let message = "the file has more than one YAML document";
                    self.problems.push(
                        Problem::error("several-documents", span, message)
                            .label("the second one starts here")
                            .help(
                                "a file holds one document; move the others to files of their own",
                            ),
                    );
                    return Err(Stop);
                }
                if !explicit {
                    // The place is that of the first token, which is still to come.
                    return Ok(());
                }
            }
            Event::Scalar(text, style, anchor, tag) => {
                if matches!(style, ScalarStyle::Literal | ScalarStyle::Folded) {
                    span = self.block(span);
                }
                if self.documents == 1 && self.open.is_empty() && span.start == span.end {
                    // Nothing but comments or `---`: as empty as no document at all.
                    return Ok(());
                }
                let value = self.scalar(&text, style, tag.as_deref(), span);
                let weight = Weight { nodes: 1, bytes: text.len() };
                self.last = self.last.max(span.end);
                self.charge(weight, span)?;
                return self.add(Node { value, span }, weight, 0, anchor);
            }
            Event::SequenceStart(style, anchor, tag) => {
                self.tag(tag.as_deref(), "seq", span);
                self.enter(Value::List(Vec::new()), style, anchor, span)?;
            }
            Event::MappingStart(style, anchor, tag) => {
                self.tag(tag.as_deref(), "map", span);
                self.enter(Value::Map(Vec::new()), style, anchor, span)?;
            }
            Event::SequenceEnd | Event::MappingEnd => return self.leave(span),
            Event::Anchor(_, name) => {
                self.names.insert(name.into_owned());
            }
            Event::Alias(id) => return self.alias(id, span),
            Event::UnresolvedAlias(name) => {
                // To compare every wrong name with every known one is for files of a human size.
                let known = Some(&self.names).filter(|names| names.len() <= 1000);
                let meant = near(&name, known.into_iter().flatten());
                let help = meant.first().map(|meant| format!("did you mean `*{meant}`?"));
                let message = format!("there is no anchor `&{name}` before this alias");
                self.problems.push(Problem::error("unknown-alias", span, message).maybe_help(help));
                return self.add(Node { value: Value::Null, span }, Weight::default(), 0, 0);
            }
            _ => {}
        }
        self.last = self.last.max(span.end);
        Ok(())
    }

    fn enter(
        &mut self,
        value: Value,
        style: StructureStyle,
        anchor: usize,
        span: Span,
    ) -> Result<(), Stop> {
        if self.open.len() >= MAX_DEPTH {
            self.problems.push(too_deep(span));
            return Err(Stop);
        }
        let weight = Weight { nodes: 1, bytes: 0 };
        self.charge(weight, span)?;
        let frame = Frame { value, key: None, style, anchor, start: span.start, weight, height: 0 };
        self.open.push(frame);
        Ok(())
    }

    fn leave(&mut self, span: Span) -> Result<(), Stop> {
        let Some(frame) = self.open.pop() else { return Ok(()) };
        // A block ends in front of whatever ends it; its own end is that of its last value.
        let end = match frame.style {
            StructureStyle::Flow => span.end,
            StructureStyle::Block => match &frame.value {
                Value::List(items) => items.last().map_or(span.end, |item| item.span.end),
                Value::Map(entries) => entries.last().map_or(span.end, |e| e.value.span.end),
                _ => span.end,
            },
        };
        self.last = self.last.max(end);
        let node = Node { value: frame.value, span: Span::new(frame.start, end) };
        duplicates(&node, &mut self.problems);
        self.add(node, frame.weight, frame.height + 1, frame.anchor)
    }

    fn alias(&mut self, id: usize, span: Span) -> Result<(), Stop> {
        self.last = self.last.max(span.end);
        let Some(anchored) = self.anchors.get(&id) else {
            let message = "this alias lies inside the value it stands for";
            self.problems.push(Problem::error("alias-cycle", span, message));
            return self.add(Node { value: Value::Null, span }, Weight::default(), 0, 0);
        };
        let (weight, height) = (anchored.weight, anchored.height);
        if self.open.len() + height > MAX_DEPTH {
            self.problems.push(too_deep(span));
            return Err(Stop);
        }
        // Before anything is copied: this is where a bomb would go off.
        self.charge(weight, span)?;
        let value = self.anchors.get(&id).map_or(Value::Null, |kept| kept.node.value.clone());
        self.add(Node { value, span }, weight, height, 0)
    }

    /// Counts what was read, before it is kept.
    fn charge(&mut self, weight: Weight, span: Span) -> Result<(), Stop> {
        self.total = self.total.plus(weight);
        if self.total.is_too_much() {
            self.problems.push(too_many_nodes(span));
            return Err(Stop);
        }
        Ok(())
    }

    /// Puts a finished node where it belongs.
    fn add(
        &mut self,
        node: Node,
        weight: Weight,
        height: usize,
        anchor: usize,
    ) -> Result<(), Stop> {
        if anchor != 0 {
            self.kept = self.kept.plus(weight);
            if self.kept.is_too_much() {
                self.problems.push(too_many_nodes(node.span));
                return Err(Stop);
            }
            self.anchors.insert(anchor, Anchored { node: node.clone(), weight, height });
        }
        let Some(frame) = self.open.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        frame.weight = frame.weight.plus(weight);
        frame.height = frame.height.max(height);
        match &mut frame.value {
            Value::List(items) => items.push(node),
            Value::Map(entries) => match frame.key.take() {
                Some((Some(key), key_span)) => entries.push(Entry { key, key_span, value: node }),
                Some((None, _)) => {}
                None => {
                    let key = key_text(self.text, &node);
                    if let Err(message) = &key {
                        let problem = Problem::error("bad-key", node.span, *message);
                        self.problems.push(problem);
                    }
                    frame.key = Some((key.ok(), node.span));
                }
            },
            _ => {}
        }
        Ok(())
    }

    fn scalar(&mut self, text: &str, style: ScalarStyle, tag: Option<&Tag>, span: Span) -> Value {
        let plain = style == ScalarStyle::Plain;
        let kind = tag.and_then(Tag::core_suffix);
        let value = match kind {
            Some("str") => return Value::String(text.to_owned()),
            Some("null") if matches!(text, "" | "~" | "null") => return Value::Null,
            Some("bool" | "int" | "float") => scalar::plain(text),
            Some(_) => None,
            None => {
                if let Some(tag) = tag.filter(|tag| tag.original() != "!") {
                    self.unsupported(tag, span);
                }
                if !plain || tag.is_some() {
                    return Value::String(text.to_owned());
                }
                scalar::plain(text)
            }
        };
        let fits = match (kind, &value) {
            (None, Some(_))
            | (Some("bool"), Some(Value::Bool(_)))
            | (Some("int" | "float"), Some(Value::Integer(_) | Value::Unsigned(_)))
            | (Some("float"), Some(Value::Float(_))) => value,
            _ => None,
        };
        fits.unwrap_or_else(|| {
            let message = match kind {
                None => format!("`{text}` is not a number that can be used"),
                Some(kind) => format!("`{text}` is not what its tag `!!{kind}` says"),
            };
            self.problems.push(Problem::error("bad-scalar", span, message));
            Value::Null
        })
    }

    /// Collections may say what they are; any other tag is refused.
    fn tag(&mut self, tag: Option<&Tag>, own: &str, span: Span) {
        if let Some(tag) = tag
            && tag.core_suffix() != Some(own)
            && tag.original() != "!"
        {
            self.unsupported(tag, span);
        }
    }

    fn unsupported(&mut self, tag: &Tag, span: Span) {
        let message = format!("the tag `{}` is not supported", tag.original());
        let help = "write the value without a tag";
        self.problems.push(Problem::error("unsupported-tag", span, message).help(help));
    }

    /// The parser gives a block scalar the span of its content. Ours starts at the `|` or `>`,
    /// so that the style can be seen from the span, and ends with the last line that has text.
    fn block(&self, span: Span) -> Span {
        let from = self.last.min(span.start);
        let before = &self.text[from..span.start];
        let end = self.text[..span.end].trim_end().len();
        let header = before
            .match_indices(['|', '>'])
            .find(|(at, _)| is_header(&before[*at + 1..]) && !before[..*at].ends_with(is_word));
        match header {
            Some((at, _)) => Span::new(from + at, end.max(from + at + 1)),
            None => span,
        }
    }
}

/// Whether this follows the `|` or `>` of a block scalar: indicators, a comment, the line's end.
fn is_header(after: &str) -> bool {
    let line = after.lines().next().unwrap_or_default();
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-'));
    rest.trim().is_empty() || (rest.starts_with([' ', '\t']) && rest.trim_start().starts_with('#'))
}

fn is_word(c: char) -> bool {
    !c.is_whitespace()
}

/// A key as text: strings as they are, numbers and booleans as they were written.
fn key_text(text: &str, node: &Node) -> Result<String, &'static str> {
    match &node.value {
        Value::String(key) => Ok(key.clone()),
        Value::List(_) | Value::Map(_) => Err("a key must be text, not a list or a map"),
        Value::Null if node.span.start == node.span.end => Err("a key is missing before the `:`"),
        _ => Ok(text[node.span.range()].to_owned()),
    }
}
