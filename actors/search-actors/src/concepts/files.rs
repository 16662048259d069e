//! What of a source's concepts outlives a restart: files in a folder of its own.
//!
//! Each file is written beside its place and renamed. `manifest` is written last: it never promises
//! more than the others hold, and what it does not name is read again. What has changed since is in
//! `journal`, which is begun anew after the manifest: whichever of the files an interruption has
//! left behind, the records lead to the same.

use std::fs::{self, File};
use std::io::{self, BufReader, Write};
use std::path::PathBuf;

use search_graph_engine::content_hash;
use search_graph_engine::graph::ConceptGraph;
use search_graph_engine::journal::{Journal, JournalBase, JournalRecord};
use search_graph_engine::manifest::GraphManifest;
use search_graph_engine::space::ConceptSpace;
use search_graph_engine::thesaurus::Thesaurus;

use super::known_documents::KnownDocuments;

/// The folder.
#[derive(Debug)]
pub(super) struct ConceptFiles {
    folder: PathBuf,
}

impl ConceptFiles {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    pub(super) fn create(&self) -> io::Result<()> {
        fs::create_dir_all(&self.folder)
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Writes a file, beside its place first.
    pub(super) fn write<E: From<io::Error>>(
        &self,
        name: &str,
        write: impl FnOnce(&mut dyn Write) -> Result<(), E>,
    ) -> Result<(), E> {
        store::replace_file(&self.path(name), None, |output| write(output))
    }

    /// Opens a file that may be missing.
    pub(super) fn open(&self, name: &str) -> Option<BufReader<File>> {
        File::open(self.path(name)).ok().map(BufReader::new)
    }

    pub(super) fn remove(&self, name: &str) {
        // Not there is as good.
        let _ = fs::remove_file(self.path(name));
    }

    /// What is known, and whether the graph was made with this thesaurus. Nothing where it is
    /// damaged.
    pub(super) fn load_known(&self, thesaurus: &Thesaurus) -> (KnownDocuments, bool) {
        match GraphManifest::open(&self.path("manifest")).ok().flatten() {
            Some(kept) => (kept.rows.into(), kept.thesaurus == fingerprint(thesaurus)),
            None => (KnownDocuments::default(), false),
        }
    }

    pub(super) fn save_known(
        &self,
        known: &KnownDocuments,
        thesaurus: &Thesaurus,
    ) -> io::Result<()> {
        let thesaurus = fingerprint(thesaurus);
        self.write("manifest", |output| {
            GraphManifest::write(known.rows(), &thesaurus, output)
        })
    }

    /// What the records of a journal belong to now.
    fn journal_base(&self, thesaurus: &Thesaurus) -> JournalBase {
        JournalBase {
            thesaurus: fingerprint(thesaurus),
            // Without a space no record has a vector.
            space: content_hash(&self.path("space")).unwrap_or_default(),
        }
    }

    /// Begins an empty journal: everything is in the other files.
    pub(super) fn create_journal(&self, thesaurus: &Thesaurus) -> io::Result<Journal> {
        Journal::create(&self.path("journal"), &self.journal_base(thesaurus))
    }

    /// Takes up the journal: `each` gets what has changed since the other files were written, and
    /// whether vectors belong to the space there is.
    pub(super) fn journal(
        &self,
        thesaurus: &Thesaurus,
        each: impl FnMut(JournalRecord, bool),
    ) -> io::Result<Journal> {
        Journal::open(&self.path("journal"), &self.journal_base(thesaurus), each)
    }

    /// The graph; `None` where there is none, or it is damaged.
    pub(super) fn graph(&self) -> Option<ConceptGraph> {
        ConceptGraph::open(&self.path("graph")).ok()
    }

    /// The space; `None` where there is none, or it is damaged.
    pub(super) fn space(&self) -> Option<ConceptSpace> {
        ConceptSpace::open(&self.path("space")).ok()
    }
}

fn fingerprint(thesaurus: &Thesaurus) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    for entry in thesaurus.entries() {
        for words in std::iter::once(&entry.name).chain(&entry.synonyms) {
            hasher.update(words.as_bytes()).update(&[0]);
        }
        hasher.update(&[1]);
    }
    *hasher.finalize().as_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_reads_back_and_damage_is_noticed() {
        let folder = tempfile::tempdir().expect("a folder");
        let saved = ConceptFiles::new(folder.path().join("deep"));
        saved.create().expect("a folder");
        let thesaurus = Thesaurus::default();
        let known: KnownDocuments = [("a/ä.md", [7; 16]), ("b", [9; 16])].into_iter().collect();
        saved.save_known(&known, &thesaurus).expect("saved");
        assert!(known.contains("b", &[9; 16]) && !known.contains("b", &[7; 16]));
        assert_eq!(saved.load_known(&thesaurus), (known, true));
        let path = saved.path("manifest");
        let bytes = fs::read(&path).expect("a file");
        for cut in [0, 8, 39, bytes.len() - 1] {
            fs::write(&path, &bytes[..cut]).expect("written");
            assert_eq!(
                saved.load_known(&thesaurus),
                (KnownDocuments::default(), false),
                "{cut}"
            );
        }
        let mut altered = bytes;
        altered[50] ^= 1;
        fs::write(&path, altered).expect("written");
        assert!(saved.load_known(&thesaurus).0.is_empty());
    }
}
