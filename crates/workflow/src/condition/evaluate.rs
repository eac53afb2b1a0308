//! Evaluates a condition, without ever guessing.

use std::borrow::Cow;
use std::cmp::Ordering;

use serde_json::Value;

use super::{
    ArithmeticOp, ComparisonOp, ConditionError, ConditionExpr, ConditionProblem, ExprKind,
    ValueFilter, ValueTest,
};
use crate::scope::{VariableScope, kind};

type Evaluated<'a> = Result<Cow<'a, Value>, ConditionError>;

/// What is true or false.
pub(super) fn truth(
    expression: &ConditionExpr,
    scope: &VariableScope,
) -> Result<bool, ConditionError> {
    match value(expression, scope)?.as_ref() {
        Value::Bool(truth) => Ok(*truth),
        other => Err(expression
            .error_here(ConditionProblem::NotBoolean { found: kind(other), hint: hint(other) })),
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

impl ConditionExpr {
    pub(super) fn error_here(&self, problem: ConditionProblem) -> ConditionError {
        ConditionError { offset: self.offset, length: self.length, problem }
    }

    pub(super) fn kinds(&self, message: String) -> ConditionError {
        self.error_here(ConditionProblem::Kinds(message))
    }
}

fn value<'a>(expression: &'a ConditionExpr, scope: &'a VariableScope) -> Evaluated<'a> {
    let boolean = |truth: bool| Ok(Cow::Owned(Value::Bool(truth)));
    match &expression.kind {
        ExprKind::Literal(value) => Ok(Cow::Borrowed(value)),
        ExprKind::Variable(reference) => match scope.resolve(reference) {
            Ok(value) => Ok(Cow::Borrowed(value)),
            Err(undefined) => Err(expression.error_here(undefined.into())),
        },
        ExprKind::List(items) => {
            let items: Result<Vec<Value>, _> =
                items.iter().map(|item| value(item, scope).map(Cow::into_owned)).collect();
            Ok(Cow::Owned(Value::Array(items?)))
        }
        ExprKind::Not(inner) => boolean(!truth(inner, scope)?),
        ExprKind::Negative(inner) => {
            let zero = Value::from(0);
            let inner_value = value(inner, scope)?;
            arithmetic(expression, ArithmeticOp::Subtract, &zero, &inner_value).map(Cow::Owned)
        }
        ExprKind::And(left, right) => boolean(truth(left, scope)? && truth(right, scope)?),
        ExprKind::Or(left, right) => boolean(truth(left, scope)? || truth(right, scope)?),
        ExprKind::Compare(comparison, left, right) => {
            let (left, right) = (value(left, scope)?, value(right, scope)?);
            boolean(compare(expression, *comparison, &left, &right)?)
        }
        ExprKind::Arithmetic(operator, left, right) => {
            let (left, right) = (value(left, scope)?, value(right, scope)?);
            arithmetic(expression, *operator, &left, &right).map(Cow::Owned)
        }
        ExprKind::Test { test, negated, of } => {
            let holds = match (test, &of.kind) {
                (ValueTest::Defined, ExprKind::Variable(reference)) => {
                    scope.resolve(reference).is_ok()
                }
                (ValueTest::Defined, _) => true,
                (ValueTest::Null, _) => value(of, scope)?.is_null(),
            };
            boolean(holds != *negated)
        }
        ExprKind::Filter(filter, of) => {
            let of_value = value(of, scope)?;
            filtered(expression, *filter, &of_value).map(Cow::Owned)
        }
    }
}

fn compare(
    whole: &ConditionExpr,
    comparison: ComparisonOp,
    left: &Value,
    right: &Value,
) -> Result<bool, ConditionError> {
    let ordered = |wanted: fn(Ordering) -> bool| order(left, right).map(wanted);
    let answer = match comparison {
        ComparisonOp::Equal => equal(left, right),
        ComparisonOp::Different => equal(left, right).map(|same| !same),
        ComparisonOp::Less => ordered(Ordering::is_lt),
        ComparisonOp::AtMost => ordered(Ordering::is_le),
        ComparisonOp::More => ordered(Ordering::is_gt),
        ComparisonOp::AtLeast => ordered(Ordering::is_ge),
        ComparisonOp::In => contains(left, right),
        ComparisonOp::NotIn => contains(left, right).map(|inside| !inside),
    };
    answer.ok_or_else(|| {
        let (left, right) = (kind(left), kind(right));
        whole.kinds(match comparison {
            ComparisonOp::Equal | ComparisonOp::Different => {
                format!("{left} is never equal to {right}; compare values of one kind")
            }
            ComparisonOp::In | ComparisonOp::NotIn => format!(
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
    whole: &ConditionExpr,
    operator: ArithmeticOp,
    left: &Value,
    right: &Value,
) -> Result<Value, ConditionError> {
    let (Value::Number(one), Value::Number(two)) = (left, right) else {
        let wrong = if left.is_number() { right } else { left };
        return Err(whole.kinds(format!("{} is no number to calculate with", kind(wrong))));
    };
    let whole_numbers = one.as_i64().zip(two.as_i64());
    let exact = whole_numbers.and_then(|(one, two)| match operator {
        ArithmeticOp::Add => one.checked_add(two),
        ArithmeticOp::Subtract => one.checked_sub(two),
        ArithmeticOp::Multiply => one.checked_mul(two),
        ArithmeticOp::Divide => {
            one.checked_rem(two).filter(|rest| *rest == 0).and(one.checked_div(two))
        }
        ArithmeticOp::Remainder => one.checked_rem_euclid(two),
    });
    let result = exact.map(serde_json::Number::from).or_else(|| {
        let (one, two) = (one.as_f64()?, two.as_f64()?);
        serde_json::Number::from_f64(match operator {
            ArithmeticOp::Add => one + two,
            ArithmeticOp::Subtract => one - two,
            ArithmeticOp::Multiply => one * two,
            ArithmeticOp::Divide => one / two,
            ArithmeticOp::Remainder => one.rem_euclid(two),
        })
    });
    result.map(Value::Number).ok_or_else(|| whole.kinds("this has no finite result".to_owned()))
}

fn filtered(
    whole: &ConditionExpr,
    filter: ValueFilter,
    value: &Value,
) -> Result<Value, ConditionError> {
    let result = match (filter, value) {
        (ValueFilter::Length, Value::String(text)) => Some(Value::from(text.chars().count())),
        (ValueFilter::Length, Value::Array(items)) => Some(Value::from(items.len())),
        (ValueFilter::Length, Value::Object(map)) => Some(Value::from(map.len())),
        (ValueFilter::Lower, Value::String(text)) => Some(Value::from(text.to_lowercase())),
        (ValueFilter::Upper, Value::String(text)) => Some(Value::from(text.to_uppercase())),
        (ValueFilter::Trim, Value::String(text)) => Some(Value::from(text.trim())),
        (ValueFilter::First, Value::Array(items)) => {
            Some(items.first().cloned().unwrap_or_default())
        }
        (ValueFilter::Last, Value::Array(items)) => Some(items.last().cloned().unwrap_or_default()),
        _ => None,
    };
    result.ok_or_else(|| {
        let wanted = match filter {
            ValueFilter::Length => "text, an array or an object",
            ValueFilter::First | ValueFilter::Last => "an array",
            _ => "text",
        };
        whole.kinds(format!("this filter is for {wanted}, and the value is {}", kind(value)))
    })
}
