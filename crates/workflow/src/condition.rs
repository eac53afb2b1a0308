//! Conditions: `when` of a step, `where` of a trigger.
//!
//! The language is a small and strict part of Jinja's expressions. Nothing is true or false by
//! accident: only a boolean is, values of different kinds are not compared, and a name that does
//! not exist is an error. `&&`, `||` and `!` are accepted beside `and`, `or` and `not`, and
//! `${name}` beside `name`. What the words mean is told in `docs/reference/grimoire.md`.

mod evaluate;
mod lex;
mod parse;
#[cfg(test)]
mod tests;
mod types;

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::scope::VariableScope;
use crate::template::{UndefinedVariable, VariableReference};

pub use types::{TypeMistake, TypeProblem, ValueType};

/// A condition. Equal if its source is; on disk it is its source.
#[derive(Clone)]
pub struct Condition {
    source: String,
    expression: ConditionExpr,
}

/// What is wrong with a condition or its evaluation, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct ConditionError {
    /// The first byte it is about.
    pub offset: usize,
    /// How many bytes it is about.
    pub length: usize,
    pub problem: ConditionProblem,
}

/// What can be wrong with a condition.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConditionProblem {
    #[error("{0}")]
    Syntax(String),
    #[error(transparent)]
    Undefined(#[from] UndefinedVariable),
    /// Something that must be true or false and is neither.
    #[error("this is {found}, and a condition must be true or false{hint}")]
    NotBoolean {
        /// What it is, in words.
        found: &'static str,
        /// What to write instead.
        hint: &'static str,
    },
    /// Two values that cannot be compared, or an operator on the wrong kind of value.
    #[error("{0}")]
    Kinds(String),
}

/// A part of a condition and where it stands.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct ConditionExpr {
    kind: ExprKind,
    offset: usize,
    length: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum ExprKind {
    Literal(serde_json::Value),
    Variable(VariableReference),
    List(Vec<ConditionExpr>),
    Not(Box<ConditionExpr>),
    Negative(Box<ConditionExpr>),
    And(Box<ConditionExpr>, Box<ConditionExpr>),
    Or(Box<ConditionExpr>, Box<ConditionExpr>),
    Compare(ComparisonOp, Box<ConditionExpr>, Box<ConditionExpr>),
    Arithmetic(ArithmeticOp, Box<ConditionExpr>, Box<ConditionExpr>),
    Test { test: ValueTest, negated: bool, of: Box<ConditionExpr> },
    Filter(ValueFilter, Box<ConditionExpr>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum ComparisonOp {
    Equal,
    Different,
    Less,
    AtMost,
    More,
    AtLeast,
    In,
    NotIn,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum ArithmeticOp {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum ValueTest {
    Defined,
    Null,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum ValueFilter {
    Length,
    Lower,
    Upper,
    Trim,
    First,
    Last,
}

impl Condition {
    pub fn parse(source: &str) -> Result<Self, ConditionError> {
        let condition = Self::parse_stored(source)?;
        let found = condition.references().into_iter().find(|one| !one.functions.is_empty());
        match found {
            Some(reference) => Err(lex::function_of_texts(source, reference.offset)),
            None => Ok(condition),
        }
    }

    /// The same with functions of texts, which are left undone. They were accepted once, and the
    /// plan in a journal may have them.
    fn parse_stored(source: &str) -> Result<Self, ConditionError> {
        let expression = parse::expression(source)?;
        Ok(Self { source: source.to_owned(), expression })
    }

    /// The condition as it was written.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Whether it holds. Only what decides is looked at: behind a false `and` nothing can fail.
    pub fn evaluate(&self, scope: &VariableScope) -> Result<bool, ConditionError> {
        evaluate::truth(&self.expression, scope)
    }

    /// The variables in it, in order, with their offsets in the source.
    pub fn references(&self) -> Vec<&VariableReference> {
        let mut found = Vec::new();
        collect(&self.expression, &mut found);
        found
    }

    /// The names it uses, each once, in order.
    pub fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for reference in self.references() {
            if !names.contains(&reference.name.as_str()) {
                names.push(&reference.name);
            }
        }
        names
    }

    /// What can be known to be wrong with it from the types of its variables alone.
    pub fn check(&self, type_of: &dyn Fn(&VariableReference) -> ValueType) -> Vec<TypeProblem> {
        types::check(&self.expression, type_of)
    }
}

fn collect<'a>(expression: &'a ConditionExpr, found: &mut Vec<&'a VariableReference>) {
    match &expression.kind {
        ExprKind::Literal(_) => {}
        ExprKind::Variable(reference) => found.push(reference),
        ExprKind::List(items) => items.iter().for_each(|item| collect(item, found)),
        ExprKind::Not(of)
        | ExprKind::Negative(of)
        | ExprKind::Test { of, .. }
        | ExprKind::Filter(_, of) => {
            collect(of, found);
        }
        ExprKind::And(left, right)
        | ExprKind::Or(left, right)
        | ExprKind::Compare(_, left, right)
        | ExprKind::Arithmetic(_, left, right) => {
            collect(left, found);
            collect(right, found);
        }
    }
}

impl PartialEq for Condition {
    fn eq(&self, other: &Self) -> bool {
        self.source == other.source
    }
}

impl Eq for Condition {}

impl std::hash::Hash for Condition {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.source.hash(state);
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.source)
    }
}

impl fmt::Debug for Condition {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Condition({:?})", self.source)
    }
}

impl std::str::FromStr for Condition {
    type Err = ConditionError;

    fn from_str(source: &str) -> Result<Self, ConditionError> {
        Self::parse(source)
    }
}

impl Serialize for Condition {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.source)
    }
}

impl<'de> Deserialize<'de> for Condition {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let source = String::deserialize(deserializer)?;
        Self::parse_stored(&source).map_err(serde::de::Error::custom)
    }
}
