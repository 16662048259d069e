//! Learning: the first vectors from nothing, short refreshes, and what a stop leaves to go on with.

use search_core::passages::{estimate_parts, learning_parts};

use super::*;
use crate::concepts::known_documents::ContentHash;

/// A part of a document with fewer terms teaches nothing.
const MIN_PART_TERMS: usize = 8;

impl ConceptWorker {
    /// Whether there is enough to learn from: documents, or fewer with enough passages as far as
    /// sizes tell. What turned out to be too little is looked at again when a tenth more is there.
    pub(super) fn is_enough(&self, snapshot: &IndexSnapshot) -> Result<bool, ConceptError> {
        let count = snapshot.document_count();
        if count >= MIN_DOCUMENTS as u64 || count < MIN_LONG_DOCUMENTS as u64 {
            return Ok(count >= MIN_DOCUMENTS as u64);
        }
        let sizes: Vec<u64> = in_order(snapshot)
            .map(|listed| listed.map(|listed| listed.size))
            .collect::<Result<_, _>>()?;
        let about = estimate_parts(sizes);
        Ok(about >= MIN_DOCUMENTS as u64 && about > self.too_few + self.too_few / 10)
    }

    /// Waits until no other source learns.
    pub(super) fn lock_learning<'l>(
        &self,
        settings: &'l ConceptSettings,
    ) -> Result<MutexGuard<'l, ()>, Cancelled> {
        loop {
            if self.is_cancelled() {
                return Err(Cancelled);
            }
            if let Some(turn) = settings.learning.try_lock_for(CANCEL_POLL_INTERVAL) {
                return Ok(turn);
            }
        }
    }

    /// The first vectors, from nothing; goes on where an earlier run was stopped.
    pub(super) fn learn_first(
        &mut self,
        snapshot: &IndexSnapshot,
        root: &dyn SourceFiles,
    ) -> WorkResult<()> {
        let settings = Arc::clone(&self.settings);
        let Ok(_turn) = self.lock_learning(&settings) else {
            return Ok(Err(Cancelled));
        };
        let learner = match self.stopped() {
            Some(learner) => learner,
            None => match self.read_first(snapshot, root)? {
                Ok(corpus) if corpus.len() < MIN_DOCUMENTS => {
                    let sizes = list(snapshot)?.into_iter().map(|listed| listed.size);
                    self.too_few = estimate_parts(sizes);
                    self.saved.remove("tokens");
                    return Ok(Ok(()));
                }
                Ok(corpus) => Learner::new(corpus, LearnOptions::default()),
                Err(ended) => return Ok(Err(ended)),
            },
        };
        self.learn(learner, true)
    }

    /// The job that an earlier run was stopped in.
    pub(super) fn stopped(&self) -> Option<Learner> {
        if self.known.is_empty() {
            return None;
        }
        let tokens = self.saved.path("tokens");
        let options = LearnOptions::default();
        let resumed = self.saved.open("checkpoint").and_then(|mut checkpoint| {
            let corpus = Corpus::open(&tokens).ok()?;
            Learner::resume(corpus, options, &mut checkpoint).ok()
        });
        resumed.or_else(|| Some(Learner::new(Corpus::open(&tokens).ok()?, options)))
    }

    /// Reads every document, for the graph and to learn from.
    pub(super) fn read_first(
        &mut self,
        snapshot: &IndexSnapshot,
        root: &dyn SourceFiles,
    ) -> WorkResult<Corpus> {
        self.saved.remove("checkpoint");
        let mut met = MetDocuments::default();
        if !self.known.is_empty() {
            for listed in in_order(snapshot) {
                self.known.record_met(&mut met, &listed?.key);
            }
        }
        for key in self.known.not_met(&met) {
            self.handle.graph.remove_hashed(key);
        }
        let mut read = Vec::new();
        let Ok(corpus) = self.read_corpus(snapshot, root, Some(&mut read))? else {
            return Ok(Err(Cancelled));
        };
        self.known = KnownDocuments::from_versions(read);
        self.graph_known = true;
        self.save()?;
        Ok(Ok(corpus))
    }

    /// Reads every document to learn from, and where that is asked for into the graph too, with
    /// what was read.
    pub(super) fn read_corpus(
        &mut self,
        snapshot: &IndexSnapshot,
        root: &dyn SourceFiles,
        mut into_graph: Option<&mut Vec<(u64, ContentHash)>>,
    ) -> WorkResult<Corpus> {
        let mut writer = CorpusWriter::create(&self.saved.path("tokens"))?;
        let total = snapshot.document_count();
        for (done, listed) in (0_u64..).zip(in_order(snapshot)) {
            if self.is_cancelled() {
                return Ok(Err(Cancelled));
            }
            self.report_state_throttled(ConceptsState::Reading, done, total);
            let listed = listed?;
            if let Some(read) = &mut into_graph {
                read.push((key_hash(&listed.key), listed.hash));
            }
            let Some(document) = self.read(root, &listed) else {
                continue;
            };
            if into_graph.is_some() {
                let contribution = self.contribution(&listed.key, &document);
                self.put_graph(&listed.key, &contribution)?;
            }
            let title = self.reader.read(&document.title, MAX_TITLE_TERMS);
            let parts = learning_parts(&document.body, document.kind, total);
            for (number, part) in parts.into_iter().enumerate() {
                let body = self.reader.read(&document.body[part], MAX_TERMS);
                if number == 0 || body.len() >= MIN_PART_TERMS {
                    writer.add(&listed.key, &title, &body)?;
                }
            }
        }
        Ok(Ok(writer.finish()?))
    }

    /// The words anew, from what is known of them; from nothing where most documents are new, and
    /// where the vectors are to `settle`.
    pub(super) fn relearn(
        &mut self,
        snapshot: &IndexSnapshot,
        root: &dyn SourceFiles,
        settle: bool,
    ) -> WorkResult<()> {
        let settings = Arc::clone(&self.settings);
        let Ok(_turn) = self.lock_learning(&settings) else {
            return Ok(Err(Cancelled));
        };
        let began = Instant::now();
        let Ok(corpus) = self.read_corpus(snapshot, root, None)? else {
            return Ok(Err(Cancelled));
        };
        let is_another = self.space.as_deref().is_some_and(ConceptSpace::is_another);
        let from_nothing = settle || is_another;
        let model = self.saved.open("model").filter(|_| !from_nothing);
        let is_refreshed = model.is_some();
        if is_refreshed {
            self.mark_refreshed(true)?;
        }
        let learner = match model {
            Some(mut model) => {
                let options = LearnOptions::refresh(LearnOptions::default().seed);
                // A damaged one is left behind: the next attempt begins from nothing.
                Learner::from_model(corpus, options, &mut model)
                    .inspect_err(|_| self.saved.remove("model"))?
            }
            None => Learner::new(corpus, LearnOptions::default()),
        };
        let learnt = self.learn(learner, false)?;
        if learnt.is_ok() && !is_refreshed {
            self.mark_refreshed(false)?;
        }
        self.pace.next_refresh = Instant::now() + MIN_REFRESH_INTERVAL.max(began.elapsed() * 20);
        Ok(learnt)
    }

    /// Learns to the end, and keeps the space. `keeps` says whether a stopped job can be taken up
    /// again.
    pub(super) fn learn(&mut self, mut learner: Learner, keeps: bool) -> WorkResult<()> {
        let began = Instant::now();
        let mut kept = Instant::now();
        loop {
            let progress = learner.step()?;
            self.report_state_throttled(ConceptsState::Learning, progress.done, progress.total);
            let ends = self.is_cancelled() && !progress.is_done();
            if keeps && (ends || kept.elapsed() > CHECKPOINT_INTERVAL) {
                self.saved.write("checkpoint", |output| {
                    learner.checkpoint(output).map_err(ConceptError::from)
                })?;
                kept = Instant::now();
            }
            if ends {
                return Ok(Err(Cancelled));
            }
            if progress.is_done() {
                break;
            }
        }
        self.saved.write("model", |output| {
            learner.save_model(output).map_err(ConceptError::from)
        })?;
        let mut placement = learner.finish();
        while placement.step()? {
            if self.is_cancelled() {
                return Ok(Err(Cancelled));
            }
        }
        let space = placement.finish()?;
        tracing::info!(
            event = "concepts.learnt",
            source = self.handle.haystack.name,
            documents = space.len(),
            words = space.words().len(),
            after_ms = began.elapsed().as_millis() as u64,
        );
        self.space = Some(Arc::new(space));
        self.unsaved = true;
        self.save()?;
        self.saved.remove("checkpoint");
        self.saved.remove("tokens");
        self.pace.took = began.elapsed();
        Ok(Ok(()))
    }
}
