//! A long list that is cheap to copy.
//!
//! A decision works on a copy of the state, and a run may have thousands of steps and tasks. So
//! the list stands in boxes that copies share until one of them changes something; a change copies
//! one box, not the list.

use std::sync::Arc;

use serde::{Serialize, Serializer};

/// How many entries a box has: copying one box and counting the boxes should cost about the same.
const CHUNK_ENTRIES: usize = 64;

/// A list. Entries are added at the end and changed in place, and none is ever removed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ChunkedList<T> {
    boxes: Vec<Arc<Vec<Arc<T>>>>,
}

impl<T> Default for ChunkedList<T> {
    fn default() -> Self {
        Self { boxes: Vec::new() }
    }
}

impl<T> ChunkedList<T> {
    pub fn len(&self) -> usize {
        // All boxes but the last are full.
        match self.boxes.split_last() {
            Some((last, full)) => full.len() * CHUNK_ENTRIES + last.len(),
            None => 0,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.boxes.is_empty()
    }

    pub fn get(&self, index: usize) -> Option<&T> {
        self.boxes.get(index / CHUNK_ENTRIES)?.get(index % CHUNK_ENTRIES).map(AsRef::as_ref)
    }

    pub fn last(&self) -> Option<&T> {
        self.boxes.last()?.last().map(AsRef::as_ref)
    }

    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        self.boxes.iter().flat_map(|entries| entries.iter().map(AsRef::as_ref))
    }
}

impl<T: Clone> ChunkedList<T> {
    /// The entry at this place, to change it.
    pub fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        let entries = Arc::make_mut(self.boxes.get_mut(index / CHUNK_ENTRIES)?);
        entries.get_mut(index % CHUNK_ENTRIES).map(Arc::make_mut)
    }

    /// Adds an entry at the end.
    pub fn push(&mut self, entry: T) {
        match self.boxes.last_mut() {
            Some(last) if last.len() < CHUNK_ENTRIES => Arc::make_mut(last).push(Arc::new(entry)),
            _ => self.boxes.push(Arc::new(vec![Arc::new(entry)])),
        }
    }
}

impl<T: Clone> FromIterator<T> for ChunkedList<T> {
    fn from_iter<I: IntoIterator<Item = T>>(entries: I) -> Self {
        let mut shelf = Self::default();
        entries.into_iter().for_each(|entry| shelf.push(entry));
        shelf
    }
}

impl<T: Serialize> Serialize for ChunkedList<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_keep_their_places_and_copies_do_not_disturb_each_other() {
        let mut shelf: ChunkedList<usize> = (0..200).collect();
        let copy = shelf.clone();
        shelf.push(200);
        *shelf.get_mut(64).unwrap() = 0;
        assert_eq!((shelf.len(), copy.len()), (201, 200));
        assert_eq!((shelf.get(64), copy.get(64)), (Some(&0), Some(&64)));
        assert_eq!((shelf.get(201), shelf.last()), (None, Some(&200)));
        assert!(copy.iter().copied().eq(0..200));
        assert_eq!(ChunkedList::<u8>::default().last(), None);
    }
}
