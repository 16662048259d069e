//! The token file: what learning reads of the documents, compact and on disk.
//!
//! Written in two passes: terms are numbered as they come, then the vocabulary is chosen and the
//! documents are written again in numbers of two bytes, without the words that are not in it.

use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::dictionary::Dictionary;
use super::error::LearningError;
use super::options::MAX_VOCABULARY;

/// First and last bytes of a token file; changes with its form.
const MAGIC: &[u8; 8] = b"sgcorp01";

/// Length of what stands behind the table: its length, its hash, the magic.
const TAIL: usize = 8 + 32 + 8;

/// Terms of a document that are kept; later ones add little to what it is about.
pub(crate) const MAX_DOCUMENT_TERMS: usize = 2_048;

/// Distinct terms that are counted; new ones after these are not learnt.
const MAX_COUNTED_TERMS: usize = 1_000_000;

/// Documents of a corpus: they are counted with 32 bits. Who learns keeps a limit of their own.
const MAX_DOCUMENTS: usize = 500_000_000;

/// A word of the vocabulary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VocabularyTerm {
    /// The analysed term.
    pub text: String,
    /// Number of documents that hold it.
    pub documents: u32,
}

/// The table at the end of a token file.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Table {
    vocabulary: Vec<VocabularyTerm>,
    /// Where each document begins.
    offsets: Vec<u64>,
    /// Where the last document ends.
    end: u64,
    /// Hash of everything in front of the table.
    content: [u8; 32],
}

/// A document in numbers of the vocabulary; a buffer to be used again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DocumentTokens {
    /// The document's key.
    pub key: String,
    /// Terms of the title, then of the body.
    pub tokens: Vec<u16>,
    /// How many of the tokens are the title's.
    pub title: usize,
}

/// Writes a token file.
#[derive(Debug)]
pub struct CorpusWriter {
    path: PathBuf,
    first_pass: BufWriter<File>,
    words: Dictionary,
    /// For each term: documents that hold it, and one more than the last of them.
    counts: Vec<(u32, u32)>,
    documents: u32,
    line: Vec<u8>,
}

impl CorpusWriter {
    /// Begins the token file at `path`; beside it stands a temporary file until it is finished.
    ///
    /// # Errors
    /// The file cannot be made.
    pub fn create(path: &Path) -> Result<Self, LearningError> {
        let file = File::create(temporary(path)).map_err(error_at(path))?;
        Ok(Self {
            path: path.to_owned(),
            first_pass: BufWriter::with_capacity(1 << 16, file),
            words: Dictionary::default(),
            counts: Vec::new(),
            documents: 0,
            line: Vec::new(),
        })
    }

    /// Adds a document, or the next part of the last one, which has the same key. A key that was
    /// added earlier gives a second document.
    ///
    /// # Errors
    /// The disk refuses, or there are too many documents.
    pub fn add<T: AsRef<str>>(
        &mut self,
        key: &str,
        title: impl IntoIterator<Item = T>,
        body: impl IntoIterator<Item = T>,
    ) -> Result<(), LearningError> {
        if self.documents as usize == MAX_DOCUMENTS {
            return Err(LearningError::TooManyDocuments(MAX_DOCUMENTS));
        }
        self.documents += 1;
        let mut line = std::mem::take(&mut self.line);
        line.clear();
        let title = self.number(title, MAX_DOCUMENT_TERMS / 4, &mut line);
        let all = title + self.number(body, MAX_DOCUMENT_TERMS - title, &mut line);
        let head = [key.len() as u32, title as u32, all as u32];
        let written = head
            .iter()
            .try_for_each(|number| self.first_pass.write_all(&number.to_le_bytes()))
            .and_then(|()| self.first_pass.write_all(key.as_bytes()))
            .and_then(|()| self.first_pass.write_all(&line));
        self.line = line;
        written.map_err(error_at(&self.path))
    }

    /// Appends the numbers of the terms; says how many.
    fn number<T: AsRef<str>>(
        &mut self,
        terms: impl IntoIterator<Item = T>,
        limit: usize,
        line: &mut Vec<u8>,
    ) -> usize {
        let mut count = 0;
        for term in terms.into_iter().take(limit) {
            let term = term.as_ref();
            let Some(number) = self.words.number(term, MAX_COUNTED_TERMS) else {
                continue;
            };
            self.counts.resize(self.words.len(), (0, 0));
            let (documents, last) = &mut self.counts[number as usize];
            *documents += u32::from(*last != self.documents);
            *last = self.documents;
            line.extend_from_slice(&number.to_le_bytes());
            count += 1;
        }
        count
    }

    /// Chooses the vocabulary and writes the token file.
    ///
    /// # Errors
    /// The disk refuses.
    pub fn finish(mut self) -> Result<Corpus, LearningError> {
        let fail = error_at(&self.path);
        self.first_pass.flush().map_err(&fail)?;
        let (vocabulary, places) = self.choose();
        self.words = Dictionary::default();
        let first = temporary(&self.path);
        let written = self.second_pass(&first, vocabulary, &places).map_err(fail);
        let removed = std::fs::remove_file(&first);
        written?;
        removed.map_err(error_at(&self.path))?;
        Corpus::open(&self.path)
    }

    /// The vocabulary, most frequent first, and for each number its place there.
    fn choose(&mut self) -> (Vec<VocabularyTerm>, Vec<u16>) {
        let numbers = 0..self.words.len() as u32;
        let mut chosen: Vec<u32> = numbers
            .filter(|number| self.counts[*number as usize].0 >= 2)
            .collect();
        chosen.sort_unstable_by(|a, b| {
            let counts = [*a, *b].map(|number| self.counts[number as usize].0);
            let words = || self.words.word(*a).cmp(self.words.word(*b));
            counts[1].cmp(&counts[0]).then_with(words)
        });
        chosen.truncate(MAX_VOCABULARY);
        let mut places = vec![u16::MAX; self.counts.len()];
        let mut vocabulary = Vec::with_capacity(chosen.len());
        for (place, number) in chosen.into_iter().enumerate() {
            places[number as usize] = place as u16;
            vocabulary.push(VocabularyTerm {
                text: self.words.word(number).to_owned(),
                documents: self.counts[number as usize].0,
            });
        }
        (vocabulary, places)
    }

    fn second_pass(
        &self,
        first: &Path,
        vocabulary: Vec<VocabularyTerm>,
        places: &[u16],
    ) -> std::io::Result<()> {
        let mut reader = BufReader::with_capacity(1 << 16, File::open(first)?);
        let mut output = BufWriter::with_capacity(1 << 16, File::create(&self.path)?);
        output.write_all(MAGIC)?;
        let mut table = Table {
            vocabulary,
            end: MAGIC.len() as u64,
            ..Table::default()
        };
        let mut hasher = blake3::Hasher::new();
        let mut record = Vec::new();
        for _ in 0..self.documents {
            renumber(&mut reader, places, &mut record)?;
            table.offsets.push(table.end);
            table.end += record.len() as u64;
            hasher.update(&record);
            output.write_all(&record)?;
        }
        table.content = *hasher.finalize().as_bytes();
        let bytes = postcard::to_stdvec(&table).map_err(std::io::Error::other)?;
        output.write_all(&bytes)?;
        output.write_all(&(bytes.len() as u64).to_le_bytes())?;
        output.write_all(blake3::hash(&bytes).as_bytes())?;
        output.write_all(MAGIC)?;
        output.flush()
    }
}

/// Reads a document of the first pass and makes the record of the second.
fn renumber(reader: &mut impl Read, places: &[u16], record: &mut Vec<u8>) -> std::io::Result<()> {
    let mut head = [[0; 4]; 3];
    reader.read_exact(head.as_flattened_mut())?;
    let [key, title, all] = head.map(|bytes| u32::from_le_bytes(bytes) as usize);
    let mut line = vec![0; key + 4 * all];
    reader.read_exact(&mut line)?;
    let (key, numbers) = line.split_at(key);
    let mut kept = Vec::with_capacity(all);
    let mut kept_of_title = 0;
    for (at, number) in numbers.as_chunks().0.iter().enumerate() {
        let place = places[u32::from_le_bytes(*number) as usize];
        if place != u16::MAX {
            kept.push(place);
            kept_of_title += u32::from(at < title);
        }
    }
    record.clear();
    record.extend_from_slice(&(key.len() as u32).to_le_bytes());
    record.extend_from_slice(&kept_of_title.to_le_bytes());
    record.extend_from_slice(key);
    record.extend(kept.iter().flat_map(|token| token.to_le_bytes()));
    Ok(())
}

fn temporary(path: &Path) -> PathBuf {
    path.with_extension("first-pass")
}

fn error_at(path: &Path) -> impl Fn(std::io::Error) -> LearningError + use<> {
    let path = path.to_owned();
    move |source| LearningError::Io {
        path: path.clone(),
        source,
    }
}

/// A token file, open for reading. Documents stay on disk.
#[derive(Debug)]
pub struct Corpus {
    path: PathBuf,
    file: File,
    table: Table,
    fingerprint: [u8; 32],
}

impl Corpus {
    /// Opens a token file.
    ///
    /// # Errors
    /// It cannot be read, or it is not whole.
    pub fn open(path: &Path) -> Result<Self, LearningError> {
        let damaged = |what| LearningError::DamagedCorpus {
            path: path.to_owned(),
            what,
        };
        let mut file = File::open(path).map_err(error_at(path))?;
        let length = file.metadata().map_err(error_at(path))?.len();
        if length < (MAGIC.len() + TAIL) as u64 {
            return Err(damaged("too short"));
        }
        let mut tail = [0; TAIL];
        file.seek(SeekFrom::End(-(TAIL as i64)))
            .and_then(|_| file.read_exact(&mut tail))
            .map_err(error_at(path))?;
        let size = u64::from_le_bytes(tail[..8].try_into().expect("8 of 48 bytes"));
        let room = length - (MAGIC.len() + TAIL) as u64;
        if tail[40..] != *MAGIC || size > room {
            return Err(damaged("no table at its end"));
        }
        let mut bytes = vec![0; size as usize];
        file.read_exact_at(&mut bytes, length - TAIL as u64 - size)
            .map_err(error_at(path))?;
        if blake3::hash(&bytes).as_bytes() != &tail[8..40] {
            return Err(damaged("the table's hash differs"));
        }
        let table: Table = postcard::from_bytes(&bytes).map_err(|_| damaged("no table"))?;
        let starts = table.offsets.iter();
        let ordered = starts.chain([&table.end]).is_sorted();
        if !ordered || table.end > length || table.vocabulary.len() > MAX_VOCABULARY {
            return Err(damaged("the table names places outside the file"));
        }
        let fingerprint = *blake3::hash(&bytes).as_bytes();
        Ok(Self {
            path: path.to_owned(),
            file,
            table,
            fingerprint,
        })
    }

    /// Number of documents.
    #[must_use]
    pub fn len(&self) -> usize {
        self.table.offsets.len()
    }

    /// Whether there is no document.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.table.offsets.is_empty()
    }

    /// The words that get vectors, most frequent first.
    #[must_use]
    pub fn vocabulary(&self) -> &[VocabularyTerm] {
        &self.table.vocabulary
    }

    /// Hash of the documents and their vocabulary: the same content gives the same.
    #[must_use]
    pub fn fingerprint(&self) -> [u8; 32] {
        self.fingerprint
    }

    /// Reads the document of this number into `document`.
    ///
    /// # Errors
    /// The file cannot be read, or was altered.
    ///
    /// # Panics
    /// When there is no such document.
    pub fn read(&self, number: usize, document: &mut DocumentTokens) -> Result<(), LearningError> {
        let start = self.table.offsets[number];
        let next = self.table.offsets.get(number + 1);
        let mut record = vec![0; (next.unwrap_or(&self.table.end) - start) as usize];
        self.file
            .read_exact_at(&mut record, start)
            .map_err(error_at(&self.path))?;
        self.decode(&record, document)
            .ok_or_else(|| LearningError::DamagedCorpus {
                path: self.path.clone(),
                what: "a document cannot be read",
            })
    }

    fn decode(&self, record: &[u8], document: &mut DocumentTokens) -> Option<()> {
        let (key_length, rest) = record.split_first_chunk()?;
        let (title, rest) = rest.split_first_chunk()?;
        let (key, tokens) = rest.split_at_checked(u32::from_le_bytes(*key_length) as usize)?;
        document.title = u32::from_le_bytes(*title) as usize;
        document.key.clear();
        document.key.push_str(std::str::from_utf8(key).ok()?);
        document.tokens.clear();
        let (tokens, rest) = tokens.as_chunks();
        document
            .tokens
            .extend(tokens.iter().map(|bytes| u16::from_le_bytes(*bytes)));
        let known = self.table.vocabulary.len();
        let sound = rest.is_empty()
            && document.title <= document.tokens.len()
            && document
                .tokens
                .iter()
                .all(|&token| usize::from(token) < known);
        sound.then_some(())
    }
}
