//! Embeddings of a source's documents by the model that a role names: made in the background, what
//! searches wait for first, and kept by content hash.

use std::time::Instant;

use search_core::role::ModelSource;

use super::embedding_batch::EmbeddingProgress;
use super::*;
use crate::concepts::known_documents::ContentHash;
use crate::concepts::models::{ConceptModel, ServerModel};

/// What was made is published this often while there is more to make; and this share of the time
/// may go into that.
const PUBLISH: Duration = Duration::from_secs(5);
/// What searches waited for is published so soon.
const PUBLISH_WANTED: Duration = Duration::from_millis(500);
/// Embedding makes room for what has changed after so long.
const ROOM: Duration = Duration::from_secs(2);
/// A model whose vectors get another width more often than this is not usable.
const WIDTH_CHANGE_WINDOW: Duration = Duration::from_secs(600);

/// How embedding ended.
enum EmbeddingOutcome {
    All,
    /// Something has changed, which is followed first.
    Interrupted,
}

impl ConceptWorker {
    /// Whether the model has embedded all documents.
    pub(super) fn ranks_by_model(&self) -> bool {
        let made = self.handle.graph.embeddings();
        made.is_some_and(|made| made.complete)
    }

    /// Whether the model is to be asked though nothing has changed: it failed, or was seen to be
    /// another one.
    pub(super) fn model_is_due(&self) -> bool {
        self.embedded.is_due() || (self.embeds() && self.is_doubted())
    }

    fn is_doubted(&self) -> bool {
        self.handle.graph.demand().is_doubted() && self.embedded.pause().is_none()
    }

    /// Brings the embeddings in step with the index. A model that cannot be used is told of, tried
    /// again later, and search goes on without it.
    pub(super) fn embed(
        &mut self,
        documents: &[IndexedDocument],
        root: &dyn SourceFiles,
    ) -> WorkResult<()> {
        let Some(source) = self.handle.model.clone() else {
            return Ok(Ok(()));
        };
        if self.embedded.pause().is_some() {
            return Ok(Ok(()));
        }
        let made = match self.model(&source) {
            Ok(model) => self.embed_missing(&model, documents, root)?,
            Err(reason) => Err(reason),
        };
        self.embedded.save(&self.saved)?;
        if self.is_cancelled() {
            return Ok(Err(Cancelled));
        }
        match made {
            Ok(EmbeddingOutcome::All) => {
                self.embedded.clear_failure();
                self.model_error = None;
            }
            Ok(EmbeddingOutcome::Interrupted) => {
                self.embedded.clear_failure();
                self.embedded.interrupted = true;
            }
            Err(reason) => self.model_failed(&source, &reason),
        }
        Ok(Ok(()))
    }

    fn model_failed(&mut self, source: &ModelSource, reason: &str) {
        let again = self.embedded.failed();
        let model = match source {
            ModelSource::Folder(folder) => folder.display().to_string(),
            ModelSource::Server { base_url, model } => format!("{model} of {base_url}"),
        };
        let source = self.handle.haystack.name.as_str();
        let again_s = again.as_secs();
        tracing::warn!(event = "concepts.model_unusable", source, %model, reason, again_s);
        self.model_error = Some(format!(
            "embedding model {model}: {reason}; it is tried again"
        ));
    }

    pub(super) fn model(&mut self, source: &ModelSource) -> Result<ConceptModel, String> {
        if let Some(model) = &self.embedded.model {
            return Ok(model.clone());
        }
        let model = match source {
            ModelSource::Folder(folder) => ConceptModel::Folder(self.settings.models.get(folder)?),
            ModelSource::Server { .. } => ConceptModel::Server(ServerModel {
                endpoint: self
                    .handle
                    .embedding_endpoint()
                    .ok_or("it has no address")?,
                service: self.settings.embedding.clone(),
            }),
        };
        self.embedded.model = Some(model.clone());
        self.embedded.load(&self.saved, &model.embedded_by().id());
        self.embedded.unpublished = 1;
        Ok(model)
    }

    /// Makes what is missing, publishes now and then.
    fn embed_missing(
        &mut self,
        model: &ConceptModel,
        documents: &[IndexedDocument],
        root: &dyn SourceFiles,
    ) -> Result<Result<EmbeddingOutcome, String>, ConceptError> {
        if self.is_doubted()
            && let Err(reason) = self.check_model(model)
        {
            return Ok(Err(reason));
        }
        self.remove_gone(documents);
        self.publish_embeddings(documents, model);
        let (began, mut kept) = (Instant::now(), Instant::now());
        let (mut place, total) = (EmbeddingProgress::default(), documents.len() as u64);
        loop {
            if self.is_cancelled() {
                return Ok(Ok(EmbeddingOutcome::Interrupted));
            }
            let (batch, wanted) = self.next(documents, &mut place, model.batch());
            if batch.is_empty() && place.is_behind(documents) {
                break;
            }
            if place.starts_passages() {
                self.publish_embeddings(documents, model);
            }
            self.report_state_throttled(
                ConceptsState::Embedding,
                self.embedded.complete_count(),
                total,
            );
            match self.embed_batch(model, &batch, root) {
                Ok(true) => {}
                Ok(false) => place = EmbeddingProgress::default(),
                Err(reason) => {
                    self.publish_embeddings(documents, model);
                    return Ok(Err(reason));
                }
            }
            self.publish_now_and_then(documents, model, wanted);
            if kept.elapsed() > CHECKPOINT_INTERVAL {
                self.embedded.save(&self.saved)?;
                kept = Instant::now();
            }
            if began.elapsed() > ROOM && self.woken.try_recv().is_ok() {
                self.publish_embeddings(documents, model);
                return Ok(Ok(EmbeddingOutcome::Interrupted));
            }
        }
        self.embedded.former.clear();
        self.publish_embeddings(documents, model);
        Ok(Ok(EmbeddingOutcome::All))
    }

    /// The model was seen to give vectors of another width: it is asked, and begun anew with where
    /// that is so.
    fn check_model(&mut self, model: &ConceptModel) -> Result<(), String> {
        let width = model.width(&self.cancel)?;
        self.handle.graph.demand().trust();
        self.fit_width(width).map(|_| ())
    }

    /// Whether vectors of this width fit those there are. Where not, all are made anew; but not
    /// again and again.
    pub(super) fn fit_width(&mut self, width: usize) -> Result<bool, String> {
        let known = self.embedded.width;
        if known == 0 || known == width {
            self.embedded.width = width;
            return Ok(true);
        }
        let lately = |at: Instant| at.elapsed() < WIDTH_CHANGE_WINDOW;
        if self.embedded.replaced.is_some_and(lately) {
            return Err(format!(
                "its vectors had {known} numbers and have {width} now, not for the first time"
            ));
        }
        tracing::warn!(
            event = "concepts.model_replaced",
            source = self.handle.haystack.name,
            known,
            width
        );
        self.embedded.reset(width);
        Ok(false)
    }

    /// Leaves what was made of contents that no document has any more.
    pub(super) fn remove_gone(&mut self, documents: &[IndexedDocument]) {
        let listed: rustc_hash::FxHashSet<&ContentHash> =
            documents.iter().map(|listed| &listed.hash).collect();
        self.embedded.retain(&listed);
    }

    fn publish_now_and_then(
        &mut self,
        documents: &[IndexedDocument],
        model: &ConceptModel,
        wanted: bool,
    ) {
        self.embedded.wanted |= wanted;
        let wait = if self.embedded.wanted {
            PUBLISH_WANTED
        } else {
            PUBLISH
        };
        if self.embedded.status.is_none_or(|at| at.elapsed() >= wait) {
            self.publish_embeddings(documents, model);
        }
    }

    /// Lets searches see what was made, where anything was.
    pub(super) fn publish_embeddings(
        &mut self,
        documents: &[IndexedDocument],
        model: &ConceptModel,
    ) {
        let made = self.embedded.source(documents, model);
        let was_complete = self.ranks_by_model();
        if self.embedded.unpublished == 0 && was_complete == made.complete {
            return;
        }
        if made.complete && !was_complete {
            tracing::info!(
                event = "concepts.embedded",
                source = self.handle.haystack.name,
                documents = made.index.len()
            );
        }
        self.embedded.unpublished = 0;
        self.embedded.wanted = false;
        self.embedded.status = Some(Instant::now());
        self.handle.graph.publish_embeddings(Arc::new(made));
        self.handle.publish(|_| {});
    }
}
