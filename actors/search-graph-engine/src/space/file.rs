//! A space as a file: rows as they are, and a hash at the end.

use std::io::{Read, Write};

use super::ConceptSpace;
use super::documents::DocumentTable;
use super::error::SpaceError;
use super::words::WordTable;
use crate::learning::{GRAM_ROWS, MAX_VOCABULARY};
use crate::math::{Bytes, WIDTH};

/// First bytes of the file; changes with its form.
const MAGIC: &[u8; 8] = b"sgspace1";

/// Longest text of a word or a key that is read, in bytes.
const MAX_TEXT: usize = 64 << 10;

impl ConceptSpace {
    /// Writes the space.
    ///
    /// # Errors
    /// The output refuses.
    pub fn save(&self, output: &mut dyn Write) -> Result<(), SpaceError> {
        let mut output = Hashing::new(output);
        output.write(MAGIC)?;
        output.write(&self.changes.to_le_bytes())?;
        output.write(&self.words.unknown_weight.to_le_bytes())?;
        output.write(&(self.words.len() as u32).to_le_bytes())?;
        for word in 0..self.words.len() {
            output.text(self.words.term(word as u32))?;
            output.row(&self.words.vectors[word], self.words.factors[word])?;
        }
        for (row, factor) in self.words.grams.iter().zip(&self.words.gram_factors) {
            output.row(row, *factor)?;
        }
        output.write(&(self.documents.len() as u32).to_le_bytes())?;
        for (key, vector, factor) in self.documents.iter() {
            output.text(key)?;
            output.row(vector, factor)?;
        }
        output.finish()
    }

    /// Reads a space that was [saved](Self::save). A file of any content does no harm.
    ///
    /// # Errors
    /// The input cannot be read, or is not a whole space.
    pub fn load(input: &mut dyn Read) -> Result<Self, SpaceError> {
        let mut input = Checking::new(input);
        if input.read::<8>()? != *MAGIC {
            return Err(SpaceError::Damaged("it is of another kind or version"));
        }
        let changes = u64::from_le_bytes(input.read()?);
        let words = read_words(&mut input)?;
        let count = u32::from_le_bytes(input.read()?);
        let mut documents = DocumentTable::default();
        for _ in 0..count {
            let key = input.text()?;
            let (row, factor) = input.row()?;
            documents.put(&key, &row, factor);
        }
        input.finish()?;
        Ok(Self {
            words: std::sync::Arc::new(words),
            documents,
            changes,
        })
    }
}

fn read_words(input: &mut Checking<'_>) -> Result<WordTable, SpaceError> {
    let mut words = WordTable {
        unknown_weight: f32::from_le_bytes(input.read()?),
        ..WordTable::default()
    };
    let count = u32::from_le_bytes(input.read()?) as usize;
    if count > MAX_VOCABULARY || !words.unknown_weight.is_finite() {
        return Err(SpaceError::Damaged("its words cannot be"));
    }
    for _ in 0..count {
        let term = input.text()?;
        words.text.push_str(&term);
        words.ends.push(words.text.len() as u32);
        let (row, factor) = input.row()?;
        words.vectors.push(row);
        words.factors.push(factor);
    }
    for _ in 0..GRAM_ROWS {
        let (row, factor) = input.row()?;
        words.grams.push(row);
        words.gram_factors.push(factor);
    }
    words.measure();
    Ok(words)
}

/// Writes, and hashes what is written.
struct Hashing<'o> {
    output: &'o mut dyn Write,
    hasher: blake3::Hasher,
}

impl<'o> Hashing<'o> {
    fn new(output: &'o mut dyn Write) -> Self {
        Self {
            output,
            hasher: blake3::Hasher::new(),
        }
    }

    fn write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.hasher.update(bytes);
        self.output.write_all(bytes)
    }

    fn text(&mut self, text: &str) -> std::io::Result<()> {
        self.write(&(text.len() as u32).to_le_bytes())?;
        self.write(text.as_bytes())
    }

    fn row(&mut self, row: &Bytes, factor: f32) -> std::io::Result<()> {
        self.write(&factor.to_le_bytes())?;
        self.write(&row.map(|byte| byte as u8))
    }

    fn finish(self) -> Result<(), SpaceError> {
        self.output.write_all(self.hasher.finalize().as_bytes())?;
        Ok(self.output.flush()?)
    }
}

/// Reads, and hashes what is read.
struct Checking<'i> {
    input: &'i mut dyn Read,
    hasher: blake3::Hasher,
}

impl<'i> Checking<'i> {
    fn new(input: &'i mut dyn Read) -> Self {
        Self {
            input,
            hasher: blake3::Hasher::new(),
        }
    }

    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), SpaceError> {
        self.input.read_exact(bytes).map_err(|error| {
            if error.kind() == std::io::ErrorKind::UnexpectedEof {
                SpaceError::Damaged("it ends early")
            } else {
                error.into()
            }
        })?;
        self.hasher.update(bytes);
        Ok(())
    }

    fn read<const N: usize>(&mut self) -> Result<[u8; N], SpaceError> {
        let mut bytes = [0; N];
        self.fill(&mut bytes)?;
        Ok(bytes)
    }

    fn text(&mut self) -> Result<String, SpaceError> {
        let length = u32::from_le_bytes(self.read()?) as usize;
        if length > MAX_TEXT {
            return Err(SpaceError::Damaged("a name is too long"));
        }
        let mut bytes = vec![0; length];
        self.fill(&mut bytes)?;
        String::from_utf8(bytes).map_err(|_| SpaceError::Damaged("a name is not text"))
    }

    fn row(&mut self) -> Result<(Bytes, f32), SpaceError> {
        let factor = f32::from_le_bytes(self.read()?);
        let row = self.read::<WIDTH>()?.map(|byte| byte as i8);
        if !factor.is_finite() {
            return Err(SpaceError::Damaged("a factor is no number"));
        }
        Ok((row, factor))
    }

    fn finish(mut self) -> Result<(), SpaceError> {
        let expected = self.hasher.finalize();
        if self.read::<32>()? == *expected.as_bytes() {
            Ok(())
        } else {
            Err(SpaceError::Damaged("its hash differs"))
        }
    }
}
