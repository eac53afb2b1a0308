//! What an agent used up: tokens and money. What is not known stays unknown, never zero.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

const NANOS_PER_DOLLAR: f64 = 1e9;

/// An amount of US dollars, kept in billionths so that it can be compared and added exactly. On
/// disk and on the wire it is a plain number of dollars.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct UsDollars(u64);

impl UsDollars {
    /// This many billionths of a dollar.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// The nearest amount that can be kept; nothing for what is no amount of money.
    pub fn new(dollars: f64) -> Option<Self> {
        let nanos = (dollars * NANOS_PER_DOLLAR).round();
        (0.0..=1e18).contains(&nanos).then_some(Self(nanos as u64))
    }

    /// As a number of dollars.
    pub fn as_f64(self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "money is shown, not counted, as a float")]
        let nanos = self.0 as f64;
        nanos / NANOS_PER_DOLLAR
    }
}

impl fmt::Display for UsDollars {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 > 0 && self.0 < 10_000_000 {
            write!(formatter, "${:.4}", self.as_f64())
        } else {
            write!(formatter, "${:.2}", self.as_f64())
        }
    }
}

impl Serialize for UsDollars {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.as_f64())
    }
}

impl<'de> Deserialize<'de> for UsDollars {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let dollars = f64::deserialize(deserializer)?;
        Self::new(dollars)
            .ok_or_else(|| serde::de::Error::custom(format!("{dollars} is no amount of dollars")))
    }
}

/// Tokens and cost of one turn or one run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct TokenUsage {
    /// Tokens read, cached ones included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// Of those, tokens that came from a cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached_tokens: Option<u64>,
    /// Tokens that the model wrote.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    /// Of those, tokens spent on thinking, where told apart.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_tokens: Option<u64>,
    /// Cost in US dollars as the agent says; most do not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<f64>")]
    pub cost_usd: Option<UsDollars>,
}

impl TokenUsage {
    /// Whether nothing at all is known.
    pub fn is_unknown(&self) -> bool {
        *self == Self::default()
    }

    /// Both together. A part that only one of them knows keeps that value: a sum is then a lower
    /// bound, which is the best there is.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let both = |one: Option<u64>, two: Option<u64>| match (one, two) {
            (Some(one), Some(two)) => Some(one.saturating_add(two)),
            (one, two) => one.or(two),
        };
        Self {
            input_tokens: both(self.input_tokens, other.input_tokens),
            cached_tokens: both(self.cached_tokens, other.cached_tokens),
            output_tokens: both(self.output_tokens, other.output_tokens),
            reasoning_tokens: both(self.reasoning_tokens, other.reasoning_tokens),
            cost_usd: both(self.cost_usd.map(|cost| cost.0), other.cost_usd.map(|cost| cost.0))
                .map(UsDollars),
        }
    }

    /// What was added since `earlier`, for agents that count over a whole conversation. A part
    /// that is not known now stays unknown, and one that is less than it was began anew: then it
    /// is the answer itself.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        let more = |now: Option<u64>, then: Option<u64>| {
            now.map(|now| now.checked_sub(then.unwrap_or(0)).unwrap_or(now))
        };
        let nanos = |cost: Option<UsDollars>| cost.map(|cost| cost.0);
        Self {
            input_tokens: more(self.input_tokens, earlier.input_tokens),
            cached_tokens: more(self.cached_tokens, earlier.cached_tokens),
            output_tokens: more(self.output_tokens, earlier.output_tokens),
            reasoning_tokens: more(self.reasoning_tokens, earlier.reasoning_tokens),
            cost_usd: more(nanos(self.cost_usd), nanos(earlier.cost_usd)).map(UsDollars),
        }
    }
}

impl fmt::Display for TokenUsage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tokens = |count: Option<u64>, what: &str| count.map(|count| format!("{count} {what}"));
        let parts = [
            tokens(self.input_tokens, "tokens read"),
            tokens(self.cached_tokens, "of them cached"),
            tokens(self.output_tokens, "written"),
            tokens(self.reasoning_tokens, "of them thinking"),
            self.cost_usd.map(|cost| cost.to_string()),
        ];
        let known: Vec<String> = parts.into_iter().flatten().collect();
        formatter.write_str(&known.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cost_nobody_told_is_not_zero() {
        let known = TokenUsage {
            cost_usd: UsDollars::new(0.5),
            input_tokens: Some(10),
            ..TokenUsage::default()
        };
        let unknown = TokenUsage { input_tokens: Some(5), ..TokenUsage::default() };
        assert_eq!(unknown.plus(unknown).cost_usd, None);
        assert_eq!(known.plus(unknown).cost_usd, UsDollars::new(0.5));
        assert_eq!(known.plus(unknown).input_tokens, Some(15));
        assert_eq!(known.since(unknown).input_tokens, Some(5));
        assert_eq!(unknown.since(known).cost_usd, None);
    }

    #[test]
    fn what_is_unknown_stays_unknown_and_what_began_anew_is_kept() {
        let usage = |input, output, cost| TokenUsage {
            input_tokens: input,
            output_tokens: output,
            cost_usd: UsDollars::new(cost),
            ..TokenUsage::default()
        };
        let more = usage(Some(10), None, 0.3).since(usage(Some(4), Some(5), 0.1));
        assert_eq!(more, usage(Some(6), None, 0.2));
        assert_eq!(
            usage(Some(3), Some(1), -1.0).since(usage(Some(4), None, 0.1)),
            usage(Some(3), Some(1), -1.0)
        );
    }

    #[test]
    fn only_what_is_known_is_told() {
        let usage = TokenUsage {
            input_tokens: Some(12),
            output_tokens: Some(3),
            cost_usd: UsDollars::new(0.25),
            ..TokenUsage::default()
        };
        assert_eq!(usage.to_string(), "12 tokens read, 3 written, $0.25");
        assert_eq!(TokenUsage::default().to_string(), "");
    }

    #[test]
    fn dollars_read_back_exactly_and_refuse_what_is_no_money() {
        for dollars in [0.0, 0.000_001, 0.083_55, 12.5, 999_999.99] {
            let kept = UsDollars::new(dollars).unwrap();
            let text = serde_json::to_string(&kept).unwrap();
            assert_eq!(text, serde_json::to_string(&dollars).unwrap());
            assert_eq!(serde_json::from_str::<UsDollars>(&text).unwrap(), kept);
        }
        for dollars in [-1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(UsDollars::new(dollars), None);
        }
        assert_eq!(UsDollars::new(0.0042).unwrap().to_string(), "$0.0042");
        assert_eq!(UsDollars::new(1.239).unwrap().to_string(), "$1.24");
    }
}
