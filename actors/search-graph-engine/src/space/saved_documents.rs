//! The documents of a saved space, where they lie in its file.

use std::sync::{Arc, OnceLock};

use super::sketch::{Sketch, sketch};
use crate::columns::{Column, TextColumns};
use crate::math::{Bytes, WIDTH};

/// Documents in the order of their keys' hashes. Never changed; a document that has gone since is
/// marked beside them.
#[derive(Debug, Clone, Default)]
pub(super) struct KeptDocuments {
    pub(super) hashes: Column,
    pub(super) keys: TextColumns,
    pub(super) factors: Column,
    pub(super) vectors: Column,
    /// Made when they are first asked for; shared with clones.
    pub(super) sketches: Arc<OnceLock<Vec<Sketch>>>,
}

impl KeptDocuments {
    pub(super) fn len(&self) -> usize {
        self.rows().len()
    }

    pub(super) fn place(&self, hash: u64) -> Option<usize> {
        self.hashes.find_hash(hash).filter(|at| *at < self.len())
    }

    #[inline]
    pub(super) fn rows(&self) -> &[[u8; WIDTH]] {
        self.vectors.rows()
    }

    #[inline]
    pub(super) fn factors(&self) -> &[[u8; 4]] {
        self.factors.rows()
    }

    pub(super) fn get(&self, at: usize) -> (&str, Bytes, f32) {
        let (row, factor) = self.vector(at);
        (self.keys.get(at), row, factor)
    }

    #[inline]
    pub(super) fn vector(&self, at: usize) -> (Bytes, f32) {
        let row = self.rows()[at].map(|byte| byte as i8);
        (row, self.factors.f32(at))
    }

    /// The [`Sketch`] of each document; the first call reads all vectors.
    pub(super) fn sketches(&self) -> &[Sketch] {
        let of = |row: &[u8; WIDTH]| sketch(&row.map(|byte| byte as i8));
        self.sketches
            .get_or_init(|| self.rows().iter().map(of).collect())
    }

    pub(super) fn heap_bytes(&self) -> usize {
        let sketches = self.sketches.get().map_or(0, |all| size_of_val(&all[..]));
        let columns = [&self.hashes, &self.factors, &self.vectors];
        columns.map(Column::heap_bytes).iter().sum::<usize>() + self.keys.heap_bytes() + sketches
    }
}
