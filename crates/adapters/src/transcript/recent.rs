//! Remembers a few things by the ids that agents give them.

use serde::{Deserialize, Serialize};

use super::entry;
use super::limits::MAX_REMEMBERED_IDS;

/// The last few keys with what belongs to them; the oldest is forgotten first. A key counts as
/// far as a name does: keys come from outside, and may be of any length.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct RecentKeys<T>(Vec<(String, T)>);

impl<T> Default for RecentKeys<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> RecentKeys<T> {
    pub(crate) fn get(&self, key: &str) -> Option<&T> {
        let key = entry::name(key);
        self.0.iter().find(|(known, _)| *known == key).map(|(_, value)| value)
    }

    /// Remembers, and says what was remembered for that key before.
    pub(crate) fn put(&mut self, key: &str, value: T) -> Option<T> {
        let before = self.take(key);
        if self.0.len() >= MAX_REMEMBERED_IDS {
            self.0.remove(0);
        }
        self.0.push((entry::name(key), value));
        before
    }

    pub(crate) fn take(&mut self, key: &str) -> Option<T> {
        let key = entry::name(key);
        let at = self.0.iter().position(|(known, _)| *known == key)?;
        Some(self.0.remove(at).1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_is_forgotten_first() {
        let mut recent = RecentKeys::default();
        for key in 0..=MAX_REMEMBERED_IDS {
            assert_eq!(recent.put(&key.to_string(), key), None);
        }
        assert_eq!((recent.get("0"), recent.get("1")), (None, Some(&1)));
        assert_eq!(recent.put("1", 7), Some(1));
        assert_eq!((recent.take("1"), recent.take("1")), (Some(7), None));
    }
}
