//! Following the index: what has changed is read, put into graph and space, and journalled.

use std::collections::BTreeMap;

use search_graph_engine::journal::JournalRecord;

use super::*;

/// Records of a journal after which graph and space are written to their files.
const MAX_JOURNAL: usize = 16_384;

impl ConceptWorker {
    /// Puts and removes what has changed since; says whether anything has.
    pub(super) fn follow(
        &mut self,
        snapshot: &IndexSnapshot,
        changed: &ChangedDocuments,
        root: &dyn SourceFiles,
    ) -> WorkResult<bool> {
        let followed = match changed {
            ChangedDocuments::All => self.follow_all(snapshot, root)?,
            ChangedDocuments::Keys(keys) => self.follow_keys(snapshot, keys, root)?,
        };
        if self.journal.as_ref().map_or(0, Journal::records) >= MAX_JOURNAL {
            self.save()?;
        }
        Ok(followed)
    }

    /// Looks at every document of the index.
    fn follow_all(&mut self, snapshot: &IndexSnapshot, root: &dyn SourceFiles) -> WorkResult<bool> {
        let (total, mut changed) = (snapshot.document_count(), false);
        let mut met = MetDocuments::default();
        for (done, listed) in (0_u64..).zip(in_order(snapshot)) {
            if self.is_cancelled() {
                return Ok(Err(Cancelled));
            }
            let listed = listed?;
            if !self.is_followed(&listed) {
                self.report_state_throttled(ConceptsState::Reading, done, total);
                self.follow_one(&listed, root)?;
                changed = true;
            }
            self.known.record_met(&mut met, &listed.key);
        }
        self.graph_known = true;
        for key in self.known.not_met(&met) {
            self.remove_document(key)?;
            changed = true;
        }
        Ok(Ok(changed))
    }

    /// Looks at the documents that have changed.
    fn follow_keys(
        &mut self,
        snapshot: &IndexSnapshot,
        keys: &BTreeMap<String, Option<String>>,
        root: &dyn SourceFiles,
    ) -> WorkResult<bool> {
        let (total, mut changed) = (keys.len() as u64, false);
        for (done, (key, former_title)) in (0_u64..).zip(keys) {
            if self.is_cancelled() {
                return Ok(Err(Cancelled));
            }
            self.report_state_throttled(ConceptsState::Reading, done, total);
            let listed = snapshot.document(key)?.map(IndexedDocument::from);
            let title = listed.as_ref().map(|listed| listed.title.as_str());
            self.record_title(snapshot, former_title.as_deref(), title)?;
            match listed {
                Some(listed) if !self.is_followed(&listed) => {
                    self.follow_one(&listed, root)?;
                    changed = true;
                }
                Some(_) => {}
                None => {
                    let hash = key_hash(key);
                    let was_known = self.known.contains_hashed(hash);
                    if was_known {
                        self.remove_document(hash)?;
                    }
                    changed |= was_known;
                }
            }
        }
        Ok(Ok(changed))
    }

    fn is_followed(&self, listed: &IndexedDocument) -> bool {
        self.graph_known && self.known.contains(&listed.key, &listed.hash)
    }

    fn follow_one(
        &mut self,
        listed: &IndexedDocument,
        root: &dyn SourceFiles,
    ) -> Result<(), ConceptError> {
        let (key, hash) = (listed.key.as_str(), key_hash(&listed.key));
        let (mut concepts, mut vector) = (None, None);
        // Changed or gone meanwhile: the index will say so, and the thread is woken again.
        if let Some(document) = self.read(root, listed) {
            let contribution = self.contribution(key, &document);
            self.record_concepts(hash);
            self.put_graph(key, &contribution)?;
            self.record_concepts(hash);
            concepts = Some(contribution);
            if !self.known.contains(key, &listed.hash) {
                vector = self.put_space(key, &document);
            }
        }
        self.known.insert(key, listed.hash);
        self.append_journal(&JournalRecord::Put {
            key: key.to_owned(),
            hash: listed.hash,
            concepts,
            vector,
        })
    }

    /// Takes out a document that is gone.
    fn remove_document(&mut self, key: u64) -> Result<(), ConceptError> {
        self.record_concepts(key);
        self.known.remove_hashed(key);
        self.handle.graph.remove_hashed(key);
        if let Some(space) = &mut self.space {
            Arc::make_mut(space).remove_hashed(key);
        }
        self.append_journal(&JournalRecord::Removed(key))
    }

    /// Keeps a change for the next start. Without a journal everything is kept later.
    fn append_journal(&mut self, record: &JournalRecord) -> Result<(), ConceptError> {
        // Where all is made anew for another thesaurus the records would say nothing of vectors.
        let journal = self.journal.as_mut().filter(|_| self.graph_known);
        let Some(journal) = journal else {
            self.unsaved = true;
            return Ok(());
        };
        let kept = journal.append(record);
        self.unsaved |= kept.is_err();
        Ok(kept?)
    }

    /// Takes up what has changed since graph and space were kept.
    pub(super) fn replay(&mut self) -> Result<(), ConceptError> {
        let graph = Arc::clone(&self.handle.graph);
        let (known, space) = (&mut self.known, &mut self.space);
        let journal = self.saved.journal(graph.thesaurus(), |record, fits| {
            let space = space.as_mut().filter(|_| fits).map(Arc::make_mut);
            match record {
                JournalRecord::Put {
                    key,
                    hash,
                    concepts,
                    vector,
                } => {
                    known.insert(&key, hash);
                    let Some(concepts) = concepts else { return };
                    graph.put_contribution(&key, &concepts);
                    if let Some(space) = space {
                        space.put_at(&key, vector.as_ref());
                    }
                }
                JournalRecord::Removed(key) => {
                    known.remove_hashed(key);
                    graph.remove_hashed(key);
                    if let Some(space) = space {
                        space.remove_hashed(key);
                    }
                }
            }
        });
        self.journal = Some(journal?);
        Ok(())
    }

    pub(super) fn contribution(&self, key: &str, document: &ExtractedDocument) -> Contribution {
        // Others name it so, whatever its title is.
        let mut links = document.links.clone();
        links.extend(link_name(key));
        self.handle.graph.contribution(&DocumentFacts {
            title: &document.title,
            headings: &document.headings,
            tags: &document.tags,
            links: &links,
            body: &document.body,
            kind: document.kind,
        })
    }

    pub(super) fn put_graph(
        &mut self,
        key: &str,
        contribution: &Contribution,
    ) -> Result<(), ConceptError> {
        self.handle.graph.put_contribution(key, contribution);
        if self.handle.graph.read(ConceptGraph::changed) >= MAX_UNSAVED_DOCUMENTS {
            self.save_graph()?;
        }
        Ok(())
    }

    fn put_space(&mut self, key: &str, document: &ExtractedDocument) -> Option<ConceptVector> {
        let space = self.space.as_mut()?;
        let mut terms = self.reader.read(&document.title, MAX_TITLE_TERMS);
        terms.extend(self.reader.read(&document.body, MAX_TERMS - terms.len()));
        let vector = space.document_vector(&terms);
        Arc::make_mut(space).put_at(key, vector.as_ref());
        vector
    }
}
