//! What an embedding model has made so far, and its file.

use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;
use search_core::document::ContentKind;
use search_graph_engine::embedding::{Embedding, EmbeddingIndex, SourceEmbeddings};

use super::documents::IndexedDocument;
use super::error::ConceptError;
use super::files::ConceptFiles;
use super::known::ContentHash;
use super::models::Model;

/// First bytes of the file of embeddings; changes with its form.
const MAGIC: &[u8; 8] = b"sgembed3";
/// First and longest pause after failures.
const RETRY_DELAYS: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));

/// What the model has made so far.
#[derive(Default)]
pub(super) struct EmbeddingStore {
    pub(super) model: Option<Model>,
    pub(super) by_hash: FxHashMap<ContentHash, (ContentKind, Embedding)>,
    /// Numbers in each embedding; 0 before the first.
    pub(super) width: usize,
    pub(super) unsaved: bool,
    /// Embeddings that were made since they were published last.
    pub(super) unpublished: usize,
    pub(super) status: Option<Instant>,
    /// Whether something is among them that a search waits for.
    pub(super) wanted: bool,
    /// Whether work was left for what has changed meanwhile.
    pub(super) interrupted: bool,
    /// When the model was taken for another one last.
    pub(super) replaced: Option<Instant>,
    failures: u32,
    retry_at: Option<Instant>,
}

impl EmbeddingStore {
    pub(super) fn is_interrupted(&self) -> bool {
        self.interrupted
    }

    /// Documents that have an embedding.
    pub(super) fn count(&self) -> u64 {
        self.by_hash.len() as u64
    }

    /// The model failed: it is left alone for so long.
    pub(super) fn failed(&mut self) -> Duration {
        let pause = RETRY_DELAYS
            .0
            .saturating_mul(1 << self.failures.min(6))
            .min(RETRY_DELAYS.1);
        self.failures = self.failures.saturating_add(1);
        self.retry_at = Some(Instant::now() + pause);
        pause
    }

    pub(super) fn works(&mut self) {
        self.failures = 0;
        self.retry_at = None;
    }

    /// Time left until the model may be asked again.
    pub(super) fn pause(&self) -> Option<Duration> {
        let left = self.retry_at?.saturating_duration_since(Instant::now());
        (!left.is_zero()).then_some(left)
    }

    /// Whether a pause is over.
    pub(super) fn is_due(&self) -> bool {
        self.retry_at.is_some_and(|at| at <= Instant::now())
    }

    /// Everything is to be made anew, by a model of another width.
    pub(super) fn forget(&mut self, width: usize) {
        self.by_hash.clear();
        self.width = width;
        self.unsaved = true;
        self.unpublished = 1;
        self.replaced = Some(Instant::now());
    }

    /// What searches see.
    pub(super) fn source(&self, documents: &[IndexedDocument], model: &Model) -> SourceEmbeddings {
        let mut index = EmbeddingIndex::default();
        let (mut code, mut complete) = (0, true);
        for listed in documents {
            match self.by_hash.get(&listed.hash) {
                Some((kind, embedding)) => {
                    code += usize::from(*kind == ContentKind::Code);
                    index.put(&listed.key, embedding.clone());
                }
                None => complete = false,
            }
        }
        let kind = if code * 2 > index.len() {
            ContentKind::Code
        } else {
            ContentKind::Prose
        };
        SourceEmbeddings {
            by: model.by(),
            kind,
            width: self.width,
            index,
            complete,
        }
    }

    /// Writes the file where anything has changed: magic, model and width, then hash, kind and
    /// numbers of each, and a hash of all of it.
    pub(super) fn save(&mut self, saved: &ConceptFiles) -> Result<(), ConceptError> {
        let Some(model) = self.model.as_ref().filter(|_| self.unsaved) else {
            return Ok(());
        };
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&model.by().id());
        bytes.extend_from_slice(&(self.width as u32).to_le_bytes());
        for (hash, (kind, embedding)) in &self.by_hash {
            let numbers = embedding.to_bytes();
            if numbers.len() == self.width {
                bytes.extend_from_slice(hash);
                bytes.push(kind.code());
                bytes.extend_from_slice(&numbers);
            }
        }
        let sum = blake3::hash(&bytes);
        bytes.extend_from_slice(sum.as_bytes());
        self.unsaved = false;
        saved.create()?;
        saved.write("embeddings", |output| Ok(output.write_all(&bytes)?))
    }

    /// Takes up what an earlier run has made by the same model; nothing where it is damaged.
    pub(super) fn load(&mut self, saved: &ConceptFiles, id: &[u8; 32]) {
        let read = std::fs::read(saved.path("embeddings")).unwrap_or_default();
        if let Some((width, by_hash)) = read_file(&read, id) {
            self.width = width;
            self.by_hash = by_hash;
        }
    }
}

type SavedEmbeddings = FxHashMap<ContentHash, (ContentKind, Embedding)>;

fn read_file(bytes: &[u8], id: &[u8; 32]) -> Option<(usize, SavedEmbeddings)> {
    let (content, sum) = bytes.split_at_checked(bytes.len().checked_sub(32)?)?;
    if blake3::hash(content).as_bytes() != sum {
        return None;
    }
    let rest = content.strip_prefix(MAGIC.as_slice())?;
    let rest = rest.strip_prefix(id.as_slice())?;
    let (width, entries) = rest.split_first_chunk::<4>()?;
    let width = usize::try_from(u32::from_le_bytes(*width)).ok()?;
    let entry = |bytes: &[u8]| {
        let (hash, rest) = bytes.split_first_chunk::<16>()?;
        let (kind, numbers) = rest.split_first()?;
        let kind = ContentKind::from_code(*kind);
        Some((*hash, (kind, Embedding::from_bytes(numbers))))
    };
    let entries: Option<SavedEmbeddings> = entries.chunks_exact(17 + width).map(entry).collect();
    Some((width, entries?))
}
