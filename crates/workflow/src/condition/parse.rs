//! Reads a condition: `or` binds weakest, then `and`, `not`, comparisons, `+ -`, `* / %`, filters.

use serde_json::Value;

use super::lex::{ConditionToken, SpannedToken, error, tokens};
use super::{
    ArithmeticOp, ComparisonOp, ConditionError, ConditionExpr, ExprKind, ValueFilter, ValueTest,
};

/// How deep parentheses and the like may lie in each other.
const MAX_NESTING: usize = 50;
/// How many words and signs a condition may have; it is walked recursively.
const MAX_TOKENS: usize = 1000;

pub(super) const FILTER_NAMES: [(&str, ValueFilter); 6] = [
    ("length", ValueFilter::Length),
    ("lower", ValueFilter::Lower),
    ("upper", ValueFilter::Upper),
    ("trim", ValueFilter::Trim),
    ("first", ValueFilter::First),
    ("last", ValueFilter::Last),
];

const KEYWORDS: [&str; 9] = ["and", "or", "not", "in", "is", "true", "false", "null", "none"];

pub(super) fn expression(source: &str) -> Result<ConditionExpr, ConditionError> {
    let tokens = tokens(source)?;
    if tokens.len() > MAX_TOKENS {
        let start = tokens[MAX_TOKENS].offset;
        return Err(error(start, source.len() - start, "the condition is too long"));
    }
    if tokens.is_empty() {
        return Err(error(0, source.len(), "the condition is empty"));
    }
    let mut reader = ConditionParser { source, tokens, at: 0, depth: 0 };
    let expression = reader.parse_or()?;
    match reader.peek() {
        None => Ok(expression),
        Some(token) => Err(reader.unexpected(&token.clone())),
    }
}

struct ConditionParser<'a> {
    source: &'a str,
    tokens: Vec<SpannedToken>,
    at: usize,
    depth: usize,
}

type Parsed = Result<ConditionExpr, ConditionError>;

impl ConditionParser<'_> {
    fn peek(&self) -> Option<&SpannedToken> {
        self.tokens.get(self.at)
    }

    /// Whether one of these words or signs comes next.
    fn is_next(&self, wanted: &[&str]) -> bool {
        self.peek().is_some_and(|placed| match &placed.token {
            ConditionToken::Sign(sign) => wanted.contains(sign),
            ConditionToken::Name(name) => {
                name.path.is_empty() && wanted.contains(&name.name.as_str())
            }
            _ => false,
        })
    }

    fn take(&mut self, wanted: &[&str]) -> bool {
        let found = self.is_next(wanted);
        self.at += usize::from(found);
        found
    }

    fn end(&self) -> ConditionError {
        error(self.source.trim_end().len(), 0, "something is missing at the end of the condition")
    }

    fn unexpected(&self, placed: &SpannedToken) -> ConditionError {
        let text = &self.source[placed.offset..placed.offset + placed.length];
        error(placed.offset, placed.length, format!("`{text}` was not expected here"))
    }

    fn parse_or(&mut self) -> Parsed {
        let mut left = self.parse_and()?;
        while self.take(&["or", "||"]) {
            let right = self.parse_and()?;
            left = binary(left, right, ExprKind::Or);
        }
        Ok(left)
    }

    fn parse_and(&mut self) -> Parsed {
        let mut left = self.parse_not()?;
        while self.take(&["and", "&&"]) {
            let right = self.parse_not()?;
            left = binary(left, right, ExprKind::And);
        }
        Ok(left)
    }

    fn parse_not(&mut self) -> Parsed {
        let start = self.peek().map(|placed| placed.offset);
        if !self.take(&["not", "!"]) {
            return self.comparison();
        }
        let inner = self.parse_nested(Self::parse_not)?;
        Ok(wrap(start, inner, ExprKind::Not))
    }

    fn parse_nested(&mut self, read: fn(&mut Self) -> Parsed) -> Parsed {
        self.depth += 1;
        if self.depth > MAX_NESTING {
            let at = self.peek().map_or(self.source.len(), |placed| placed.offset);
            return Err(error(at, 1, "the condition is nested too deeply"));
        }
        let expression = read(self);
        self.depth -= 1;
        expression
    }

    fn comparison(&mut self) -> Parsed {
        let left = self.sum()?;
        if self.take(&["is"]) {
            return self.test(left);
        }
        let Some(comparison) = self.comparator()? else { return Ok(left) };
        let right = self.sum()?;
        let compared = binary(left, right, |a, b| ExprKind::Compare(comparison, a, b));
        if let Some(next) = self.peek().cloned()
            && self.comparator()?.is_some()
        {
            let message = "one comparison at a time; join two with `and`";
            return Err(error(next.offset, next.length, message));
        }
        Ok(compared)
    }

    fn comparator(&mut self) -> Result<Option<ComparisonOp>, ConditionError> {
        if self.take(&["not"]) {
            if self.take(&["in"]) {
                return Ok(Some(ComparisonOp::NotIn));
            }
            let placed = &self.tokens[self.at - 1];
            return Err(error(placed.offset, placed.length, "`not` stands before what it denies"));
        }
        let signs = [
            ("==", ComparisonOp::Equal),
            ("!=", ComparisonOp::Different),
            ("<=", ComparisonOp::AtMost),
            ("<", ComparisonOp::Less),
            (">=", ComparisonOp::AtLeast),
            (">", ComparisonOp::More),
            ("in", ComparisonOp::In),
        ];
        Ok(signs.into_iter().find(|(sign, _)| self.take(&[sign])).map(|(_, meaning)| meaning))
    }

    fn test(&mut self, of: ConditionExpr) -> Parsed {
        let negated = self.take(&["not"]);
        let placed = self.peek().cloned().ok_or_else(|| self.end())?;
        let test = if self.take(&["defined"]) {
            ValueTest::Defined
        } else if self.take(&["none", "null"]) {
            ValueTest::Null
        } else {
            let message = "after `is` comes `defined`, `null`, `not defined` or `not null`";
            return Err(error(placed.offset, placed.length, message));
        };
        if test == ValueTest::Defined && !matches!(of.kind, ExprKind::Variable(_)) {
            return Err(error(of.offset, of.length, "only a variable can be defined or not"));
        }
        let (offset, end) = (of.offset, placed.offset + placed.length);
        let kind = ExprKind::Test { test, negated, of: Box::new(of) };
        Ok(ConditionExpr { kind, offset, length: end - offset })
    }

    fn sum(&mut self) -> Parsed {
        let mut left = self.product()?;
        loop {
            let operator = if self.take(&["+"]) {
                ArithmeticOp::Add
            } else if self.take(&["-"]) {
                ArithmeticOp::Subtract
            } else {
                return Ok(left);
            };
            let right = self.product()?;
            left = binary(left, right, |a, b| ExprKind::Arithmetic(operator, a, b));
        }
    }

    fn product(&mut self) -> Parsed {
        let mut left = self.filtered()?;
        loop {
            let operator = if self.take(&["*"]) {
                ArithmeticOp::Multiply
            } else if self.take(&["/"]) {
                ArithmeticOp::Divide
            } else if self.take(&["%"]) {
                ArithmeticOp::Remainder
            } else {
                return Ok(left);
            };
            let right = self.filtered()?;
            left = binary(left, right, |a, b| ExprKind::Arithmetic(operator, a, b));
        }
    }

    fn filtered(&mut self) -> Parsed {
        let mut value = self.primary()?;
        while self.take(&["|"]) {
            let placed = self.peek().cloned().ok_or_else(|| self.end())?;
            let found = FILTER_NAMES.into_iter().find(|(name, _)| self.take(&[name]));
            let Some((_, filter)) = found else {
                let names = FILTER_NAMES.map(|(name, _)| name).join(", ");
                let message = format!("after `|` comes one of {names}");
                return Err(error(placed.offset, placed.length, message));
            };
            let (offset, end) = (value.offset, placed.offset + placed.length);
            let kind = ExprKind::Filter(filter, Box::new(value));
            value = ConditionExpr { kind, offset, length: end - offset };
        }
        Ok(value)
    }

    fn primary(&mut self) -> Parsed {
        let placed = self.peek().cloned().ok_or_else(|| self.end())?;
        let SpannedToken { token, offset, length } = placed.clone();
        self.at += 1;
        let kind = match token {
            ConditionToken::Text(text) => ExprKind::Literal(Value::String(text)),
            ConditionToken::Number(number) => ExprKind::Literal(Value::Number(number)),
            ConditionToken::Variable(reference) => ExprKind::Variable(reference),
            ConditionToken::Name(name)
                if name.path.is_empty() && KEYWORDS.contains(&name.name.as_str()) =>
            {
                match name.name.as_str() {
                    "true" => ExprKind::Literal(Value::Bool(true)),
                    "false" => ExprKind::Literal(Value::Bool(false)),
                    "null" | "none" => ExprKind::Literal(Value::Null),
                    _ => return Err(self.unexpected(&placed)),
                }
            }
            ConditionToken::Name(reference) => {
                if self.is_next(&["("]) {
                    let message = "there are no functions; filters are written `value | length`";
                    return Err(error(offset, length, message));
                }
                ExprKind::Variable(reference)
            }
            ConditionToken::Sign("(") => {
                let inner = self.parse_nested(Self::parse_or)?;
                self.close(")", offset)?;
                return Ok(inner);
            }
            ConditionToken::Sign("[") => return self.list(offset),
            ConditionToken::Sign("-") => {
                let inner = self.parse_nested(Self::primary)?;
                return Ok(wrap(Some(offset), inner, ExprKind::Negative));
            }
            ConditionToken::Sign(_) => return Err(self.unexpected(&placed)),
        };
        Ok(ConditionExpr { kind, offset, length })
    }

    fn list(&mut self, offset: usize) -> Parsed {
        let mut items = Vec::new();
        while !self.is_next(&["]"]) {
            items.push(self.parse_nested(Self::parse_or)?);
            if !self.take(&[","]) {
                break;
            }
        }
        let end = self.close("]", offset)?;
        Ok(ConditionExpr { kind: ExprKind::List(items), offset, length: end - offset })
    }

    /// Takes a closing sign and tells where it ends.
    fn close(&mut self, sign: &str, opened: usize) -> Result<usize, ConditionError> {
        if self.take(&[sign]) {
            let placed = &self.tokens[self.at - 1];
            return Ok(placed.offset + placed.length);
        }
        match self.peek() {
            Some(placed) => Err(self.unexpected(&placed.clone())),
            None => Err(error(opened, 1, format!("this has no closing `{sign}`"))),
        }
    }
}

fn binary(
    left: ConditionExpr,
    right: ConditionExpr,
    kind: impl FnOnce(Box<ConditionExpr>, Box<ConditionExpr>) -> ExprKind,
) -> ConditionExpr {
    let (offset, end) = (left.offset, right.offset + right.length);
    ConditionExpr { kind: kind(Box::new(left), Box::new(right)), offset, length: end - offset }
}

fn wrap(
    start: Option<usize>,
    inner: ConditionExpr,
    kind: impl FnOnce(Box<ConditionExpr>) -> ExprKind,
) -> ConditionExpr {
    let (offset, end) = (start.unwrap_or(inner.offset), inner.offset + inner.length);
    ConditionExpr { kind: kind(Box::new(inner)), offset, length: end - offset }
}
