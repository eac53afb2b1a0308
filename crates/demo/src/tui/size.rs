//! How big a terminal is.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TuiSize {
    pub(crate) columns: usize,
    pub(crate) rows: usize,
}

impl Default for TuiSize {
    /// What a terminal is taken to be that does not say.
    fn default() -> Self {
        Self { columns: 80, rows: 24 }
    }
}

impl TuiSize {
    /// A smaller terminal is treated as if it were this big: nothing could be read on it anyway.
    pub(super) const SMALLEST: Self = Self { columns: 16, rows: 6 };

    /// The size that a terminal tells, in which nought means that it does not know.
    pub(crate) fn reported(columns: u16, rows: u16) -> Self {
        if columns == 0 || rows == 0 {
            return Self::default();
        }
        Self {
            columns: usize::from(columns).max(Self::SMALLEST.columns),
            rows: usize::from(rows).max(Self::SMALLEST.rows),
        }
    }

    /// How wide a line gets. The last column stays free: what happens behind it differs between
    /// terminals.
    pub(super) fn usable_columns(self) -> usize {
        self.columns - 1
    }
}
