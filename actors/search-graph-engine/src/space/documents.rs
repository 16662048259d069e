//! The documents of a concept space: those of its file, and those that came since in blocks that
//! clones share.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::best::NearestDocuments;
use super::saved_documents::KeptDocuments;
use super::sketch::{self, EXACT_UP_TO};
use super::spread::{CosineDistribution, SpreadTally};
use crate::columns::{RowSet, key_hash};
use crate::math::{Bytes, Multiplier, WIDTH, Work, vectorised};

/// Documents of a block: changing one copies its block.
const BLOCK: usize = 1_024;

/// Blocks are packed anew when more places than this, and a quarter of all, are empty.
const MAX_HOLES: usize = 2 * BLOCK;

/// Documents that say how near all are, where not all are compared.
const SAMPLE: usize = 16_384;

/// A document found by its vector.
#[derive(Debug, Clone, PartialEq)]
pub struct NearDocument {
    /// The document's key.
    pub key: String,
    /// Cosine of the angle to what was asked for, from -1 to 1.
    pub cosine: f32,
}

/// Documents in order of their coming. A removed one leaves a hole: its factor is 0.
#[derive(Debug, Clone, Default)]
pub(super) struct VectorBlock {
    pub(super) vectors: Vec<Bytes>,
    pub(super) factors: Vec<f32>,
    keys: String,
    ends: Vec<u32>,
}

impl VectorBlock {
    pub(super) fn key(&self, at: usize) -> &str {
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.keys[start as usize..self.ends[at] as usize]
    }

    fn push(&mut self, key: &str, vector: &Bytes, factor: f32) {
        self.vectors.push(*vector);
        self.factors.push(factor);
        self.keys.push_str(key);
        self.ends.push(self.keys.len() as u32);
        if self.ends.len() == BLOCK {
            self.keys.shrink_to_fit();
        }
    }
}

/// Vectors of documents by key.
#[derive(Debug, Clone, Default)]
pub(super) struct DocumentTable {
    kept: KeptDocuments,
    /// Which of the kept ones were removed, or put anew.
    gone: RowSet,
    blocks: Vec<Arc<VectorBlock>>,
    /// Place in the blocks of each key, by the key's hash.
    places: Arc<FxHashMap<u64, u32>>,
}

impl DocumentTable {
    pub(super) fn new(kept: KeptDocuments) -> Self {
        Self {
            kept,
            ..Self::default()
        }
    }

    pub(super) fn len(&self) -> usize {
        self.kept.len() - self.gone.count() + self.places.len()
    }

    /// The place of each document, in the order of their keys' hashes.
    pub(super) fn places(&self) -> Vec<usize> {
        let kept = self.kept.hashes.rows().iter().enumerate();
        let kept = kept.filter(|(at, _)| !self.gone.contains(*at));
        let kept = kept.map(|(at, hash)| (u64::from_le_bytes(*hash), at));
        let changed = self.places.iter();
        let changed = changed.map(|(hash, at)| (*hash, self.kept.len() + *at as usize));
        let mut places: Vec<(u64, usize)> = kept.chain(changed).collect();
        places.sort_unstable();
        places.into_iter().map(|(_, at)| at).collect()
    }

    /// The document at a place: the kept ones come first, then those of the blocks.
    pub(super) fn get(&self, place: usize) -> (&str, Bytes, f32) {
        match place.checked_sub(self.kept.len()) {
            None => self.kept.get(place),
            Some(place) => {
                let (block, at) = (&self.blocks[place / BLOCK], place % BLOCK);
                (block.key(at), block.vectors[at], block.factors[at])
            }
        }
    }

    pub(super) fn insert(&mut self, key: &str, vector: &Bytes, factor: f32) {
        let hash = key_hash(key);
        if let Some(place) = self.kept.place(hash) {
            self.gone.add(place);
        }
        if let Some(&place) = self.places.get(&hash) {
            let block = Arc::make_mut(&mut self.blocks[place as usize / BLOCK]);
            let at = place as usize % BLOCK;
            (block.vectors[at], block.factors[at]) = (*vector, factor);
            return;
        }
        if self
            .blocks
            .last()
            .is_none_or(|block| block.factors.len() == BLOCK)
        {
            self.blocks.push(Arc::default());
        }
        let last = self.blocks.len() - 1;
        let block = Arc::make_mut(&mut self.blocks[last]);
        let place = last * BLOCK + block.factors.len();
        block.push(key, vector, factor);
        Arc::make_mut(&mut self.places).insert(hash, place as u32);
    }

    pub(super) fn remove(&mut self, hash: u64) -> bool {
        if !self.places.contains_key(&hash) {
            let kept = self.kept.place(hash);
            return kept.is_some_and(|place| self.gone.add(place));
        }
        let place = Arc::make_mut(&mut self.places).remove(&hash);
        let place = place.expect("it was found") as usize;
        let block = Arc::make_mut(&mut self.blocks[place / BLOCK]);
        block.factors[place % BLOCK] = 0.0;
        let all =
            (self.blocks.len() - 1) * BLOCK + self.blocks.last().map_or(0, |b| b.factors.len());
        let holes = all - self.places.len();
        if holes > MAX_HOLES && holes * 4 > all {
            self.pack();
        }
        true
    }

    /// Leaves the holes behind.
    fn pack(&mut self) {
        let mut packed = Self::default();
        for block in &self.blocks {
            for at in (0..block.factors.len()).filter(|at| block.factors[*at] > 0.0) {
                packed.insert(block.key(at), &block.vectors[at], block.factors[at]);
            }
        }
        (self.blocks, self.places) = (packed.blocks, packed.places);
    }

    /// The vector of a document, and its factor.
    pub(super) fn vector(&self, key: &str) -> Option<(Bytes, f32)> {
        let hash = key_hash(key);
        if let Some(place) = self.places.get(&hash) {
            let block = &self.blocks[*place as usize / BLOCK];
            let at = *place as usize % BLOCK;
            return Some((block.vectors[at], block.factors[at]));
        }
        let place = self
            .kept
            .place(hash)
            .filter(|at| !self.gone.contains(*at))?;
        Some(self.kept.vector(place))
    }

    /// The nearest documents, and how near the documents are altogether.
    pub(super) fn survey(
        &self,
        vector: &Bytes,
        factor: f32,
        limit: usize,
    ) -> (Vec<NearDocument>, CosineDistribution) {
        self.survey_exactly(vector, factor, limit, EXACT_UP_TO)
    }

    /// The same; kept documents are compared one by one where there are `exact_up_to` or fewer.
    fn survey_exactly(
        &self,
        vector: &Bytes,
        factor: f32,
        limit: usize,
        exact_up_to: usize,
    ) -> (Vec<NearDocument>, CosineDistribution) {
        let mut best = NearestDocuments::new(limit.max(1));
        let mut tally = SpreadTally::default();
        let kept = self.kept.len();
        let compared = sketch::compared(kept, limit).filter(|_| kept > exact_up_to);
        let alike = compared.map(|wanted| match limit {
            // How near all are is told by the sample.
            0 => Vec::new(),
            _ => sketch::nearest(self.kept.sketches(), sketch::sketch(vector), wanted),
        });
        vectorised(Scan {
            table: self,
            vector: &Multiplier::new(vector),
            factor,
            alike: alike.as_deref(),
            best: &mut best,
            tally: &mut tally,
        });
        let mut found: Vec<NearDocument> = best
            .into_found()
            .into_iter()
            .map(|(cosine, place)| NearDocument {
                key: self.get(place).0.to_owned(),
                cosine,
            })
            .collect();
        found.sort_unstable_by(|a, b| {
            b.cosine
                .total_cmp(&a.cosine)
                .then_with(|| a.key.cmp(&b.key))
        });
        found.truncate(limit);
        (found, tally.spread())
    }

    pub(super) fn heap_bytes(&self) -> usize {
        let block = |block: &Arc<VectorBlock>| {
            WIDTH * block.vectors.capacity()
                + 4 * (block.factors.capacity() + block.ends.capacity())
                + block.keys.capacity()
        };
        let changed = self.blocks.iter().map(block).sum::<usize>();
        self.kept.heap_bytes() + changed + self.places.capacity() * 17 * 8 / 7
    }
}

struct Scan<'s> {
    table: &'s DocumentTable,
    vector: &'s Multiplier,
    factor: f32,
    /// The kept documents that are compared, where not all are.
    alike: Option<&'s [usize]>,
    best: &'s mut NearestDocuments,
    tally: &'s mut SpreadTally,
}

impl Work for Scan<'_> {
    type Output = ();

    #[inline(always)]
    fn call(mut self) {
        match self.alike {
            Some(alike) => self.some_kept(alike),
            None => self.kept(),
        }
        for (number, block) in self.table.blocks.iter().enumerate() {
            self.block(block, self.table.kept.len() + number * BLOCK);
        }
    }
}

impl Scan<'_> {
    #[inline(always)]
    fn kept(&mut self) {
        let kept = &self.table.kept;
        let has_gone = self.table.gone.count() > 0;
        for (at, (row, own)) in kept.rows().iter().zip(kept.factors()).enumerate() {
            let product = self.vector.dot(&row.map(|byte| byte as i8)) as f32;
            let cosine = product * (f32::from_le_bytes(*own) * self.factor);
            if has_gone && self.table.gone.contains(at) {
                continue;
            }
            self.tally.add(cosine);
            if self.best.is_candidate(cosine) {
                self.best.add(cosine, at);
            }
        }
    }

    /// Only those at these places. How near all are is told by a sample: the order of the kept ones
    /// is that of hashes, which has nothing to do with what they say.
    #[inline(always)]
    fn some_kept(&mut self, alike: &[usize]) {
        let step = self.table.kept.len().div_ceil(SAMPLE);
        for at in (0..self.table.kept.len()).step_by(step) {
            if let Some(cosine) = self.kept_cosine(at) {
                self.tally.add_for(step as i64, cosine);
            }
        }
        for &at in alike {
            let cosine = self.kept_cosine(at);
            if let Some(cosine) = cosine.filter(|cosine| self.best.is_candidate(*cosine)) {
                self.best.add(cosine, at);
            }
        }
    }

    #[inline(always)]
    fn kept_cosine(&self, at: usize) -> Option<f32> {
        let (row, own) = self.table.kept.vector(at);
        let product = self.vector.dot(&row) as f32;
        (!self.table.gone.contains(at)).then_some(product * (own * self.factor))
    }

    #[inline(always)]
    fn block(&mut self, block: &VectorBlock, first: usize) {
        for (at, (bytes, own)) in block.vectors.iter().zip(&block.factors).enumerate() {
            let cosine = self.vector.dot(bytes) as f32 * (own * self.factor);
            if *own <= 0.0 {
                continue;
            }
            self.tally.add(cosine);
            if self.best.is_candidate(cosine) {
                self.best.add(cosine, first + at);
            }
        }
    }
}

#[cfg(test)]
mod tests;
