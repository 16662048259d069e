//! Texts that were read out of complicated formats, kept for excerpts: reading a PDF again for each
//! result would be too slow.
//!
//! One compressed file a document, named after the hash of the document's content. A text that is
//! missing costs its excerpt, nothing else.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use parking_lot::RwLock;

use crate::packs::{ContentForm, ContentId, TextPack};

/// Longest text that is kept and read again, in bytes.
pub const MAX_TEXT_BYTES: usize = 8 << 20;

/// A folder of texts.
#[derive(Debug)]
pub struct TextStore {
    folder: PathBuf,
    /// Texts that came with a snapshot.
    packs: RwLock<Vec<Arc<TextPack>>>,
}

impl TextStore {
    /// A store in `folder`, which is made when the first text is kept.
    #[must_use]
    pub fn new(folder: PathBuf) -> Self {
        Self {
            folder,
            packs: RwLock::default(),
        }
    }

    /// Finds texts in these packs too, in place of former ones.
    pub fn set_packs(&self, packs: Vec<Arc<TextPack>>) {
        *self.packs.write() = packs;
    }

    fn path(&self, hash: &[u8; 16]) -> PathBuf {
        self.folder.join(name(hash))
    }

    /// Keeps the text of the document with this hash, its beginning if it is very long.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn put(&self, hash: &[u8; 16], text: &str) -> io::Result<()> {
        let path = self.path(hash);
        if path.exists() {
            return Ok(());
        }
        fs::create_dir_all(&self.folder)?;
        let text = &text[..text.floor_char_boundary(MAX_TEXT_BYTES)];
        let beside = path.with_extension("new");
        let mut encoder = DeflateEncoder::new(File::create(&beside)?, Compression::fast());
        encoder.write_all(text.as_bytes())?;
        encoder.finish()?;
        fs::rename(beside, path)
    }

    /// The text of the document with this hash.
    #[must_use]
    pub fn get(&self, hash: &[u8; 16]) -> Option<String> {
        let id = ContentId::new(ContentForm::Text, hash);
        let packed = self.packs.read().iter().find_map(|pack| pack.text(&id));
        if let Some(packed) = packed {
            return String::from_utf8(packed).ok();
        }
        let file = File::open(self.path(hash)).ok()?;
        let mut text = String::new();
        let decoder = DeflateDecoder::new(file).take(MAX_TEXT_BYTES as u64);
        let read = { decoder }.read_to_string(&mut text);
        read.ok().map(|_| text)
    }

    /// The hashes of the documents whose texts are kept. What is no text is removed.
    ///
    /// # Errors
    /// The folder cannot be read or written.
    pub fn hashes(&self) -> io::Result<BTreeSet<[u8; 16]>> {
        let entries = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeSet::new()),
            entries => entries?,
        };
        let mut hashes = BTreeSet::new();
        for entry in entries {
            let entry = entry?;
            match entry.file_name().to_str().and_then(hash_of_name) {
                Some(hash) => _ = hashes.insert(hash),
                None => remove(&entry.path())?,
            }
        }
        Ok(hashes)
    }

    /// Removes the texts of documents that are no longer there.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn remove(&self, hashes: &BTreeSet<[u8; 16]>) -> io::Result<()> {
        hashes.iter().try_for_each(|hash| remove(&self.path(hash)))
    }
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

fn name(hash: &[u8; 16]) -> String {
    let mut name = String::with_capacity(32);
    for byte in hash {
        // Writing to a String cannot fail.
        let _ = write!(name, "{byte:02x}");
    }
    name
}

/// The hash that a file is named after; `None` for another name.
fn hash_of_name(file: &str) -> Option<[u8; 16]> {
    let number = u128::from_str_radix(file, 16).ok()?;
    let hash = number.to_be_bytes();
    (name(&hash) == file).then_some(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_come_back_and_go_with_their_documents() {
        let home = tempfile::tempdir().expect("a temporary folder");
        let store = TextStore::new(home.path().join("texts"));
        assert_eq!(
            (store.get(&[1; 16]), store.hashes().expect("no folder")),
            (None, BTreeSet::new())
        );
        let long = "é".repeat(MAX_TEXT_BYTES);
        store.put(&[1; 16], "one").expect("room");
        store.put(&[2; 16], &long).expect("room");
        assert_eq!(store.get(&[1; 16]).as_deref(), Some("one"));
        assert_eq!(
            store.get(&[2; 16]).map(|text| text.len()),
            Some(MAX_TEXT_BYTES)
        );
        fs::write(store.folder.join("0a.new"), "cut short").expect("room");
        let kept = store.hashes().expect("room");
        assert_eq!(kept, [[1; 16], [2; 16]].into());
        assert!(!store.folder.join("0a.new").exists());
        store.remove(&[[2; 16], [9; 16]].into()).expect("room");
        assert_eq!(
            (store.get(&[1; 16]).as_deref(), store.get(&[2; 16])),
            (Some("one"), None)
        );
        fs::write(store.path(&[3; 16]), b"\xff\xff no deflate").expect("room");
        assert_eq!(store.get(&[3; 16]), None);
    }
}
