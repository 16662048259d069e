//! What another process has learnt, and published with its index.

use super::*;

impl ConceptWorker {
    /// Reads what lies in another folder.
    pub(in crate::concepts) fn over(mut self, folder: std::path::PathBuf) -> Self {
        self.saved = ConceptFiles::new(folder);
        self
    }

    /// Takes up what lies in a folder, and makes suggestions; nothing is learnt here.
    pub(in crate::concepts) fn take_up_published(
        mut self,
        snapshot: &IndexSnapshot,
    ) -> Result<(), ConceptError> {
        let limits = self.settings.limits;
        if self.handle.learns {
            self.handle.graph.limit_documents(limits.graph_documents);
            self.restore()?;
        }
        self.suggest(snapshot)?;
        let is_ready = self.space.as_deref().is_some_and(ConceptSpace::is_ready);
        let state = match (self.handle.learns, is_ready) {
            (false, _) => ConceptsState::Off,
            (true, true) => ConceptsState::Ready,
            (true, false) => ConceptsState::TooFew,
        };
        let count = snapshot.document_count();
        self.report_state(state, count, count);
        Ok(())
    }
}
