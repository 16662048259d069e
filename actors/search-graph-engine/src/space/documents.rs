//! The documents of a concept space, in blocks that clones share.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::NearDocument;
use crate::math::{Bytes, WIDTH, Work, quantised_dot, vectorised};

/// Documents of a block: changing one copies its block.
const BLOCK: usize = 1_024;

/// Blocks are packed anew when more places than this, and a quarter of all, are empty.
const MAX_HOLES: usize = 2 * BLOCK;

/// Documents in order of their coming. A removed one leaves a hole: its factor is 0.
#[derive(Debug, Clone, Default)]
pub(super) struct Block {
    pub(super) vectors: Vec<Bytes>,
    pub(super) factors: Vec<f32>,
    keys: String,
    ends: Vec<u32>,
}

impl Block {
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
    blocks: Vec<Arc<Block>>,
    /// Place of each key, by the key's hash.
    places: Arc<FxHashMap<u64, u32>>,
}

/// 64 bits of a strong hash: keys that share them are not to be found by chance.
fn hash(key: &str) -> u64 {
    let bytes = blake3::hash(key.as_bytes());
    let first = bytes.as_bytes().first_chunk();
    u64::from_le_bytes(*first.expect("a hash of 32 bytes"))
}

impl DocumentTable {
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// All documents, in an order that follows from the calls that made the table.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &Bytes, f32)> {
        self.blocks.iter().flat_map(|block| {
            (0..block.factors.len())
                .filter(|&at| block.factors[at] > 0.0)
                .map(|at| (block.key(at), &block.vectors[at], block.factors[at]))
        })
    }

    pub(super) fn put(&mut self, key: &str, vector: &Bytes, factor: f32) {
        let hash = hash(key);
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

    pub(super) fn remove(&mut self, key: &str) -> bool {
        let hash = hash(key);
        if !self.places.contains_key(&hash) {
            return false;
        }
        let place = Arc::make_mut(&mut self.places).remove(&hash);
        let place = place.expect("it was found") as usize;
        let block = Arc::make_mut(&mut self.blocks[place / BLOCK]);
        block.factors[place % BLOCK] = 0.0;
        let all =
            (self.blocks.len() - 1) * BLOCK + self.blocks.last().map_or(0, |b| b.factors.len());
        let holes = all - self.len();
        if holes > MAX_HOLES && holes * 4 > all {
            self.pack();
        }
        true
    }

    /// Leaves the holes behind.
    fn pack(&mut self) {
        let mut packed = Self::default();
        for (key, vector, factor) in self.iter() {
            packed.put(key, vector, factor);
        }
        *self = packed;
    }

    pub(super) fn cosine(&self, vector: &Bytes, factor: f32, key: &str) -> Option<f32> {
        let place = *self.places.get(&hash(key))? as usize;
        let block = &self.blocks[place / BLOCK];
        let at = place % BLOCK;
        let product = quantised_dot(&block.vectors[at], vector) as f32;
        Some(product * (block.factors[at] * factor))
    }

    pub(super) fn scan(&self, vector: &Bytes, factor: f32, limit: usize) -> Vec<NearDocument> {
        if limit == 0 {
            return Vec::new();
        }
        let mut best = Best::new(limit);
        vectorised(Scan(&self.blocks, vector, factor, &mut best));
        let mut found: Vec<NearDocument> = best
            .found
            .into_iter()
            .map(|(cosine, place)| NearDocument {
                key: self.blocks[place / BLOCK].key(place % BLOCK).to_owned(),
                cosine,
            })
            .collect();
        found.sort_unstable_by(|a, b| {
            b.cosine
                .total_cmp(&a.cosine)
                .then_with(|| a.key.cmp(&b.key))
        });
        found.truncate(limit);
        found
    }

    pub(super) fn heap_bytes(&self) -> usize {
        let block = |block: &Arc<Block>| {
            WIDTH * block.vectors.capacity()
                + 4 * (block.factors.capacity() + block.ends.capacity())
                + block.keys.capacity()
        };
        self.blocks.iter().map(block).sum::<usize>() + self.places.capacity() * 17 * 8 / 7
    }
}

struct Scan<'s>(&'s [Arc<Block>], &'s Bytes, f32, &'s mut Best);

impl Work for Scan<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        for (number, block) in self.0.iter().enumerate() {
            scan_block(block, number * BLOCK, self.1, self.2, self.3);
        }
    }
}

#[inline(always)]
fn scan_block(block: &Block, first: usize, vector: &Bytes, factor: f32, best: &mut Best) {
    for (at, (bytes, own)) in block.vectors.iter().zip(&block.factors).enumerate() {
        let cosine = quantised_dot(bytes, vector) as f32 * (own * factor);
        if cosine >= best.threshold && *own > 0.0 {
            best.add(cosine, first + at);
        }
    }
}

/// The nearest so far. Holds up to twice as many as are asked for, so that it is cut seldom; all
/// that are as near as the last are kept, for their keys to decide.
struct Best {
    limit: usize,
    threshold: f32,
    found: Vec<(f32, usize)>,
    room: usize,
}

impl Best {
    fn new(limit: usize) -> Self {
        Self {
            limit,
            threshold: f32::NEG_INFINITY,
            found: Vec::new(),
            room: 2 * limit,
        }
    }

    #[cold]
    fn add(&mut self, cosine: f32, place: usize) {
        self.found.push((cosine, place));
        if self.found.len() >= self.room {
            let at = self.limit - 1;
            let (_, (threshold, _), _) = self
                .found
                .select_nth_unstable_by(at, |a, b| b.0.total_cmp(&a.0));
            self.threshold = *threshold;
            let threshold = self.threshold;
            self.found.retain(|(cosine, _)| *cosine >= threshold);
            self.room = self.found.len() + self.limit;
        }
    }
}
