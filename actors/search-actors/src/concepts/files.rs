//! What of a source's concepts outlives a restart: files in a folder of its own.
//!
//! Each file is written beside its place and renamed. `manifest` is written last: it never promises
//! more than the others hold, and what it does not name is read again. What has changed since is in
//! `journal`, which is begun anew after the manifest: whichever of the files an interruption has
//! left behind, the records lead to the same.

use std::fs::{self, File};
use std::io::{self, BufReader, Read, Write};
use std::path::PathBuf;

use search_graph_engine::content_hash;
use search_graph_engine::graph::ConceptGraph;
use search_graph_engine::journal::{Journal, JournalBase, JournalRecord};
use search_graph_engine::space::ConceptSpace;
use search_graph_engine::thesaurus::Thesaurus;

use super::known::{ContentHash, KnownDocuments, ROW};

/// First bytes of a manifest; changes with its form.
const MAGIC: &[u8; 8] = b"sgmanif4";

/// Rows that are read at once.
const PIECE_ROWS: usize = 4_096;

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
    pub(super) fn known(&self, thesaurus: &Thesaurus) -> (KnownDocuments, bool) {
        let read = self.open("manifest").map(read_manifest);
        match read.and_then(Result::ok).flatten() {
            Some((words, known)) => (known, words == fingerprint(thesaurus)),
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
            write_manifest(known, thesaurus, output)
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
fn write_manifest(
    known: &KnownDocuments,
    thesaurus: [u8; 32],
    output: &mut dyn Write,
) -> io::Result<()> {
    let mut hasher = blake3::Hasher::new();
    let mut piece = MAGIC.to_vec();
    piece.extend_from_slice(&thesaurus);
    for (key, content) in known.rows() {
        piece.extend_from_slice(&key.to_le_bytes());
        piece.extend_from_slice(&content);
        if piece.len() >= PIECE_ROWS * ROW {
            hasher.update(&piece);
            output.write_all(&piece)?;
            piece.clear();
        }
    }
    hasher.update(&piece);
    output.write_all(&piece)?;
    output.write_all(hasher.finalize().as_bytes())
}

/// Reads a manifest piece by piece, so that it is in memory once; nothing where it is damaged.
fn read_manifest(mut file: BufReader<File>) -> io::Result<Option<([u8; 32], KnownDocuments)>> {
    let length = file.get_ref().metadata()?.len() as usize;
    let mut head = [0; MAGIC.len() + 32];
    file.read_exact(&mut head)?;
    let Some((MAGIC, thesaurus)) = head.split_first_chunk() else {
        return Ok(None);
    };
    let mut thesaurus_hash = [0; 32];
    thesaurus_hash.copy_from_slice(thesaurus);
    let mut rows = ManifestRows {
        hasher: blake3::Hasher::new(),
        left: length.saturating_sub(head.len() + 32),
        file,
        piece: io::Cursor::default(),
        failure: None,
    };
    rows.hasher.update(&head);
    let known = KnownDocuments::of(&mut rows);
    if let Some(failure) = rows.failure {
        return Err(failure);
    }
    let mut hash = [0; 32];
    rows.file.read_exact(&mut hash)?;
    let is_whole = rows.hasher.finalize().as_bytes() == &hash;
    Ok(is_whole.then_some((thesaurus_hash, known)))
}

/// The rows of a manifest.
struct ManifestRows {
    file: BufReader<File>,
    hasher: blake3::Hasher,
    /// Bytes of rows that were not read yet.
    left: usize,
    piece: io::Cursor<Vec<u8>>,
    /// Why the last row is none.
    failure: Option<io::Error>,
}

impl ManifestRows {
    fn read_row(&mut self) -> io::Result<Option<(u64, ContentHash)>> {
        if self.piece.position() == self.piece.get_ref().len() as u64 {
            if self.left == 0 {
                return Ok(None);
            }
            let mut bytes = std::mem::take(&mut self.piece).into_inner();
            bytes.resize(self.left.min(PIECE_ROWS * ROW), 0);
            self.file.read_exact(&mut bytes)?;
            self.hasher.update(&bytes);
            self.left -= bytes.len();
            self.piece = io::Cursor::new(bytes);
        }
        let (mut key, mut content) = ([0; 8], [0; 16]);
        self.piece.read_exact(&mut key)?;
        self.piece.read_exact(&mut content)?;
        Ok(Some((u64::from_le_bytes(key), content)))
    }
}

impl Iterator for ManifestRows {
    type Item = (u64, ContentHash);

    fn next(&mut self) -> Option<Self::Item> {
        self.read_row().unwrap_or_else(|error| {
            self.failure = Some(error);
            None
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left / ROW, None)
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
