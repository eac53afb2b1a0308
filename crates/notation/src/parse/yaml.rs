//! YAML 1.2 to a tree.
//!
//! The grammar is granit-parser's, which is what serde-saphyr stands on: it gives every event its
//! bytes. Here its events become nodes, without recursion, and aliases are expanded on a budget.

use std::collections::{HashMap, HashSet};

use granit_parser::{Event, Parser, ScalarStyle, Span as Place, StructureStyle, Tag};

use super::{LimitUsage, MAX_DEPTH, MAX_PROBLEMS, duplicates, scalar, too_deep, too_many_nodes};
use crate::{FileProblem, MapEntry, NodeValue, SourceNode, SourceSpan, near};

pub(super) fn parse(text: &str) -> Result<SourceNode, Vec<FileProblem>> {
    let options = granit_parser::options! {
        emit_unresolved_aliases: true,
        emit_anchor_events: true,
        emit_comments: false,
        flow_nesting_limit: MAX_DEPTH,
        block_nesting_limit: MAX_DEPTH,
    };
    let mut tree = TreeBuilder { text, ..TreeBuilder::default() };
    for event in Parser::new_from_str_with_options(text, options) {
        let go_on = match event {
            Ok((event, place)) => tree.take(event, place),
            Err(error) => {
                tree.problems.push(super::yaml_errors::explain(text, &error));
                Err(YamlAborted)
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
struct YamlAborted;

#[derive(Default)]
struct TreeBuilder<'a> {
    text: &'a str,
    open: Vec<OpenCollection>,
    root: Option<SourceNode>,
    documents: usize,
    problems: Vec<FileProblem>,
    /// Finished nodes that have an anchor.
    anchors: HashMap<usize, AnchoredNode>,
    names: HashSet<String>,
    total: LimitUsage,
    /// What the copies behind anchors weigh.
    kept: LimitUsage,
    /// Where the previous event ended.
    last: usize,
}

struct AnchoredNode {
    node: SourceNode,
    weight: LimitUsage,
    height: usize,
}

/// A list or map that is not finished.
struct OpenCollection {
    value: NodeValue,
    /// The key whose value comes next; its text is missing when it was refused.
    key: Option<(Option<String>, SourceSpan)>,
    style: StructureStyle,
    anchor: usize,
    start: usize,
    weight: LimitUsage,
    height: usize,
}

impl TreeBuilder<'_> {
    fn take(&mut self, event: Event<'_>, place: Place) -> Result<(), YamlAborted> {
        let range = place.byte_range().unwrap_or(0..0);
        let mut span = SourceSpan::new(range.start, range.end);
        match event {
            Event::DocumentStart(explicit, _) => {
                self.documents += 1;
                if self.documents > 1 {
                    let message = "the file has more than one YAML document";
                    self.problems.push(
                        FileProblem::error("several-documents", span, message)
                            .label("the second one starts here")
                            .help(
                                "a file holds one document; move the others to files of their own",
                            ),
                    );
                    return Err(YamlAborted);
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
                let weight = LimitUsage { nodes: 1, bytes: text.len() };
                self.last = self.last.max(span.end);
                self.charge(weight, span)?;
                return self.add(SourceNode { value, span }, weight, 0, anchor);
            }
            Event::SequenceStart(style, anchor, tag) => {
                self.tag(tag.as_deref(), "seq", span);
                self.enter(NodeValue::List(Vec::new()), style, anchor, span)?;
            }
            Event::MappingStart(style, anchor, tag) => {
                self.tag(tag.as_deref(), "map", span);
                self.enter(NodeValue::Map(Vec::new()), style, anchor, span)?;
            }
            Event::SequenceEnd | Event::MappingEnd => return self.close_collection(span),
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
                self.problems
                    .push(FileProblem::error("unknown-alias", span, message).maybe_help(help));
                return self.add(
                    SourceNode { value: NodeValue::Null, span },
                    LimitUsage::default(),
                    0,
                    0,
                );
            }
            _ => {}
        }
        self.last = self.last.max(span.end);
        Ok(())
    }

    fn enter(
        &mut self,
        value: NodeValue,
        style: StructureStyle,
        anchor: usize,
        span: SourceSpan,
    ) -> Result<(), YamlAborted> {
        if self.open.len() >= MAX_DEPTH {
            self.problems.push(too_deep(span));
            return Err(YamlAborted);
        }
        let weight = LimitUsage { nodes: 1, bytes: 0 };
        self.charge(weight, span)?;
        let frame = OpenCollection {
            value,
            key: None,
            style,
            anchor,
            start: span.start,
            weight,
            height: 0,
        };
        self.open.push(frame);
        Ok(())
    }

    fn close_collection(&mut self, span: SourceSpan) -> Result<(), YamlAborted> {
        let Some(frame) = self.open.pop() else { return Ok(()) };
        // A block ends in front of whatever ends it; its own end is that of its last value.
        let end = match frame.style {
            StructureStyle::Flow => span.end,
            StructureStyle::Block => match &frame.value {
                NodeValue::List(items) => items.last().map_or(span.end, |item| item.span.end),
                NodeValue::Map(entries) => entries.last().map_or(span.end, |e| e.value.span.end),
                _ => span.end,
            },
        };
        self.last = self.last.max(end);
        let node = SourceNode { value: frame.value, span: SourceSpan::new(frame.start, end) };
        duplicates(&node, &mut self.problems);
        self.add(node, frame.weight, frame.height + 1, frame.anchor)
    }

    fn alias(&mut self, id: usize, span: SourceSpan) -> Result<(), YamlAborted> {
        self.last = self.last.max(span.end);
        let Some(anchored) = self.anchors.get(&id) else {
            let message = "this alias lies inside the value it stands for";
            self.problems.push(FileProblem::error("alias-cycle", span, message));
            return self.add(
                SourceNode { value: NodeValue::Null, span },
                LimitUsage::default(),
                0,
                0,
            );
        };
        let (weight, height) = (anchored.weight, anchored.height);
        if self.open.len() + height > MAX_DEPTH {
            self.problems.push(too_deep(span));
            return Err(YamlAborted);
        }
        // Before anything is copied: this is where a bomb would go off.
        self.charge(weight, span)?;
        let value = self.anchors.get(&id).map_or(NodeValue::Null, |kept| kept.node.value.clone());
        self.add(SourceNode { value, span }, weight, height, 0)
    }

    /// Counts what was read, before it is kept.
    fn charge(&mut self, weight: LimitUsage, span: SourceSpan) -> Result<(), YamlAborted> {
        self.total = self.total.plus(weight);
        if self.total.exceeds_limits() {
            self.problems.push(too_many_nodes(span));
            return Err(YamlAborted);
        }
        Ok(())
    }

    /// Puts a finished node where it belongs.
    fn add(
        &mut self,
        node: SourceNode,
        weight: LimitUsage,
        height: usize,
        anchor: usize,
    ) -> Result<(), YamlAborted> {
        if anchor != 0 {
            self.kept = self.kept.plus(weight);
            if self.kept.exceeds_limits() {
                self.problems.push(too_many_nodes(node.span));
                return Err(YamlAborted);
            }
            self.anchors.insert(anchor, AnchoredNode { node: node.clone(), weight, height });
        }
        let Some(frame) = self.open.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        frame.weight = frame.weight.plus(weight);
        frame.height = frame.height.max(height);
        match &mut frame.value {
            NodeValue::List(items) => items.push(node),
            NodeValue::Map(entries) => match frame.key.take() {
                Some((Some(key), key_span)) => {
                    entries.push(MapEntry { key, key_span, value: node });
                }
                Some((None, _)) => {}
                None => {
                    let key = key_text(self.text, &node);
                    if let Err(message) = &key {
                        let problem = FileProblem::error("bad-key", node.span, *message);
                        self.problems.push(problem);
                    }
                    frame.key = Some((key.ok(), node.span));
                }
            },
            _ => {}
        }
        Ok(())
    }

    fn scalar(
        &mut self,
        text: &str,
        style: ScalarStyle,
        tag: Option<&Tag>,
        span: SourceSpan,
    ) -> NodeValue {
        let plain = style == ScalarStyle::Plain;
        let kind = tag.and_then(Tag::core_suffix);
        let value = match kind {
            Some("str") => return NodeValue::String(text.to_owned()),
            Some("null") if matches!(text, "" | "~" | "null") => return NodeValue::Null,
            Some("bool" | "int" | "float") => scalar::plain(text),
            Some(_) => None,
            None => {
                if let Some(tag) = tag.filter(|tag| tag.original() != "!") {
                    self.report_unsupported_tag(tag, span);
                }
                if !plain || tag.is_some() {
                    return NodeValue::String(text.to_owned());
                }
                scalar::plain(text)
            }
        };
        let fits = match (kind, &value) {
            (None, Some(_))
            | (Some("bool"), Some(NodeValue::Bool(_)))
            | (Some("int" | "float"), Some(NodeValue::Integer(_) | NodeValue::Unsigned(_)))
            | (Some("float"), Some(NodeValue::Float(_))) => value,
            _ => None,
        };
        fits.unwrap_or_else(|| {
            let message = match kind {
                None => format!("`{text}` is not a number that can be used"),
                Some(kind) => format!("`{text}` is not what its tag `!!{kind}` says"),
            };
            self.problems.push(FileProblem::error("bad-scalar", span, message));
            NodeValue::Null
        })
    }

    /// Collections may say what they are; any other tag is refused.
    fn tag(&mut self, tag: Option<&Tag>, own: &str, span: SourceSpan) {
        if let Some(tag) = tag
            && tag.core_suffix() != Some(own)
            && tag.original() != "!"
        {
            self.report_unsupported_tag(tag, span);
        }
    }

    fn report_unsupported_tag(&mut self, tag: &Tag, span: SourceSpan) {
        let message = format!("the tag `{}` is not supported", tag.original());
        let help = "write the value without a tag";
        self.problems.push(FileProblem::error("unsupported-tag", span, message).help(help));
    }

    /// The parser gives a block scalar the span of its content. Ours starts at the `|` or `>`,
    /// so that the style can be seen from the span, and ends with the last line that has text.
    fn block(&self, span: SourceSpan) -> SourceSpan {
        let from = self.last.min(span.start);
        let before = &self.text[from..span.start];
        let end = self.text[..span.end].trim_end().len();
        let header = before
            .match_indices(['|', '>'])
            .find(|(at, _)| is_header(&before[*at + 1..]) && !before[..*at].ends_with(is_word));
        match header {
            Some((at, _)) => SourceSpan::new(from + at, end.max(from + at + 1)),
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
fn key_text(text: &str, node: &SourceNode) -> Result<String, &'static str> {
    match &node.value {
        NodeValue::String(key) => Ok(key.clone()),
        NodeValue::List(_) | NodeValue::Map(_) => Err("a key must be text, not a list or a map"),
        NodeValue::Null if node.span.start == node.span.end => {
            Err("a key is missing before the `:`")
        }
        _ => Ok(text[node.span.range()].to_owned()),
    }
}
