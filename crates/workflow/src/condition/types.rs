//! What can be known of a condition before anything runs: the kinds of its values.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::{Comparison, Expression, Filter, Kind};
use crate::template::{Reason, Reference, Segment};

/// What is known of a value before it exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Type {
    Any,
    Boolean,
    Number,
    /// Text with a meaning of its own, such as a branch or a status.
    Text,
    /// What an agent says in its own words: no two runs say it alike.
    FreeText,
    /// A list of these.
    Array(Box<Type>),
    /// Names and values; the names, where all of them are known.
    Object(Option<Arc<BTreeMap<String, Type>>>),
}

impl Type {
    /// An object of which nothing more is known.
    pub const OBJECT: Self = Self::Object(None);

    /// An object with exactly these names.
    pub fn object(fields: impl IntoIterator<Item = (String, Self)>) -> Self {
        Self::Object(Some(Arc::new(fields.into_iter().collect())))
    }

    /// A list of these.
    pub fn array(of: Self) -> Self {
        Self::Array(Box::new(of))
    }

    /// What lies one step inside; the error says why there is nothing.
    pub fn step(&self, segment: &Segment) -> Result<Self, Reason> {
        let at = String::new();
        match (self, segment) {
            (Self::Any | Self::Object(None), _) => Ok(Self::Any),
            (Self::Array(of), Segment::Index(_)) => Ok(of.as_ref().clone()),
            (Self::Array(_), Segment::Key(_)) => Err(Reason::NeedsIndex { at }),
            (Self::Object(Some(_)), Segment::Index(_)) => Err(Reason::NeedsKey { at }),
            (Self::Object(Some(fields)), Segment::Key(key)) => {
                fields.get(key).cloned().ok_or_else(|| {
                    let near = coven_notation::near(key, fields.keys());
                    let near = near.first().map(|name| (*name).to_owned());
                    Reason::NoSuchKey { at, key: key.clone(), near }
                })
            }
            (Self::Text | Self::FreeText, _) => Err(Reason::InsideText { at }),
            (Self::Boolean | Self::Number, _) => {
                Err(Reason::InsideNothing { at, kind: self.in_words() })
            }
        }
    }

    /// The type in words, as in "this is a number".
    pub fn in_words(&self) -> &'static str {
        match self {
            Self::Any => "anything",
            Self::Boolean => "a boolean",
            Self::Number => "a number",
            Self::Text => "text",
            Self::FreeText => "an agent's free text",
            Self::Array(_) => "an array",
            Self::Object(_) => "an object",
        }
    }

    fn kind(&self) -> Option<u8> {
        match self {
            Self::Any => None,
            Self::Boolean => Some(0),
            Self::Number => Some(1),
            Self::Text | Self::FreeText => Some(2),
            Self::Array(_) => Some(3),
            Self::Object(_) => Some(4),
        }
    }
}

/// Something that cannot be right, whatever the values will be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeProblem {
    /// The first byte it is about.
    pub offset: usize,
    pub length: usize,
    pub what: TypeMistake,
}

/// What can be known to be wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TypeMistake {
    /// Something that is never true or false.
    NotBoolean(Type),
    /// A value of a kind that does not fit another.
    Kinds {
        left: Type,
        /// What it meets, or should be.
        right: Type,
        /// What cannot be done: "compared with", "looked for in", "used as".
        how: &'static str,
    },
    /// An agent's own words compared with a fixed text.
    FreeText {
        name: String,
        /// Whether it is only looked for a word in it, which may work.
        only_search: bool,
    },
}

pub(super) fn check(
    expression: &Expression,
    type_of: &dyn Fn(&Reference) -> Type,
) -> Vec<TypeProblem> {
    let mut checker = Checker { type_of, problems: Vec::new() };
    checker.boolean(expression);
    checker.problems
}

struct Checker<'a> {
    type_of: &'a dyn Fn(&Reference) -> Type,
    problems: Vec<TypeProblem>,
}

impl Checker<'_> {
    fn report(&mut self, at: &Expression, what: TypeMistake) {
        self.problems.push(TypeProblem { offset: at.offset, length: at.length, what });
    }

    fn misfit(&mut self, at: &Expression, left: Type, right: Type) {
        self.report(at, TypeMistake::Kinds { left, right, how: "used as" });
    }

    fn boolean(&mut self, expression: &Expression) {
        let found = self.infer(expression);
        if !matches!(found, Type::Any | Type::Boolean) {
            self.report(expression, TypeMistake::NotBoolean(found));
        }
    }

    fn infer(&mut self, expression: &Expression) -> Type {
        match &expression.kind {
            Kind::Literal(value) => literal(value),
            Kind::Variable(reference) => (self.type_of)(reference),
            Kind::List(items) => {
                let types: Vec<Type> = items.iter().map(|item| self.infer(item)).collect();
                let same = types.windows(2).all(|pair| pair[0] == pair[1]);
                Type::array(match types.into_iter().next() {
                    Some(first) if same => first,
                    _ => Type::Any,
                })
            }
            Kind::Not(inner) => {
                self.boolean(inner);
                Type::Boolean
            }
            Kind::And(left, right) | Kind::Or(left, right) => {
                self.boolean(left);
                self.boolean(right);
                Type::Boolean
            }
            Kind::Compare(comparison, left, right) => {
                self.compare(expression, *comparison, left, right);
                Type::Boolean
            }
            Kind::Test { of, .. } => {
                self.infer(of);
                Type::Boolean
            }
            Kind::Arithmetic(_, left, right) => {
                self.number(left);
                self.number(right);
                Type::Number
            }
            Kind::Negative(inner) => {
                self.number(inner);
                Type::Number
            }
            Kind::Filter(filter, of) => self.filter(expression, *filter, of),
        }
    }

    fn number(&mut self, expression: &Expression) {
        let found = self.infer(expression);
        if !matches!(found, Type::Any | Type::Number) {
            self.misfit(expression, found, Type::Number);
        }
    }

    fn filter(&mut self, whole: &Expression, filter: Filter, of: &Expression) -> Type {
        let found = self.infer(of);
        match (filter, &found) {
            (Filter::Length, Type::Number | Type::Boolean) => {
                self.misfit(whole, found, Type::array(Type::Any));
                Type::Number
            }
            (Filter::Length, _) => Type::Number,
            (Filter::First | Filter::Last, Type::Array(of)) => of.as_ref().clone(),
            (Filter::First | Filter::Last, Type::Any) => Type::Any,
            (Filter::First | Filter::Last, _) => {
                self.misfit(whole, found, Type::array(Type::Any));
                Type::Any
            }
            // Text stays as free as it was: trimming an answer does not make it a fixed word.
            (_, Type::FreeText) => Type::FreeText,
            (_, Type::Any | Type::Text) => Type::Text,
            _ => {
                self.misfit(whole, found, Type::Text);
                Type::Text
            }
        }
    }

    fn compare(
        &mut self,
        whole: &Expression,
        comparison: Comparison,
        left: &Expression,
        right: &Expression,
    ) {
        let types = (self.infer(left), self.infer(right));
        let search = matches!(comparison, Comparison::In | Comparison::NotIn);
        for (free, kind, other) in [(left, &types.0, right), (right, &types.1, left)] {
            if *kind == Type::FreeText && other.is_fixed() {
                let name = free.variable().unwrap_or_default();
                let only_search = search && std::ptr::eq(free, right);
                self.report(whole, TypeMistake::FreeText { name, only_search });
                return;
            }
        }
        // Null may be compared with everything.
        if left.is_null() || right.is_null() {
            return;
        }
        let fits = match (comparison, types.0.kind(), types.1.kind()) {
            (Comparison::In | Comparison::NotIn, left, Some(2 | 4)) => {
                left.is_none_or(|left| left == 2)
            }
            (Comparison::In | Comparison::NotIn, _, Some(right)) => right == 3,
            (_, _, None) | (_, None, _) => true,
            (Comparison::Equal | Comparison::Different, left, right) => left == right,
            (_, left, right) => left == right && matches!(left, Some(1 | 2)),
        };
        if !fits {
            let how = if search { "looked for in" } else { "compared with" };
            self.report(whole, TypeMistake::Kinds { left: types.0, right: types.1, how });
        }
    }
}

impl Expression {
    /// Whether it is the same whatever the variables are.
    fn is_fixed(&self) -> bool {
        match &self.kind {
            Kind::Literal(Value::String(_)) => true,
            Kind::List(items) => !items.is_empty() && items.iter().all(Self::is_fixed),
            Kind::Filter(_, of) => of.is_fixed(),
            _ => false,
        }
    }

    fn is_null(&self) -> bool {
        matches!(self.kind, Kind::Literal(Value::Null))
    }

    fn variable(&self) -> Option<String> {
        match &self.kind {
            Kind::Variable(reference) => Some(reference.to_string()),
            Kind::Filter(_, of) => of.variable(),
            _ => None,
        }
    }
}

fn literal(value: &Value) -> Type {
    match value {
        Value::Null => Type::Any,
        Value::Bool(_) => Type::Boolean,
        Value::Number(_) => Type::Number,
        Value::String(_) => Type::Text,
        Value::Array(_) => Type::array(Type::Any),
        Value::Object(_) => Type::OBJECT,
    }
}
