//! What of the concepts is kept in files, and searched where it lies there.

use super::*;

impl ConceptWorker {
    /// Keeps what is known for the next start; the manifest last, and the journal
    /// anew.
    pub(super) fn save(&mut self) -> Result<(), ConceptError> {
        self.save_graph()?;
        self.save_space()?;
        let thesaurus = Arc::clone(self.handle.graph.thesaurus());
        self.saved.save_known(&self.known, &thesaurus)?;
        self.journal = Some(self.saved.create_journal(&thesaurus)?);
        self.unsaved = false;
        // The one in memory is as good where the file cannot be mapped.
        if let (kept, true) = self.saved.load_known(&thesaurus) {
            self.known = kept;
        }
        Ok(())
    }

    /// Takes what the manifest does not name out of the graph: it was kept shortly before an end.
    pub(super) fn remove_unknown(&mut self) {
        let graph = &self.handle.graph;
        let unknown = graph.read(|graph| {
            let unknown = graph
                .hashes()
                .filter(|hash| !self.known.contains_hashed(*hash));
            unknown.collect::<Vec<u64>>()
        });
        for hash in unknown {
            graph.remove_hashed(hash);
        }
    }

    /// Writes the graph to its file, and goes on with what lies there: little of it stays on the
    /// heap.
    pub(super) fn save_graph(&self) -> Result<(), ConceptError> {
        let graph = &self.handle.graph;
        self.saved.write("graph", |output| {
            let written = graph.read(|graph| graph.save(output));
            written.map_err(ConceptError::from)
        })?;
        // The one in memory is as good where the file cannot be mapped.
        if let Some(kept) = self.saved.graph() {
            graph.restore(kept);
        }
        Ok(())
    }

    /// The same with the space.
    fn save_space(&mut self) -> Result<(), ConceptError> {
        let Some(space) = &self.space else {
            return Ok(());
        };
        self.saved.write("space", |output| {
            space.save(output).map_err(ConceptError::from)
        })?;
        let Some(kept) = self.saved.space().map(Arc::new) else {
            return Ok(());
        };
        // The same vectors at another place: who searches them needs not be told.
        let graph = &self.handle.graph;
        if graph.space().is_some_and(|seen| Arc::ptr_eq(&seen, space)) {
            graph.publish_space(Arc::clone(&kept));
        }
        self.space = Some(kept);
        Ok(())
    }
}
