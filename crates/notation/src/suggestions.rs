//! Suggestions for a name that is not known: the known names that are spelled almost like it.

/// How many suggestions help; more is a list.
const MAX_SUGGESTIONS: usize = 3;

/// How many candidates are looked at. To compare a wrong name with every known one is for files of
/// a human size.
const MAX_CANDIDATES: usize = 1000;

/// The candidates that `word` is probably a slip of, best first, at most three.
///
/// Case and the difference between `-`, `_` and space do not count.
pub fn near<'a, I, S>(word: &str, candidates: I) -> Vec<&'a str>
where
    I: IntoIterator<Item = &'a S>,
    S: AsRef<str> + ?Sized + 'a,
{
    // The distance is quadratic in the length, and a name this long is no typing error.
    if word.len() > 200 {
        return Vec::new();
    }
    let word = plain(word);
    let length = word.chars().count();
    let mut found: Vec<(usize, &'a str)> = candidates
        .into_iter()
        .map(AsRef::as_ref)
        .filter(|candidate| candidate.len() <= 200)
        .take(MAX_CANDIDATES)
        .filter_map(|candidate| {
            let plain = plain(candidate);
            let (shorter, longer) = {
                let count = plain.chars().count();
                (length.min(count), length.max(count))
            };
            let prefix = length >= 3 && (plain.starts_with(&word) || word.starts_with(&plain));
            // One slip in a short word, two in a usual one, three in a long one.
            let allowed = match longer {
                0..=1 => 0,
                2..=4 => 1,
                5..=9 => 2,
                _ => 3,
            };
            let prefix = prefix && plain.len() >= 3;
            // Every character that one has more is a difference.
            if !prefix && longer - shorter > allowed {
                return None;
            }
            #[cfg(test)]
            crate::work::count();
            let distance = strsim::damerau_levenshtein(&word, &plain);
            (distance <= allowed || prefix).then_some((distance, candidate))
        })
        .collect();
    found.sort_unstable();
    found.dedup();
    found.into_iter().take(MAX_SUGGESTIONS).map(|(_, candidate)| candidate).collect()
}

fn plain(word: &str) -> String {
    word.chars().filter(|c| !matches!(c, '-' | '_' | ' ')).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::near;

    #[test]
    fn slips_are_found_best_first() {
        let known = ["promptFlag", "pattern", "name", "promote", "prompt"];
        assert_eq!(near("promt", &known), ["prompt", "promote"]);
        assert_eq!(near("prompts", &known), ["prompt", "promote"]);
        assert_eq!(near("promptFla", &known), ["promptFlag", "prompt"]);
        assert_eq!(near("naem", &known), ["name"]);
        assert_eq!(near("colour", &known), Vec::<&str>::new());
    }

    #[test]
    fn case_and_separators_do_not_count() {
        assert_eq!(near("MAX-CONCURRENT", ["max_concurrent", "min"]), ["max_concurrent"]);
        assert_eq!(near("on failure", ["on_failure"]), ["on_failure"]);
    }

    #[test]
    fn short_and_endless_words_suggest_nothing_wild() {
        assert_eq!(near("", ["a", "id"]), Vec::<&str>::new());
        assert_eq!(near("x", ["y", "id"]), Vec::<&str>::new());
        assert_eq!(near(&"a".repeat(100_000), ["a"]), Vec::<&str>::new());
    }
}
