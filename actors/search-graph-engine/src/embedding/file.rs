//! Embeddings in a file that is mapped into memory, and never changed.

use std::io::Write;
use std::ops::Range;
use std::path::Path;

use search_core::document::ContentKind;

use super::Embedding;
use crate::columns::{Column, ColumnError, ColumnWriter, Columns, u32_column};

/// First bytes of a file of embeddings; changes with its form.
const FILE_KIND: &[u8; 8] = b"sgembed5";

/// The form before, which is still read: one embedding a content, of its beginning.
const FORMER_KIND: &[u8; 8] = b"sgembed4";

/// First 16 bytes of the BLAKE3 hash of a content.
type ContentHash = [u8; 16];

/// First 16 bytes of the BLAKE3 hash of a text that was embedded.
pub type TextDigest = [u8; 16];

/// Stands for the digest of a text that is not known.
pub const UNKNOWN_DIGEST: TextDigest = [0; 16];

/// What a model made of some contents.
#[derive(Debug)]
pub struct EmbeddingFile {
    model: [u8; 32],
    width: usize,
    hashes: Column,
    kinds: Column,
    /// Whether all passages of a content are embedded that are to be.
    wholes: Column,
    /// Behind the last passage of each content.
    ends: Column,
    digests: Column,
    numbers: Column,
}

/// What a model made of one content.
#[derive(Debug, Clone)]
pub struct EmbeddedContent {
    /// The content's hash.
    pub hash: [u8; 16],
    /// What the content is.
    pub kind: ContentKind,
    /// Its passages, in their order.
    pub passages: Vec<EmbeddedPassage>,
    /// Whether these are all that are to be embedded.
    pub is_whole: bool,
}

/// What a model made of one passage.
#[derive(Debug, Clone, PartialEq)]
pub struct EmbeddedPassage {
    /// Of the text that was embedded.
    pub digest: TextDigest,
    /// Its direction.
    pub embedding: Embedding,
}

impl EmbeddedContent {
    fn is_of_width(&self, width: usize) -> bool {
        let passages = &self.passages;
        passages
            .iter()
            .all(|passage| passage.embedding.dimensions() == width)
    }
}

impl EmbeddingFile {
    /// Writes what the model of this id made; contents with embeddings of another `width` are left
    /// out.
    ///
    /// # Errors
    /// The output refuses.
    pub fn write(
        output: &mut dyn Write,
        model: &[u8; 32],
        width: usize,
        contents: &[EmbeddedContent],
    ) -> std::io::Result<()> {
        let contents = || contents.iter().filter(|one| one.is_of_width(width));
        let passages = || contents().flat_map(|one| &one.passages);
        let mut end = 0;
        let ends = contents().map(|one| {
            end += one.passages.len() as u32;
            end
        });
        let mut writer = ColumnWriter::new(output, FILE_KIND)?;
        let width = (width as u64).to_le_bytes();
        writer.column([model.as_slice(), width.as_slice()])?;
        writer.column(contents().map(|one| one.hash))?;
        writer.column(contents().map(|one| [one.kind.code()]))?;
        writer.column(contents().map(|one| [u8::from(one.is_whole)]))?;
        writer.numbers(ends)?;
        writer.column(passages().map(|one| one.digest))?;
        writer.column(passages().map(|one| one.embedding.as_bytes()))?;
        writer.finish()
    }

    /// Maps a file into memory. All of it is read once before; a file of any content does no harm.
    /// In one of the form before no content is whole.
    ///
    /// # Errors
    /// It cannot be read, or is damaged.
    pub fn open(path: &Path) -> Result<Self, ColumnError> {
        let file = match Columns::open(path, FILE_KIND) {
            Err(ColumnError::Damaged(_)) => {
                Self::from_former_columns(Columns::open(path, FORMER_KIND)?)?
            }
            columns => Self::from_columns(columns?)?,
        };
        if file.is_sound() {
            Ok(file)
        } else {
            Err(ColumnError::Damaged("its columns differ in length"))
        }
    }

    fn from_columns(columns: Columns) -> Result<Self, ColumnError> {
        let [head, hashes, kinds, wholes, ends, digests, numbers] = columns.take()?;
        let (model, width) = read_head(&head)?;
        Ok(Self {
            model,
            width,
            hashes,
            kinds,
            wholes,
            ends,
            digests,
            numbers,
        })
    }

    fn from_former_columns(columns: Columns) -> Result<Self, ColumnError> {
        let [head, hashes, kinds, numbers] = columns.take()?;
        let (model, width) = read_head(&head)?;
        let count = kinds.len();
        Ok(Self {
            model,
            width,
            hashes,
            kinds,
            wholes: vec![0; count].into(),
            ends: u32_column(1..=count as u32),
            digests: vec![0; count * UNKNOWN_DIGEST.len()].into(),
            numbers,
        })
    }

    /// Whether the columns are as long as each other.
    fn is_sound(&self) -> bool {
        let (count, passages) = (self.kinds.len(), self.digests.rows::<16>().len());
        let ends = self.ends.rows::<4>().iter();
        let mut ends = ends.map(|end| u32::from_le_bytes(*end) as usize);
        let lengths = [self.hashes.len(), self.ends.len(), self.wholes.len()];
        lengths == [16 * count, 4 * count, count]
            && self.digests.len() == 16 * passages
            && ends.clone().is_sorted()
            && ends.next_back().unwrap_or(0) == passages
            && passages.checked_mul(self.width) == Some(self.numbers.len())
    }

    /// Tells the model that made them.
    #[must_use]
    pub fn model(&self) -> [u8; 32] {
        self.model
    }

    /// Numbers in each embedding.
    #[must_use]
    pub fn width(&self) -> usize {
        self.width
    }

    /// Contents in it.
    #[must_use]
    pub fn len(&self) -> usize {
        self.kinds.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What is in it; the embeddings stay in the map.
    pub fn contents(&self) -> impl Iterator<Item = EmbeddedContent> {
        let rows = self.hashes.rows::<16>().iter().zip(self.kinds.iter());
        rows.enumerate()
            .map(|(at, (hash, kind)): (usize, (&ContentHash, &u8))| {
                let start = at.checked_sub(1).map_or(0, |before| self.ends.u32(before));
                EmbeddedContent {
                    hash: *hash,
                    kind: ContentKind::from_code(*kind),
                    passages: self.passages(start as usize..self.ends.u32(at) as usize),
                    is_whole: self.wholes.get(at).is_some_and(|whole| *whole == 1),
                }
            })
    }

    fn passages(&self, places: Range<usize>) -> Vec<EmbeddedPassage> {
        let digests = &self.digests.rows::<16>()[places.clone()];
        let passages = places.zip(digests).map(|(place, digest)| {
            let numbers = place * self.width..(place + 1) * self.width;
            EmbeddedPassage {
                digest: *digest,
                embedding: Embedding::from_column(self.numbers.part(numbers)),
            }
        });
        passages.collect()
    }
}

/// The model and the width.
fn read_head(head: &[u8]) -> Result<([u8; 32], usize), ColumnError> {
    let (Some(model), Some([width])) = (head.first_chunk(), head.get(32..).map(as_u64s)) else {
        return Err(ColumnError::Damaged("its head is too short"));
    };
    let width = usize::try_from(u64::from_le_bytes(*width)).unwrap_or(usize::MAX);
    Ok((*model, width))
}

fn as_u64s(bytes: &[u8]) -> &[[u8; 8]] {
    bytes.as_chunks().0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passage(byte: u8, numbers: &[f32]) -> EmbeddedPassage {
        EmbeddedPassage {
            digest: [byte; 16],
            embedding: Embedding::new(numbers),
        }
    }

    #[test]
    fn i18_embeddings_read_back_from_a_mapped_file_and_damage_is_noticed() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("embeddings");
        let made = |byte, kind, passages: &[&[f32]], is_whole| EmbeddedContent {
            hash: [byte; 16],
            kind,
            passages: passages.iter().map(|one| passage(byte, one)).collect(),
            is_whole,
        };
        let all = [
            made(1, ContentKind::Prose, &[&[1.0, 0.0, -2.0]], true),
            made(
                2,
                ContentKind::Code,
                &[&[0.0, 3.0, 0.0], &[1.0, 1.0, 0.0]],
                false,
            ),
            made(3, ContentKind::Code, &[], true),
            made(4, ContentKind::Prose, &[&[1.0, 0.0, -2.0], &[1.0]], true),
        ];
        let mut bytes = Vec::new();
        EmbeddingFile::write(&mut bytes, &[7; 32], 3, &all).expect("memory");
        std::fs::write(&path, &bytes).expect("written");
        let file = EmbeddingFile::open(&path).expect("whole");
        assert_eq!((file.model(), file.width(), file.len()), ([7; 32], 3, 3));
        for (read, made) in file.contents().zip(&all) {
            assert_eq!(read.hash, made.hash);
            assert_eq!((read.kind, read.is_whole), (made.kind, made.is_whole));
            assert_eq!(read.passages, made.passages);
            for (read, made) in read.passages.iter().zip(&made.passages) {
                let cosine = read.embedding.cosine(&made.embedding);
                assert!(cosine.is_some_and(|cosine| cosine > 0.999));
            }
        }
        bytes[100] ^= 1;
        std::fs::write(&path, &bytes).expect("written");
        assert!(EmbeddingFile::open(&path).is_err());
        let mut none = Vec::new();
        EmbeddingFile::write(&mut none, &[7; 32], 3, &[]).expect("memory");
        std::fs::write(&path, &none).expect("written");
        assert!(EmbeddingFile::open(&path).expect("whole").is_empty());
    }

    #[test]
    fn i16_a_file_of_the_form_before_is_read_as_beginnings() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("embeddings");
        let rows = [Embedding::new(&[1.0, 0.0]), Embedding::new(&[0.5, 1.0])];
        let write = |numbers: &[Embedding]| {
            let mut bytes = Vec::new();
            let mut writer = ColumnWriter::new(&mut bytes, FORMER_KIND).expect("memory");
            let width = 2_u64.to_le_bytes();
            let head = [[7; 32].as_slice(), width.as_slice()];
            writer.column(head).expect("memory");
            writer.column([[1; 16], [2; 16]]).expect("memory");
            let kinds = [ContentKind::Prose, ContentKind::Code].map(|kind| [kind.code()]);
            writer.column(kinds).expect("memory");
            let numbers = numbers.iter().map(Embedding::as_bytes);
            writer.column(numbers).expect("memory");
            writer.finish().expect("memory");
            std::fs::write(&path, &bytes).expect("written");
        };
        write(&rows);
        let file = EmbeddingFile::open(&path).expect("whole");
        assert_eq!((file.model(), file.width(), file.len()), ([7; 32], 2, 2));
        for (number, content) in file.contents().enumerate() {
            let former = EmbeddedPassage {
                digest: UNKNOWN_DIGEST,
                embedding: rows[number].clone(),
            };
            assert_eq!(content.passages, [former]);
            assert!(!content.is_whole);
        }
        write(&rows[..1]);
        assert!(EmbeddingFile::open(&path).is_err(), "too short");
    }
}
