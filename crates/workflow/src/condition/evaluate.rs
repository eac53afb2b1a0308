//! Evaluates a condition, without ever guessing.

use std::borrow::Cow;
use std::cmp::Ordering;

use serde_json::Value;

use super::{
    Arithmetic, Comparison, ConditionError, ConditionProblem, Expression, Filter, Kind, Test,
};
use crate::scope::{Scope, kind};

type Evaluated<'a> = Result<Cow<'a, Value>, ConditionError>;

/// What is true or false.
pub(super) fn truth(expression: &Expression, scope: &Scope) -> Result<bool, ConditionError> {
    match value(expression, scope)?.as_ref() {
        Value::Bool(truth) => Ok(*truth),
        other => Err(expression
            .wrong(ConditionProblem::NotBoolean { found: kind(other), hint: hint(other) })),
    }
}

/// How to make a boolean of a value.
fn hint(value: &Value) -> &'static str {
    match value {
        Value::Null => "; `is null` tells whether there is a value",
        Value::Number(_) => "; compare it, as in `count > 0`",
        Value::String(_) => "; compare it, as in `name == 'main'`",
        Value::Array(_) | Value::Object(_) => "; ask for its size, as in `tasks | length > 0`",
        Value::Bool(_) => "",
    }
}

impl Expression {
    pub(super) fn wrong(&self, problem: ConditionProblem) -> ConditionError {
        ConditionError { offset: self.offset, length: self.length, problem }
    }

    pub(super) fn kinds(&self, message: String) -> ConditionError {
        self.wrong(ConditionProblem::Kinds(message))
    }
}

fn value<'a>(expression: &'a Expression, scope: &'a Scope) -> Evaluated<'a> {
    let boolean = |truth: bool| Ok(Cow::Owned(Value::Bool(truth)));
    match &expression.kind {
        Kind::Literal(value) => Ok(Cow::Borrowed(value)),
        Kind::Variable(reference) => match scope.resolve(reference) {
            Ok(value) => Ok(Cow::Borrowed(value)),
            Err(undefined) => Err(expression.wrong(undefined.into())),
        },
        Kind::List(items) => {
            let items: Result<Vec<Value>, _> =
                items.iter().map(|item| value(item, scope).map(Cow::into_owned)).collect();
            Ok(Cow::Owned(Value::Array(items?)))
        }
        Kind::Not(inner) => boolean(!truth(inner, scope)?),
        Kind::Negative(inner) => {
            let zero = Value::from(0);
            let inner_value = value(inner, scope)?;
            arithmetic(expression, Arithmetic::Subtract, &zero, &inner_value).map(Cow::Owned)
        }
        Kind::And(left, right) => boolean(truth(left, scope)? && truth(right, scope)?),
        Kind::Or(left, right) => boolean(truth(left, scope)? || truth(right, scope)?),
        Kind::Compare(comparison, left, right) => {
            let (left, right) = (value(left, scope)?, value(right, scope)?);
            boolean(compare(expression, *comparison, &left, &right)?)
        }
        Kind::Arithmetic(operator, left, right) => {
            let (left, right) = (value(left, scope)?, value(right, scope)?);
            arithmetic(expression, *operator, &left, &right).map(Cow::Owned)
        }
        Kind::Test { test, negated, of } => {
            let holds = match (test, &of.kind) {
                (Test::Defined, Kind::Variable(reference)) => scope.resolve(reference).is_ok(),
                (Test::Defined, _) => true,
                (Test::Null, _) => value(of, scope)?.is_null(),
            };
            boolean(holds != *negated)
        }
        Kind::Filter(filter, of) => {
            let of_value = value(of, scope)?;
            filtered(expression, *filter, &of_value).map(Cow::Owned)
        }
    }
}

fn compare(
    whole: &Expression,
    comparison: Comparison,
    left: &Value,
    right: &Value,
) -> Result<bool, ConditionError> {
    let ordered = |wanted: fn(Ordering) -> bool| order(left, right).map(wanted);
    let answer = match comparison {
        Comparison::Equal => equal(left, right),
        Comparison::Different => equal(left, right).map(|same| !same),
        Comparison::Less => ordered(Ordering::is_lt),
        Comparison::AtMost => ordered(Ordering::is_le),
        Comparison::More => ordered(Ordering::is_gt),
        Comparison::AtLeast => ordered(Ordering::is_ge),
        Comparison::In => contains(left, right),
        Comparison::NotIn => contains(left, right).map(|inside| !inside),
    };
    answer.ok_or_else(|| {
        let (left, right) = (kind(left), kind(right));
        whole.kinds(match comparison {
            Comparison::Equal | Comparison::Different => {
                format!("{left} is never equal to {right}; compare values of one kind")
            }
            Comparison::In | Comparison::NotIn => format!(
                "{left} cannot be looked for in {right}; look for text in text, for a value in \
                 an array, or for a key in an object"
            ),
            _ => format!(
                "{left} is neither more nor less than {right}; compare two numbers or two texts"
            ),
        })
    })
}

/// Whether two values are equal; nothing if they are of different kinds. Null may be compared
/// with everything.
fn equal(left: &Value, right: &Value) -> Option<bool> {
    match (left, right) {
        (Value::Null, other) | (other, Value::Null) => Some(other.is_null()),
        (Value::Number(_), Value::Number(_)) => order(left, right).map(Ordering::is_eq),
        _ if kind(left) == kind(right) => Some(left == right),
        _ => None,
    }
}

fn order(left: &Value, right: &Value) -> Option<Ordering> {
    match (left, right) {
        (Value::String(left), Value::String(right)) => Some(left.cmp(right)),
        (Value::Number(left), Value::Number(right)) => match (left.as_i64(), right.as_i64()) {
            (Some(left), Some(right)) => Some(left.cmp(&right)),
            _ => match (left.as_u64(), right.as_u64()) {
                (Some(left), Some(right)) => Some(left.cmp(&right)),
                _ => left.as_f64()?.partial_cmp(&right.as_f64()?),
            },
        },
        _ => None,
    }
}

fn contains(needle: &Value, hay: &Value) -> Option<bool> {
    match (needle, hay) {
        (Value::String(needle), Value::String(hay)) => Some(hay.contains(needle.as_str())),
        (Value::String(needle), Value::Object(hay)) => Some(hay.contains_key(needle)),
        (needle, Value::Array(hay)) => {
            Some(hay.iter().any(|item| equal(needle, item) == Some(true)))
        }
        _ => None,
    }
}

fn arithmetic(
    whole: &Expression,
    operator: Arithmetic,
    left: &Value,
    right: &Value,
) -> Result<Value, ConditionError> {
    let (Value::Number(one), Value::Number(two)) = (left, right) else {
        let wrong = if left.is_number() { right } else { left };
        return Err(whole.kinds(format!("{} is no number to calculate with", kind(wrong))));
    };
    let whole_numbers = one.as_i64().zip(two.as_i64());
    let exact = whole_numbers.and_then(|(one, two)| match operator {
        Arithmetic::Add => one.checked_add(two),
        Arithmetic::Subtract => one.checked_sub(two),
        Arithmetic::Multiply => one.checked_mul(two),
        Arithmetic::Divide => {
            one.checked_rem(two).filter(|rest| *rest == 0).and(one.checked_div(two))
        }
        Arithmetic::Remainder => one.checked_rem_euclid(two),
    });
    let result = exact.map(serde_json::Number::from).or_else(|| {
        let (one, two) = (one.as_f64()?, two.as_f64()?);
        serde_json::Number::from_f64(match operator {
            Arithmetic::Add => one + two,
            Arithmetic::Subtract => one - two,
            Arithmetic::Multiply => one * two,
            Arithmetic::Divide => one / two,
            Arithmetic::Remainder => one.rem_euclid(two),
        })
    });
    result.map(Value::Number).ok_or_else(|| whole.kinds("this has no finite result".to_owned()))
}

fn filtered(whole: &Expression, filter: Filter, value: &Value) -> Result<Value, ConditionError> {
    let result = match (filter, value) {
        (Filter::Length, Value::String(text)) => Some(Value::from(text.chars().count())),
        (Filter::Length, Value::Array(items)) => Some(Value::from(items.len())),
        (Filter::Length, Value::Object(map)) => Some(Value::from(map.len())),
        (Filter::Lower, Value::String(text)) => Some(Value::from(text.to_lowercase())),
        (Filter::Upper, Value::String(text)) => Some(Value::from(text.to_uppercase())),
        (Filter::Trim, Value::String(text)) => Some(Value::from(text.trim())),
        (Filter::First, Value::Array(items)) => Some(items.first().cloned().unwrap_or_default()),
        (Filter::Last, Value::Array(items)) => Some(items.last().cloned().unwrap_or_default()),
        _ => None,
    };
    result.ok_or_else(|| {
        let wanted = match filter {
            Filter::Length => "text, an array or an object",
            Filter::First | Filter::Last => "an array",
            _ => "text",
        };
        whole.kinds(format!("this filter is for {wanted}, and the value is {}", kind(value)))
    })
}
