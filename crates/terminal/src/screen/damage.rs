//! Which rows changed, for readers that look now and then.

/// A set of rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RowSet {
    bits: Vec<u64>,
}

impl RowSet {
    pub(super) fn insert(&mut self, row: usize) {
        let word = row / 64;
        if word >= self.bits.len() {
            self.bits.resize(word + 1, 0);
        }
        self.bits[word] |= 1 << (row % 64);
    }

    pub(super) fn contains(&self, row: usize) -> bool {
        self.bits.get(row / 64).is_some_and(|word| word >> (row % 64) & 1 == 1)
    }

    pub(super) fn clear(&mut self) {
        self.bits.fill(0);
    }

    fn is_empty(&self) -> bool {
        self.bits.iter().all(|word| *word == 0)
    }
}

/// What changed on a screen since it was last asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScreenDamage {
    /// Nothing a reader could see.
    None,
    /// Only the cursor, the title or a mode.
    State,
    /// These rows, in order, and perhaps the state.
    Rows(Vec<u16>),
    Full,
}

/// Collects changes until a reader takes them.
#[derive(Clone, Debug)]
pub(super) struct DamageTracker {
    full: bool,
    rows: RowSet,
}

impl DamageTracker {
    /// A tracker for a new screen: no reader has a row of it yet, so everything counts as changed.
    pub(super) fn new() -> Self {
        Self { full: true, rows: RowSet::default() }
    }

    pub(super) fn row(&mut self, row: usize) {
        self.rows.insert(row);
    }

    pub(super) fn all(&mut self) {
        self.full = true;
    }

    pub(super) fn contains(&self, row: usize) -> bool {
        self.full || self.rows.contains(row)
    }

    pub(super) fn clear(&mut self) {
        self.full = false;
        self.rows.clear();
    }

    /// Takes the changes of a screen with `height` rows. `state` tells whether anything beside
    /// the rows changed.
    pub(super) fn take(&mut self, height: usize, state: bool) -> ScreenDamage {
        let damage = if self.full {
            ScreenDamage::Full
        } else if !self.rows.is_empty() {
            ScreenDamage::Rows(
                (0..height).filter(|row| self.rows.contains(*row)).map(|r| r as u16).collect(),
            )
        } else if state {
            ScreenDamage::State
        } else {
            ScreenDamage::None
        };
        self.clear();
        damage
    }
}
