//! What of a source's concepts outlives a restart: files in a folder of its own.
//!
//! Each file is written beside its place and renamed. `manifest` is written last: it never promises
//! more than the others hold, and what it does not name is read again. What has changed since is in
//! `journal`, which is begun anew after the manifest: whichever of the files an interruption has
//! left behind, the records lead to the same.

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Write};
use std::path::PathBuf;

use search_graph_engine::content_hash;
use search_graph_engine::graph::ConceptGraph;
use search_graph_engine::journal::{Journal, JournalBase, JournalRecord};
use search_graph_engine::space::ConceptSpace;
use search_graph_engine::thesaurus::Thesaurus;

use super::known::KnownDocuments;

/// First bytes of a manifest; changes with its form.
const MAGIC: &[u8; 8] = b"sgmanif4";

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
        let beside = self.folder.join(format!("{name}.new"));
        let mut output = BufWriter::new(File::create(&beside)?);
        write(&mut output)?;
        let file = output
            .into_inner()
            .map_err(io::IntoInnerError::into_error)?;
        file.sync_all()?;
        drop(file);
        fs::rename(&beside, self.path(name))?;
        Ok(())
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
    pub(super) fn known(&self, thesaurus: &Thesaurus) -> (KnownDocuments, bool) {
        let read = fs::read(self.path("manifest")).ok();
        let read = read.and_then(|bytes| read_manifest(&bytes));
        match read {
            Some((words, known)) => (known, words == fingerprint(thesaurus)),
            None => (KnownDocuments::default(), false),
        }
    }

    pub(super) fn save_known(
        &self,
        known: &KnownDocuments,
        thesaurus: &Thesaurus,
    ) -> io::Result<()> {
        let bytes = manifest(known, fingerprint(thesaurus));
        self.write("manifest", |output| output.write_all(&bytes))
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
    pub(super) fn begin_journal(&self, thesaurus: &Thesaurus) -> io::Result<Journal> {
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

/// Magic, thesaurus, then the hashes of each document's key and content, and a hash of all of it.
fn manifest(known: &KnownDocuments, thesaurus: [u8; 32]) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&thesaurus);
    for (key, content) in known.to_rows() {
        bytes.extend_from_slice(&key.to_le_bytes());
        bytes.extend_from_slice(&content);
    }
    let hash = blake3::hash(&bytes);
    bytes.extend_from_slice(hash.as_bytes());
    bytes
}

fn read_manifest(bytes: &[u8]) -> Option<([u8; 32], KnownDocuments)> {
    let (content, hash) = bytes.split_at_checked(bytes.len().checked_sub(32)?)?;
    if blake3::hash(content).as_bytes() != hash {
        return None;
    }
    let mut rest = content.strip_prefix(MAGIC.as_slice())?;
    let thesaurus = *take::<32>(&mut rest)?;
    let (rows, []) = rest.as_chunks::<24>() else {
        return None;
    };
    let row = |mut row: &[u8]| {
        let key = u64::from_le_bytes(*take(&mut row)?);
        Some((key, *take::<16>(&mut row)?))
    };
    let known = KnownDocuments::of(rows.iter().map_while(|bytes| row(bytes)));
    Some((thesaurus, known))
}

fn take<'b, const N: usize>(rest: &mut &'b [u8]) -> Option<&'b [u8; N]> {
    let (head, behind) = rest.split_first_chunk()?;
    *rest = behind;
    Some(head)
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
        assert!(known.holds("b", &[9; 16]) && !known.holds("b", &[7; 16]));
        assert_eq!(saved.known(&thesaurus), (known, true));
        let path = saved.path("manifest");
        let bytes = fs::read(&path).expect("a file");
        for cut in [0, 8, 39, bytes.len() - 1] {
            fs::write(&path, &bytes[..cut]).expect("written");
            assert_eq!(
                saved.known(&thesaurus),
                (KnownDocuments::default(), false),
                "{cut}"
            );
        }
        let mut altered = bytes;
        altered[50] ^= 1;
        fs::write(&path, altered).expect("written");
        assert!(saved.known(&thesaurus).0.is_empty());
    }
}
