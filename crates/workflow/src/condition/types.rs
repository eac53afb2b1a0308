//! What can be known of a condition before anything runs: the kinds of its values.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::{ComparisonOp, ConditionExpr, ExprKind, ValueFilter};
use crate::template::{PathSegment, UndefinedReason, VariableReference};

/// What is known of a value before it exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValueType {
    Any,
    Boolean,
    Number,
    /// Text with a meaning of its own, such as a branch or a status.
    Text,
    /// What an agent says in its own words: no two runs say it alike.
    FreeText,
    Array(Box<ValueType>),
    /// Names and values; the names, where all of them are known.
    Object(Option<Arc<BTreeMap<String, ValueType>>>),
}

impl ValueType {
    /// An object of which nothing more is known.
    pub const OBJECT: Self = Self::Object(None);

    /// An object with exactly these names.
    pub fn object(fields: impl IntoIterator<Item = (String, Self)>) -> Self {
        Self::Object(Some(Arc::new(fields.into_iter().collect())))
    }

    pub fn array(of: Self) -> Self {
        Self::Array(Box::new(of))
    }

    /// What lies one step inside; the error says why there is nothing.
    pub fn step(&self, segment: &PathSegment) -> Result<Self, UndefinedReason> {
        let at = String::new();
        match (self, segment) {
            (Self::Any | Self::Object(None), _) => Ok(Self::Any),
            (Self::Array(of), PathSegment::Index(_)) => Ok(of.as_ref().clone()),
            (Self::Array(_), PathSegment::Key(_)) => Err(UndefinedReason::NeedsIndex { at }),
            (Self::Object(Some(_)), PathSegment::Index(_)) => Err(UndefinedReason::NeedsKey { at }),
            (Self::Object(Some(fields)), PathSegment::Key(key)) => {
                fields.get(key).cloned().ok_or_else(|| {
                    let near = coven_notation::near(key, fields.keys());
                    let near = near.first().map(|name| (*name).to_owned());
                    UndefinedReason::NoSuchKey { at, key: key.clone(), near }
                })
            }
            (Self::Text | Self::FreeText, _) => Err(UndefinedReason::InsideText { at }),
            (Self::Boolean | Self::Number, _) => {
                Err(UndefinedReason::InsideNothing { at, kind: self.in_words() })
            }
        }
    }

    /// The type in words, as in "this is a number".
    pub(crate) fn in_words(&self) -> &'static str {
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
    NotBoolean(ValueType),
    /// A value of a kind that does not fit another.
    Kinds {
        left: ValueType,
        /// What it meets, or should be.
        right: ValueType,
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
    expression: &ConditionExpr,
    type_of: &dyn Fn(&VariableReference) -> ValueType,
) -> Vec<TypeProblem> {
    let mut checker = TypeChecker { type_of, problems: Vec::new() };
    checker.boolean(expression);
    checker.problems
}

struct TypeChecker<'a> {
    type_of: &'a dyn Fn(&VariableReference) -> ValueType,
    problems: Vec<TypeProblem>,
}

impl TypeChecker<'_> {
    fn report(&mut self, at: &ConditionExpr, what: TypeMistake) {
        self.problems.push(TypeProblem { offset: at.offset, length: at.length, what });
    }

    fn report_mismatch(&mut self, at: &ConditionExpr, left: ValueType, right: ValueType) {
        self.report(at, TypeMistake::Kinds { left, right, how: "used as" });
    }

    fn boolean(&mut self, expression: &ConditionExpr) {
        let found = self.infer(expression);
        if !matches!(found, ValueType::Any | ValueType::Boolean) {
            self.report(expression, TypeMistake::NotBoolean(found));
        }
    }

    fn infer(&mut self, expression: &ConditionExpr) -> ValueType {
        match &expression.kind {
            ExprKind::Literal(value) => literal(value),
            ExprKind::Variable(reference) => (self.type_of)(reference),
            ExprKind::List(items) => {
                let types: Vec<ValueType> = items.iter().map(|item| self.infer(item)).collect();
                let same = types.windows(2).all(|pair| pair[0] == pair[1]);
                ValueType::array(match types.into_iter().next() {
                    Some(first) if same => first,
                    _ => ValueType::Any,
                })
            }
            ExprKind::Not(inner) => {
                self.boolean(inner);
                ValueType::Boolean
            }
            ExprKind::And(left, right) | ExprKind::Or(left, right) => {
                self.boolean(left);
                self.boolean(right);
                ValueType::Boolean
            }
            ExprKind::Compare(comparison, left, right) => {
                self.compare(expression, *comparison, left, right);
                ValueType::Boolean
            }
            ExprKind::Test { of, .. } => {
                self.infer(of);
                ValueType::Boolean
            }
            ExprKind::Arithmetic(_, left, right) => {
                self.number(left);
                self.number(right);
                ValueType::Number
            }
            ExprKind::Negative(inner) => {
                self.number(inner);
                ValueType::Number
            }
            ExprKind::Filter(filter, of) => self.filter(expression, *filter, of),
        }
    }

    fn number(&mut self, expression: &ConditionExpr) {
        let found = self.infer(expression);
        if !matches!(found, ValueType::Any | ValueType::Number) {
            self.report_mismatch(expression, found, ValueType::Number);
        }
    }

    fn filter(
        &mut self,
        whole: &ConditionExpr,
        filter: ValueFilter,
        of: &ConditionExpr,
    ) -> ValueType {
        let found = self.infer(of);
        match (filter, &found) {
            (ValueFilter::Length, ValueType::Number | ValueType::Boolean) => {
                self.report_mismatch(whole, found, ValueType::array(ValueType::Any));
                ValueType::Number
            }
            (ValueFilter::Length, _) => ValueType::Number,
            (ValueFilter::First | ValueFilter::Last, ValueType::Array(of)) => of.as_ref().clone(),
            (ValueFilter::First | ValueFilter::Last, ValueType::Any) => ValueType::Any,
            (ValueFilter::First | ValueFilter::Last, _) => {
                self.report_mismatch(whole, found, ValueType::array(ValueType::Any));
                ValueType::Any
            }
            // Text stays as free as it was: trimming an answer does not make it a fixed word.
            (_, ValueType::FreeText) => ValueType::FreeText,
            (_, ValueType::Any | ValueType::Text) => ValueType::Text,
            _ => {
                self.report_mismatch(whole, found, ValueType::Text);
                ValueType::Text
            }
        }
    }

    fn compare(
        &mut self,
        whole: &ConditionExpr,
        comparison: ComparisonOp,
        left: &ConditionExpr,
        right: &ConditionExpr,
    ) {
        let types = (self.infer(left), self.infer(right));
        let search = matches!(comparison, ComparisonOp::In | ComparisonOp::NotIn);
        for (free, kind, other) in [(left, &types.0, right), (right, &types.1, left)] {
            if *kind == ValueType::FreeText && other.is_fixed() {
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
            (ComparisonOp::In | ComparisonOp::NotIn, left, Some(2 | 4)) => {
                left.is_none_or(|left| left == 2)
            }
            (ComparisonOp::In | ComparisonOp::NotIn, _, Some(right)) => right == 3,
            (_, _, None) | (_, None, _) => true,
            (ComparisonOp::Equal | ComparisonOp::Different, left, right) => left == right,
            (_, left, right) => left == right && matches!(left, Some(1 | 2)),
        };
        if !fits {
            let how = if search { "looked for in" } else { "compared with" };
            self.report(whole, TypeMistake::Kinds { left: types.0, right: types.1, how });
        }
    }
}

impl ConditionExpr {
    /// Whether it is the same whatever the variables are.
    fn is_fixed(&self) -> bool {
        match &self.kind {
            ExprKind::Literal(Value::String(_)) => true,
            ExprKind::List(items) => !items.is_empty() && items.iter().all(Self::is_fixed),
            ExprKind::Filter(_, of) => of.is_fixed(),
            _ => false,
        }
    }

    fn is_null(&self) -> bool {
        matches!(self.kind, ExprKind::Literal(Value::Null))
    }

    fn variable(&self) -> Option<String> {
        match &self.kind {
            ExprKind::Variable(reference) => Some(reference.to_string()),
            ExprKind::Filter(_, of) => of.variable(),
            _ => None,
        }
    }
}

fn literal(value: &Value) -> ValueType {
    match value {
        Value::Null => ValueType::Any,
        Value::Bool(_) => ValueType::Boolean,
        Value::Number(_) => ValueType::Number,
        Value::String(_) => ValueType::Text,
        Value::Array(_) => ValueType::array(ValueType::Any),
        Value::Object(_) => ValueType::OBJECT,
    }
}
