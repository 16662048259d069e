//! The documents of a saved space, where they lie in its file.

use crate::columns::{Column, Texts};
use crate::math::{Bytes, WIDTH};

/// Documents in the order of their keys' hashes. Never changed; a document that has gone since is
/// marked beside them.
#[derive(Debug, Clone, Default)]
pub(super) struct KeptDocuments {
    pub(super) hashes: Column,
    pub(super) keys: Texts,
    pub(super) factors: Column,
    pub(super) vectors: Column,
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

    pub(super) fn heap_bytes(&self) -> usize {
        let columns = [&self.hashes, &self.factors, &self.vectors];
        columns.map(Column::heap_bytes).iter().sum::<usize>() + self.keys.heap_bytes()
    }
}
