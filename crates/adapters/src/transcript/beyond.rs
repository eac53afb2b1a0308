//! Takes off what a resumed conversation had used before.

use coven_model::{Dollars, Usage};

/// What a total has more than an earlier one. What is unknown stays unknown, and a total that is
/// less than the earlier one began anew: then it is the answer itself.
pub(super) fn beyond(total: Usage, earlier: Usage) -> Usage {
    fn part<T: Copy + PartialOrd>(
        total: Option<T>,
        earlier: Option<T>,
        less: impl Fn(T, T) -> T,
    ) -> Option<T> {
        match (total, earlier) {
            (Some(total), Some(earlier)) if total >= earlier => Some(less(total, earlier)),
            (total, _) => total,
        }
    }
    let tokens = |total, earlier| part(total, earlier, u64::saturating_sub);
    let dollars = |total: Dollars, earlier: Dollars| {
        Dollars::new(total.as_f64() - earlier.as_f64()).unwrap_or_default()
    };
    Usage {
        input_tokens: tokens(total.input_tokens, earlier.input_tokens),
        cached_tokens: tokens(total.cached_tokens, earlier.cached_tokens),
        output_tokens: tokens(total.output_tokens, earlier.output_tokens),
        reasoning_tokens: tokens(total.reasoning_tokens, earlier.reasoning_tokens),
        cost_usd: part(total.cost_usd, earlier.cost_usd, dollars),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_unknown_stays_unknown_and_what_began_anew_is_kept() {
        let usage = |input, output, cost| Usage {
            input_tokens: input,
            output_tokens: output,
            cost_usd: Dollars::new(cost),
            ..Usage::default()
        };
        let more = beyond(usage(Some(10), None, 0.3), usage(Some(4), Some(5), 0.1));
        assert_eq!(more, usage(Some(6), None, 0.2));
        assert_eq!(
            beyond(usage(Some(3), Some(1), -1.0), usage(Some(4), None, 0.1)),
            usage(Some(3), Some(1), -1.0)
        );
    }
}
