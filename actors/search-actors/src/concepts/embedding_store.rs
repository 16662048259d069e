//! What an embedding model has made so far, and its files.

use std::time::{Duration, Instant};

use rustc_hash::{FxHashMap, FxHashSet};
use search_core::document::ContentKind;
use search_graph_engine::embedding::{
    DocumentEmbedding, EmbeddedContent, EmbeddedPassage, EmbeddingFile, EmbeddingIndex,
    SourceEmbeddings, TextDigest,
};

use super::documents::IndexedDocument;
use super::embedding_files::{self, KeptFile};
use super::error::ConceptError;
use super::files::ConceptFiles;
use super::known_documents::ContentHash;
use super::models::ConceptModel;
use super::passage_cache::PassageCache;

/// First and longest pause after failures.
const RETRY_DELAYS: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));

/// What was made of a content.
pub(super) struct NewEmbedding {
    kind: ContentKind,
    embedding: DocumentEmbedding,
    /// Of the texts that were embedded, a passage each.
    digests: Box<[TextDigest]>,
    /// The place of the file that holds it; none yet where it is new.
    file: Option<usize>,
}

impl NewEmbedding {
    fn new(made: EmbeddedContent, file: Option<usize>) -> Self {
        let digests = made.passages.iter().map(|passage| passage.digest).collect();
        let passages = made.passages.into_iter().map(|passage| passage.embedding);
        Self {
            kind: made.kind,
            embedding: DocumentEmbedding::new(passages, made.is_whole),
            digests,
            file,
        }
    }

    /// Its passages, with the digests of their texts.
    pub(super) fn passages(&self) -> impl Iterator<Item = EmbeddedPassage> + '_ {
        let embeddings = self.embedding.embeddings().iter();
        let passages = self.digests.iter().zip(embeddings);
        passages.map(|(digest, embedding)| EmbeddedPassage {
            digest: *digest,
            embedding: embedding.clone(),
        })
    }

    fn content(&self, hash: &ContentHash) -> EmbeddedContent {
        EmbeddedContent {
            hash: *hash,
            kind: self.kind,
            passages: self.passages().collect(),
            is_whole: self.embedding.is_whole(),
        }
    }
}

/// What of a content is not embedded yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MissingEmbeddings {
    Nothing,
    /// Its first passage is, or its beginning by an earlier version.
    Passages,
    All,
}

/// What the model has made so far.
#[derive(Default)]
pub(super) struct EmbeddingStore {
    pub(super) model: Option<ConceptModel>,
    pub(super) by_hash: FxHashMap<ContentHash, NewEmbedding>,
    /// Passages of contents that have changed.
    pub(super) former: PassageCache,
    /// Contents of which all passages are embedded that are to be.
    whole: u64,
    /// The files that hold it.
    files: Vec<KeptFile>,
    /// Whether there are files of another model.
    pub(super) has_others: bool,
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

    /// Contents that have an embedding.
    pub(super) fn count(&self) -> u64 {
        self.by_hash.len() as u64
    }

    /// Those of which all passages are embedded that are to be.
    pub(super) fn complete_count(&self) -> u64 {
        self.whole
    }

    /// What a content lacks.
    pub(super) fn missing_part(&self, hash: &ContentHash) -> MissingEmbeddings {
        match self.by_hash.get(hash) {
            None => MissingEmbeddings::All,
            Some(made) if made.embedding.is_whole() => MissingEmbeddings::Nothing,
            Some(_) => MissingEmbeddings::Passages,
        }
    }

    fn count_whole(&mut self) {
        let whole = |made: &&NewEmbedding| made.embedding.is_whole();
        self.whole = self.by_hash.values().filter(whole).count() as u64;
    }

    /// Leaves what is none of the contents `listed`; says how many went. Their passages are
    /// remembered: a changed document has most of them still.
    pub(super) fn retain(&mut self, listed: &FxHashSet<&ContentHash>) -> usize {
        let (before, former) = (self.by_hash.len(), &mut self.former);
        self.by_hash.retain(|hash, made| {
            let stays = listed.contains(hash);
            if !stays {
                former.insert(made.passages());
            }
            stays
        });
        self.count_whole();
        let gone = before - self.by_hash.len();
        self.unsaved |= gone > 0;
        self.unpublished += gone;
        gone
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

    pub(super) fn clear_failure(&mut self) {
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

    /// Puts what was made of a content.
    pub(super) fn insert(&mut self, made: EmbeddedContent) {
        let hash = made.hash;
        self.whole += u64::from(made.is_whole);
        let former = self.by_hash.insert(hash, NewEmbedding::new(made, None));
        let was_whole = former.is_some_and(|former| former.embedding.is_whole());
        self.whole -= u64::from(was_whole);
        self.unsaved = true;
        self.unpublished += 1;
    }

    /// Everything is to be made anew, by a model of another width.
    pub(super) fn reset(&mut self, width: usize) {
        self.by_hash.clear();
        self.former.clear();
        self.whole = 0;
        self.width = width;
        self.unsaved = true;
        self.unpublished = 1;
        self.replaced = Some(Instant::now());
    }

    /// What searches see.
    pub(super) fn source(
        &self,
        documents: &[IndexedDocument],
        model: &ConceptModel,
    ) -> SourceEmbeddings {
        let mut index = EmbeddingIndex::default();
        let (mut code, mut complete) = (0, true);
        for listed in documents {
            match self.by_hash.get(&listed.hash) {
                Some(made) => {
                    code += usize::from(made.kind == ContentKind::Code);
                    complete &= made.embedding.is_whole();
                    index.insert(&listed.key, made.embedding.clone());
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
            by: model.embedded_by(),
            kind,
            width: self.width,
            index,
            complete,
        }
    }

    /// Writes what was made since as a file of its own, with what is wanted of small and old
    /// files, which are removed then.
    pub(super) fn save(&mut self, saved: &ConceptFiles) -> Result<(), ConceptError> {
        match self.model.as_ref().filter(|_| self.unsaved) {
            Some(model) => self.save_as(saved, &model.embedded_by().id()),
            None => Ok(()),
        }
    }

    fn save_as(&mut self, saved: &ConceptFiles, id: &[u8; 32]) -> Result<(), ConceptError> {
        let mut wanted = vec![0; self.files.len()];
        for made in self.by_hash.values() {
            made.file.into_iter().for_each(|place| wanted[place] += 1);
        }
        let rewritten = embedding_files::to_rewrite(&self.files, &wanted);
        let is_written =
            |made: &NewEmbedding| made.file.is_none_or(|place| rewritten.contains(&place));
        let written = self.by_hash.iter().filter(|(_, made)| is_written(made));
        let contents: Vec<EmbeddedContent> =
            written.map(|(hash, made)| made.content(hash)).collect();
        saved.create()?;
        let places = self.files.len();
        if !contents.is_empty() {
            let name = embedding_files::new_name();
            let width = self.width;
            saved.write::<ConceptError>(&name, |output| {
                Ok(EmbeddingFile::write(output, id, width, &contents)?)
            })?;
            self.use_saved(saved, name, contents.len());
        }
        self.drop_files(places, &rewritten);
        embedding_files::remove_others(saved, &self.files);
        self.unsaved = false;
        Ok(())
    }

    /// Uses what lies in a file that was just written: it needs no room on the heap.
    fn use_saved(&mut self, saved: &ConceptFiles, name: String, contents: usize) {
        let place = Some(self.files.len());
        // What is in memory is as good where it cannot be mapped; it is written again then.
        if let Ok(file) = EmbeddingFile::open(&saved.path(&name)) {
            for made in file.contents() {
                let hash = made.hash;
                self.by_hash.insert(hash, NewEmbedding::new(made, place));
            }
        }
        self.files.push(KeptFile { name, contents });
    }

    /// Forgets the files at these places; those from `fixed` on are new.
    fn drop_files(&mut self, fixed: usize, dropped: &[usize]) {
        let mut moved = Vec::with_capacity(self.files.len());
        let mut next = 0;
        for place in 0..self.files.len() {
            let stays = place >= fixed || !dropped.contains(&place);
            moved.push(stays.then_some(next));
            next += usize::from(stays);
        }
        let mut places = moved.iter();
        self.files
            .retain(|_| places.next().is_some_and(Option::is_some));
        for made in self.by_hash.values_mut() {
            made.file = made.file.and_then(|place| moved[place]);
        }
    }

    /// Takes up what an earlier run, or another process, has made by the same model; not what is
    /// damaged.
    pub(super) fn load(&mut self, saved: &ConceptFiles, id: &[u8; 32]) {
        let read = embedding_files::read(saved, id);
        self.width = read.width;
        self.files = read.files;
        self.has_others = read.has_others;
        let contents = read.by_hash.into_iter();
        let made =
            contents.map(|(hash, (place, made))| (hash, NewEmbedding::new(made, Some(place))));
        self.by_hash = made.collect();
        self.count_whole();
    }
}

#[cfg(test)]
mod tests {
    use search_graph_engine::embedding::Embedding;

    use super::*;

    const MODEL: [u8; 32] = [7; 32];

    fn hash(number: u8) -> ContentHash {
        [number; 16]
    }

    /// A content of one passage, or of two.
    fn made(number: u8, kind: ContentKind, passages: u8) -> EmbeddedContent {
        let passage = |at: u8| EmbeddedPassage {
            digest: [number + at; 16],
            embedding: Embedding::new(&[1.0, f32::from(number + at) / 64.0]),
        };
        EmbeddedContent {
            hash: hash(number),
            kind,
            passages: (0..passages).map(passage).collect(),
            is_whole: number != 9,
        }
    }

    fn loaded(saved: &ConceptFiles) -> EmbeddingStore {
        let mut store = EmbeddingStore::default();
        store.load(saved, &MODEL);
        store
    }

    #[test]
    fn i18_what_is_new_is_a_file_and_few_of_them_stay() {
        let folder = tempfile::tempdir().expect("a folder");
        let saved = ConceptFiles::new(folder.path().join("concepts"));
        saved.create().expect("a folder");
        let mut store = loaded(&saved);
        store.width = 2;
        for number in 0..8 {
            store.insert(made(number, ContentKind::Code, 1));
        }
        assert_eq!((store.count(), store.unsaved), (8, true));
        store.save_as(&saved, &MODEL).expect("room");
        let files = || embedding_files::embedding_files(&saved.path(""));
        let first = files();
        assert_eq!(first.len(), 1);
        for number in 8..60 {
            store.insert(made(number, ContentKind::Prose, 2));
            store.save_as(&saved, &MODEL).expect("room");
            assert!(files().len() <= 17, "{number}");
            assert_eq!(loaded(&saved).count(), u64::from(number) + 1);
        }
        for (hash, read) in &loaded(&saved).by_hash {
            let is_code = hash[0] < 8;
            assert_eq!(read.kind == ContentKind::Code, is_code);
            let put = made(hash[0], read.kind, if is_code { 1 } else { 2 });
            assert_eq!(read.passages().collect::<Vec<_>>(), put.passages);
            let lack = if put.is_whole {
                MissingEmbeddings::Nothing
            } else {
                MissingEmbeddings::Passages
            };
            assert_eq!(loaded(&saved).missing_part(hash), lack);
        }
        assert_eq!(
            (store.complete_count(), loaded(&saved).complete_count()),
            (59, 59)
        );
        // What is gone goes from the files when it is much.
        let stays: Vec<ContentHash> = (55..60).map(hash).collect();
        assert_eq!(store.retain(&stays.iter().collect()), 55);
        assert!(store.former.get(&[20; 16]).is_some() && store.complete_count() == 5);
        store.save_as(&saved, &MODEL).expect("room");
        assert!(loaded(&saved).count() < 20);
        // Another model's are told, not used; they go when this one's are kept.
        let mut other = EmbeddingStore::default();
        other.load(&saved, &[8; 32]);
        assert!(other.has_others && other.count() == 0);
        other.width = 2;
        other.insert(made(1, ContentKind::Prose, 1));
        other.save_as(&saved, &[8; 32]).expect("room");
        assert_eq!((files().len(), loaded(&saved).count()), (1, 0));
    }
}
