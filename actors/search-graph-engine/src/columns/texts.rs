//! Texts by number: one after the other, and where each ends.

use super::{Column, u32_column};

/// Texts in two columns.
#[derive(Debug, Clone, Default)]
pub(crate) struct TextColumns {
    pub(crate) ends: Column,
    pub(crate) text: Column,
}

impl TextColumns {
    pub(crate) fn len(&self) -> usize {
        self.ends.rows::<4>().len()
    }

    /// The text of this number; empty where there is none.
    #[inline]
    pub(crate) fn get(&self, number: usize) -> &str {
        let start = number
            .checked_sub(1)
            .map_or(0, |before| self.ends.u32(before));
        let range = start as usize..self.ends.u32(number) as usize;
        let bytes = self.text.get(range).unwrap_or_default();
        std::str::from_utf8(bytes).unwrap_or_default()
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.ends.heap_bytes() + self.text.heap_bytes()
    }
}

/// Makes [`TextColumns`].
#[derive(Debug, Default)]
pub(crate) struct TextsBuilder {
    ends: Vec<u32>,
    text: Vec<u8>,
}

impl TextsBuilder {
    /// With room for so many texts of so many bytes together.
    pub(crate) fn sized(texts: usize, bytes: usize) -> Self {
        Self {
            ends: Vec::with_capacity(texts),
            text: Vec::with_capacity(bytes),
        }
    }

    pub(crate) fn push(&mut self, text: &str) {
        self.text.extend_from_slice(text.as_bytes());
        self.ends.push(self.text.len() as u32);
    }

    pub(crate) fn finish(self) -> TextColumns {
        TextColumns {
            ends: u32_column(self.ends),
            text: self.text.into(),
        }
    }
}
