//! What another process has learnt, and published with its index.

use super::*;

impl ConceptWorker {
    /// Reads what lies in another folder.
    pub(in crate::concepts) fn in_folder(mut self, folder: std::path::PathBuf) -> Self {
        self.saved = ConceptFiles::new(folder);
        self
    }

    /// Takes up what lies in a folder, and makes suggestions; nothing is learnt or embedded here.
    /// Says whether it is to be tried again, as the model cannot be used now.
    pub(in crate::concepts) fn take_up_published(
        mut self,
        snapshot: &IndexSnapshot,
    ) -> Result<bool, ConceptError> {
        let limits = self.settings.limits;
        if self.handle.learns {
            self.handle.graph.limit_documents(limits.graph_documents);
            self.restore()?;
        }
        self.suggest(snapshot)?;
        let is_usable = self.take_up_embeddings(snapshot)?;
        let is_ready = self.space.as_deref().is_some_and(ConceptSpace::is_ready);
        let state = match (self.handle.learns, is_ready || self.ranks_by_model()) {
            (false, _) => ConceptsState::Off,
            (true, true) => ConceptsState::Ready,
            (true, false) => ConceptsState::TooFew,
        };
        let count = snapshot.document_count();
        self.report_state(state, count, count);
        Ok(!is_usable)
    }

    /// Lets searches see what indexers have embedded, where the model of this machine made it; its
    /// queries are compared with it. Says whether that model can be used.
    fn take_up_embeddings(&mut self, snapshot: &IndexSnapshot) -> Result<bool, ConceptError> {
        let Some(source) = self.handle.model.clone() else {
            return Ok(true);
        };
        let (reason, is_usable) = match self.model(&source) {
            Err(reason) => (format!("it cannot be used here: {reason}"), false),
            Ok(model) if self.embedded.count() > 0 => {
                let documents = list(snapshot)?;
                self.remove_gone(&documents);
                self.publish_embeddings(&documents, &model);
                return Ok(true);
            }
            Ok(_) if self.embedded.has_others => {
                let reason = "documents were embedded by another model than this server has";
                (reason.to_owned(), true)
            }
            Ok(_) => ("no embeddings have been published".to_owned(), true),
        };
        if self.handle.graph.refuse_embeddings(&reason) {
            let source = self.handle.haystack.name.as_str();
            tracing::warn!(event = "snapshot.without_model", source, reason);
            self.handle.publish(|_| {});
        }
        self.model_error = Some(format!("ranked without the embedding model: {reason}"));
        Ok(is_usable)
    }
}
