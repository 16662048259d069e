//! Texts that leave this machine with a snapshot: many documents in one file, by the hash of their
//! content. A searcher has no other way to a document's text.
//!
//! ```text
//! magic · compressed contents … · rows of (kind, hash, place, length) in order · rows' place, count
//! ```

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;

/// First bytes of a pack; changes with its form.
const MAGIC: &[u8; 8] = b"ortexts1";
/// Bytes of a row.
const ROW: usize = 17 + 8 + 4;
/// Bytes behind the rows.
const TAIL: usize = 8 + 4;
/// The longest text that is kept, in bytes. Files are as long as their source lets them be.
const MAX_TEXT_BYTES: u64 = 10 << 20;

/// What a content is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ContentForm {
    /// The file as it is.
    File,
    /// The text that was read out of it.
    Text,
}

/// Names a content: its form, and the hash of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContentId([u8; 17]);

impl ContentId {
    /// Of a file with this hash.
    #[must_use]
    pub fn new(form: ContentForm, hash: &[u8; 16]) -> Self {
        let mut id = [0; 17];
        id[0] = u8::from(form == ContentForm::Text);
        id[1..].copy_from_slice(hash);
        Self(id)
    }
}

/// A pack in the making.
pub struct PackWriter {
    output: BufWriter<File>,
    at: u64,
    rows: Vec<(ContentId, u64, u32)>,
}

impl PackWriter {
    /// A new file.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn create(path: &Path) -> io::Result<Self> {
        let mut output = BufWriter::new(File::create(path)?);
        output.write_all(MAGIC)?;
        Ok(Self {
            output,
            at: MAGIC.len() as u64,
            rows: Vec::new(),
        })
    }

    /// Adds a content.
    ///
    /// # Errors
    /// The disk refuses.
    pub fn add(&mut self, id: ContentId, content: &[u8]) -> io::Result<()> {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(content)?;
        self.add_compressed(id, &encoder.finish()?)
    }

    fn add_compressed(&mut self, id: ContentId, bytes: &[u8]) -> io::Result<()> {
        let length = u32::try_from(bytes.len()).map_err(io::Error::other)?;
        self.output.write_all(bytes)?;
        self.rows.push((id, self.at, length));
        self.at += u64::from(length);
        Ok(())
    }

    /// Bytes so far.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.at
    }

    /// Whether it holds nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Writes the rows.
    ///
    /// # Errors
    /// The disk refuses.
    pub fn finish(mut self) -> io::Result<()> {
        self.rows.sort_unstable();
        for (id, at, length) in &self.rows {
            self.output.write_all(&id.0)?;
            self.output.write_all(&at.to_le_bytes())?;
            self.output.write_all(&length.to_le_bytes())?;
        }
        self.output.write_all(&self.at.to_le_bytes())?;
        let count = u32::try_from(self.rows.len()).map_err(io::Error::other)?;
        self.output.write_all(&count.to_le_bytes())?;
        self.output.flush()
    }
}

/// A pack; its rows are in memory, its contents in the file.
#[derive(Debug)]
pub struct TextPack {
    file: File,
    rows: Vec<u8>,
    bytes: u64,
}

impl TextPack {
    /// Opens a pack.
    ///
    /// # Errors
    /// It cannot be read, or is none.
    pub fn open(path: &Path) -> io::Result<Self> {
        let damaged = || io::Error::new(io::ErrorKind::InvalidData, "it is no pack of texts");
        let file = File::open(path)?;
        let bytes = file.metadata()?.len();
        let mut magic = [0; MAGIC.len()];
        let mut tail = [0; TAIL];
        let tail_at = bytes.checked_sub(TAIL as u64).ok_or_else(damaged)?;
        file.read_exact_at(&mut magic, 0)?;
        file.read_exact_at(&mut tail, tail_at)?;
        let (at, count) = tail.split_at(8);
        let at = u64::from_le_bytes(at.try_into().map_err(|_| damaged())?);
        let count = u32::from_le_bytes(count.try_into().map_err(|_| damaged())?);
        let length = u64::from(count) * ROW as u64;
        if magic != *MAGIC || at.checked_add(length) != Some(tail_at) {
            return Err(damaged());
        }
        let mut rows = vec![0; usize::try_from(length).map_err(io::Error::other)?];
        file.read_exact_at(&mut rows, at)?;
        Ok(Self { file, rows, bytes })
    }

    fn rows(&self) -> impl Iterator<Item = (ContentId, u64, u32)> {
        self.rows.chunks_exact(ROW).map(row)
    }

    /// The contents that it holds.
    pub fn ids(&self) -> impl Iterator<Item = ContentId> {
        self.rows().map(|(id, _, _)| id)
    }

    /// Its length.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    fn compressed(&self, at: u64, length: u32) -> io::Result<Vec<u8>> {
        if at + u64::from(length) > self.bytes {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut bytes = vec![0; length as usize];
        self.file.read_exact_at(&mut bytes, at)?;
        Ok(bytes)
    }

    /// A text; `None` where it is not here, or damaged.
    #[must_use]
    pub fn text(&self, id: &ContentId) -> Option<Vec<u8>> {
        self.content(id, MAX_TEXT_BYTES)
    }

    /// A content, up to so many bytes; `None` where it is not here, or damaged.
    #[must_use]
    pub fn content(&self, id: &ContentId, most: u64) -> Option<Vec<u8>> {
        let rows = self.rows.as_chunks::<ROW>().0;
        let place = rows.binary_search_by(|one| one[..17].cmp(&id.0)).ok()?;
        let (_, at, length) = row(&rows[place]);
        let compressed = self.compressed(at, length).ok()?;
        let mut content = Vec::new();
        let decoder = DeflateDecoder::new(compressed.as_slice()).take(most);
        { decoder }.read_to_end(&mut content).ok()?;
        Some(content)
    }

    /// Copies those of its contents that are `wanted`, which they are no more then.
    ///
    /// # Errors
    /// A file cannot be read or written.
    pub fn copy_wanted(
        &self,
        wanted: &mut BTreeSet<ContentId>,
        into: &mut PackWriter,
    ) -> io::Result<()> {
        for (id, at, length) in self.rows() {
            if wanted.remove(&id) {
                into.add_compressed(id, &self.compressed(at, length)?)?;
            }
        }
        Ok(())
    }
}

fn row(bytes: &[u8]) -> (ContentId, u64, u32) {
    let mut id = [0; 17];
    id.copy_from_slice(&bytes[..17]);
    let mut at = [0; 8];
    at.copy_from_slice(&bytes[17..25]);
    let mut length = [0; 4];
    length.copy_from_slice(&bytes[25..29]);
    (
        ContentId(id),
        u64::from_le_bytes(at),
        u32::from_le_bytes(length),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u8) -> ContentId {
        ContentId::new(ContentForm::File, &[number; 16])
    }

    #[test]
    fn i18_contents_come_back_and_move_to_another_pack() {
        let home = tempfile::tempdir().expect("a temporary folder");
        let (first, second) = (home.path().join("1"), home.path().join("2"));
        let mut pack = PackWriter::create(&first).expect("room");
        for number in [3, 1, 2] {
            pack.add(id(number), &vec![number; 1_000]).expect("room");
        }
        pack.finish().expect("room");
        let pack = TextPack::open(&first).expect("a pack");
        assert_eq!(pack.text(&id(2)), Some(vec![2; 1_000]));
        assert_eq!(pack.content(&id(2), 9), Some(vec![2; 9]));
        let text = ContentId::new(ContentForm::Text, &[2; 16]);
        assert_eq!((pack.text(&text), pack.text(&id(9))), (None, None));
        let mut wanted = BTreeSet::from([id(1), id(9)]);
        let mut other = PackWriter::create(&second).expect("room");
        pack.copy_wanted(&mut wanted, &mut other).expect("room");
        other.finish().expect("room");
        let other = TextPack::open(&second).expect("a pack");
        assert_eq!(other.ids().collect::<Vec<_>>(), [id(1)]);
        assert_eq!(other.text(&id(1)), Some(vec![1; 1_000]));
        assert_eq!(wanted, BTreeSet::from([id(9)]));
    }

    #[test]
    fn i18_what_is_cut_short_is_no_pack() {
        let home = tempfile::tempdir().expect("a temporary folder");
        let path = home.path().join("1");
        let mut pack = PackWriter::create(&path).expect("room");
        pack.add(id(1), b"text").expect("room");
        pack.finish().expect("room");
        let whole = std::fs::read(&path).expect("there");
        for length in 0..whole.len() {
            std::fs::write(&path, &whole[..length]).expect("room");
            assert!(TextPack::open(&path).is_err(), "{length} bytes");
        }
    }
}
