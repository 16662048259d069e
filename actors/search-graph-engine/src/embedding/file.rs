//! Embeddings in a file that is mapped into memory, and never changed.

use std::io::Write;
use std::path::Path;

use search_core::document::ContentKind;

use super::Embedding;
use crate::columns::{Column, ColumnError, ColumnWriter, Columns};

/// First bytes of a file of embeddings; changes with its form.
const FILE_KIND: &[u8; 8] = b"sgembed4";

/// First 16 bytes of the BLAKE3 hash of a content.
type ContentHash = [u8; 16];

/// What a model made of some contents.
#[derive(Debug)]
pub struct EmbeddingFile {
    model: [u8; 32],
    width: usize,
    hashes: Column,
    kinds: Column,
    numbers: Column,
}

/// What a model made of one content.
#[derive(Debug, Clone)]
pub struct EmbeddedContent {
    /// The content's hash.
    pub hash: [u8; 16],
    /// What the content is.
    pub kind: ContentKind,
    /// Its direction.
    pub embedding: Embedding,
}

impl EmbeddingFile {
    /// Writes what the model of this id made; embeddings of another `width` are left out.
    ///
    /// # Errors
    /// The output refuses.
    pub fn write(
        output: &mut dyn Write,
        model: &[u8; 32],
        width: usize,
        contents: &[EmbeddedContent],
    ) -> std::io::Result<()> {
        let fits = |one: &&EmbeddedContent| one.embedding.dimensions() == width;
        let contents = || contents.iter().filter(fits);
        let mut writer = ColumnWriter::new(output, FILE_KIND)?;
        let width = (width as u64).to_le_bytes();
        writer.column([model.as_slice(), width.as_slice()])?;
        writer.column(contents().map(|one| one.hash))?;
        writer.column(contents().map(|one| [one.kind.code()]))?;
        writer.column(contents().map(|one| one.embedding.as_bytes()))?;
        writer.finish()
    }

    /// Maps a file into memory. All of it is read once before; a file of any content does no harm.
    ///
    /// # Errors
    /// It cannot be read, or is damaged.
    pub fn open(path: &Path) -> Result<Self, ColumnError> {
        let columns = Columns::open(path, FILE_KIND)?;
        let [head, hashes, kinds, numbers] = columns.take()?;
        let damaged = ColumnError::Damaged("its columns differ in length");
        let (Some(model), Some([width])) = (head.first_chunk(), head.get(32..).map(as_u64s)) else {
            return Err(damaged);
        };
        let width = usize::try_from(u64::from_le_bytes(*width)).unwrap_or(usize::MAX);
        let (rows, rest) = hashes.as_chunks::<16>();
        let is_whole = rest.is_empty()
            && kinds.len() == rows.len()
            && rows.len().checked_mul(width) == Some(numbers.len());
        if !is_whole {
            return Err(damaged);
        }
        Ok(Self {
            model: *model,
            width,
            hashes,
            kinds,
            numbers,
        })
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
                let place = at * self.width..(at + 1) * self.width;
                EmbeddedContent {
                    hash: *hash,
                    kind: ContentKind::from_code(*kind),
                    embedding: Embedding::of(self.numbers.part(place)),
                }
            })
    }
}

fn as_u64s(bytes: &[u8]) -> &[[u8; 8]] {
    bytes.as_chunks().0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i18_embeddings_read_back_from_a_mapped_file_and_damage_is_noticed() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("embeddings");
        let made = |byte, kind, numbers: &[f32]| EmbeddedContent {
            hash: [byte; 16],
            kind,
            embedding: Embedding::new(numbers),
        };
        let all = [
            made(1, ContentKind::Prose, &[1.0, 0.0, -2.0]),
            made(2, ContentKind::Code, &[0.0, 3.0, 0.0]),
            made(3, ContentKind::Prose, &[1.0]),
        ];
        let mut bytes = Vec::new();
        EmbeddingFile::write(&mut bytes, &[7; 32], 3, &all).expect("memory");
        std::fs::write(&path, &bytes).expect("written");
        let file = EmbeddingFile::open(&path).expect("whole");
        assert_eq!((file.model(), file.width(), file.len()), ([7; 32], 3, 2));
        for (read, made) in file.contents().zip(&all) {
            assert_eq!(read.hash, made.hash);
            assert_eq!(read.kind, made.kind);
            assert_eq!(read.embedding, made.embedding);
            let cosine = read.embedding.cosine(&made.embedding);
            assert!(cosine.is_some_and(|cosine| cosine > 0.999));
        }
        bytes[100] ^= 1;
        std::fs::write(&path, &bytes).expect("written");
        assert!(EmbeddingFile::open(&path).is_err());
        let mut none = Vec::new();
        EmbeddingFile::write(&mut none, &[7; 32], 3, &[]).expect("memory");
        std::fs::write(&path, &none).expect("written");
        assert!(EmbeddingFile::open(&path).expect("whole").is_empty());
    }
}
