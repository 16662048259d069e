//! A few documents at a time, their passages as texts for the model: those that searches wait for
//! first, then the first passage of each document, then the other passages.

use rustc_hash::FxHashMap;
use search_core::document::ContentKind;
use search_core::passages::embedded_texts;
use search_graph_engine::embedding::{
    EmbeddedContent, EmbeddedPassage, Embedding, TextDigest, UNKNOWN_DIGEST,
};

use super::*;
use crate::concepts::embedding_store::{MissingEmbeddings, NewEmbedding};
use crate::concepts::known_documents::ContentHash;
use crate::concepts::models::{ConceptModel, ModelText};

/// How far the documents were gone through: for those that lack all, and for those that lack
/// passages.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct EmbeddingProgress {
    all: usize,
    passages: usize,
    embeds_passages: bool,
}

impl EmbeddingProgress {
    /// Whether from now on documents that have a first passage get the others: said once.
    pub(super) fn starts_passages(&mut self) -> bool {
        self.passages > 0 && !std::mem::replace(&mut self.embeds_passages, true)
    }

    /// Whether nothing is left.
    pub(super) fn is_behind(self, documents: &[IndexedDocument]) -> bool {
        self.all == documents.len() && self.passages == documents.len()
    }
}

/// What the texts of a batch have become; nothing for one that the model refuses.
type MadeTexts = FxHashMap<TextDigest, Option<Embedding>>;

/// A content that gets its passages.
struct PassagePlan {
    hash: ContentHash,
    kind: ContentKind,
    /// Of the texts of its passages, in their order.
    digests: Vec<TextDigest>,
    is_whole: bool,
}

impl ConceptWorker {
    /// Documents that are to be embedded next; also whether they are the last that searches wait
    /// for.
    pub(super) fn next<'d>(
        &self,
        documents: &'d [IndexedDocument],
        place: &mut EmbeddingProgress,
        batch: usize,
    ) -> (Vec<&'d IndexedDocument>, bool) {
        let demand = self.handle.graph.demand();
        let wanted: Vec<&IndexedDocument> = demand
            .take()
            .iter()
            .filter_map(|key| {
                let place = documents.binary_search_by(|listed| listed.key.as_str().cmp(key));
                place.ok().map(|place| &documents[place])
            })
            .filter(|listed| self.embedded.missing_part(&listed.hash) != MissingEmbeddings::Nothing)
            .collect();
        if !wanted.is_empty() {
            let (now, later) = wanted.split_at(wanted.len().min(batch));
            demand.want(later.iter().map(|listed| listed.key.as_str()));
            return (now.to_vec(), later.is_empty());
        }
        let found = self.next_missing(MissingEmbeddings::All, documents, &mut place.all, batch);
        if !found.is_empty() {
            return (found, false);
        }
        let found = self.next_missing(
            MissingEmbeddings::Passages,
            documents,
            &mut place.passages,
            batch,
        );
        (found, false)
    }

    /// The next documents that lack this, from a place on.
    fn next_missing<'d>(
        &self,
        lack: MissingEmbeddings,
        documents: &'d [IndexedDocument],
        at: &mut usize,
        batch: usize,
    ) -> Vec<&'d IndexedDocument> {
        let mut found = Vec::new();
        while found.len() < batch && *at < documents.len() {
            let listed = &documents[*at];
            *at += 1;
            if self.embedded.missing_part(&listed.hash) == lack {
                found.push(listed);
            }
        }
        found
    }

    /// Embeds some documents: of those without anything the first passage, of the others the rest.
    /// `false` where what was made before is to be made anew.
    pub(super) fn embed_batch(
        &mut self,
        model: &ConceptModel,
        batch: &[&IndexedDocument],
        root: &dyn SourceFiles,
    ) -> Result<bool, String> {
        let (mut planned, mut texts, mut made) = (Vec::new(), Vec::new(), MadeTexts::default());
        for listed in batch {
            // Changed or gone meanwhile: the index will say so.
            if let Some(document) = self.read(root, listed) {
                let (one, own) = self.plan(&listed.hash, &document, model, &mut made);
                planned.push(one);
                texts.extend(own);
            }
        }
        for some in texts.chunks(model.batch()) {
            if self.is_cancelled() {
                return Ok(true);
            }
            match self.embed_texts(model, some, &mut made) {
                Ok(true) => {}
                Ok(false) => return Ok(false),
                Err(reason) => {
                    // What was made of the texts before is not made again.
                    let made = made.into_iter();
                    let made = made.filter_map(|(digest, embedding)| {
                        let embedding = embedding?;
                        Some(EmbeddedPassage { digest, embedding })
                    });
                    self.embedded.former.insert(made);
                    return Err(reason);
                }
            }
        }
        let nothing = Embedding::from_bytes(&vec![0; self.embedded.width]);
        for one in planned {
            let passage = |digest: &TextDigest| EmbeddedPassage {
                digest: *digest,
                embedding: made
                    .get(digest)
                    .cloned()
                    .flatten()
                    .unwrap_or_else(|| nothing.clone()),
            };
            self.embedded.insert(EmbeddedContent {
                hash: one.hash,
                kind: one.kind,
                passages: one.digests.iter().map(passage).collect(),
                is_whole: one.is_whole,
            });
        }
        Ok(true)
    }

    /// What is to be made of a document, and the texts that have to be embedded for it. What is
    /// known of its passages is put to `made`.
    fn plan(
        &self,
        hash: &ContentHash,
        document: &ExtractedDocument,
        model: &ConceptModel,
        made: &mut MadeTexts,
    ) -> (PassagePlan, Vec<ModelText>) {
        let mut all = embedded_texts(document, model.text_bytes());
        let is_passage = all.len() > 1;
        let former = self.embedded.by_hash.get(hash);
        let is_whole = former.is_some() || !is_passage;
        if !is_whole {
            all.truncate(1);
        }
        let former: Vec<EmbeddedPassage> = former
            .into_iter()
            .flat_map(NewEmbedding::passages)
            .collect();
        let (mut digests, mut texts) = (Vec::with_capacity(all.len()), Vec::new());
        for text in all {
            let text = ModelText { text, is_passage };
            let digest = text.digest();
            digests.push(digest);
            // What an earlier version made of a document of one passage is what is made now.
            let is_same = |one: &&EmbeddedPassage| {
                one.digest == digest || (!is_passage && one.digest == UNKNOWN_DIGEST)
            };
            let same = former.iter().find(is_same).map(|one| &one.embedding);
            if let Some(known) = same.or_else(|| self.embedded.former.get(&digest)) {
                made.insert(digest, Some(known.clone()));
            } else {
                texts.push(text);
            }
        }
        let planned = PassagePlan {
            hash: *hash,
            kind: document.kind,
            digests,
            is_whole,
        };
        (planned, texts)
    }

    /// Has some texts embedded; `false` where what was made before is to be made anew.
    fn embed_texts(
        &mut self,
        model: &ConceptModel,
        texts: &[ModelText],
        made: &mut MadeTexts,
    ) -> Result<bool, String> {
        let embeddings = model.embed(texts, &self.cancel)?;
        let mut widths = embeddings.iter().flatten().map(Embedding::dimensions);
        let fits = match widths.next() {
            Some(width) if widths.all(|other| other == width) => self.fit_width(width)?,
            Some(_) => return Err("its vectors have different lengths".to_owned()),
            None => true,
        };
        if fits {
            made.extend(texts.iter().map(ModelText::digest).zip(embeddings));
        }
        Ok(fits)
    }
}
