//! What documents have given to the graph and the space since both were kept: a change is a record
//! at the end of a file, not a file written anew.
//!
//! ```text
//! MAGIC ─ thesaurus ─ space ─ sum │ length ─ record ─ sum │ length ─ record ─ sum │ …
//! ```
//! A record is whole or it is not there: where a process or a machine ended while one was written,
//! the file is cut at the last whole one. What is lost so is read from the documents again, so
//! nothing has to be synchronised.

use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::graph::Contribution;
use crate::space::ConceptVector;

/// First bytes of the file; changes with its form.
const MAGIC: &[u8; 8] = b"sgjourn1";

/// Bytes of the head: the magic, what the records belong to, a sum.
const HEAD: usize = 8 + 64 + SUM;

/// Bytes of a sum.
const SUM: usize = 8;

/// Bytes of the longest record: 24 concepts of 128 bytes and a path take a tenth of it.
const MAX_RECORD: u32 = 64 << 10;

/// What the records of a journal belong to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct JournalBase {
    /// Stands for the thesaurus that contributions were made with: with another one none of the
    /// records counts.
    pub thesaurus: [u8; 32],
    /// Stands for the space whose words the vectors were made of: of another one they say nothing.
    pub space: [u8; 32],
}

/// A document that has changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum JournalRecord {
    /// It was put, in place of a former version.
    Put {
        /// Its key.
        key: String,
        /// First 16 bytes of the BLAKE3 hash of its content.
        hash: [u8; 16],
        /// What it has given to the graph; nothing where it could not be read any more.
        concepts: Option<Contribution>,
        /// Its place in the space, where there is one.
        vector: Option<ConceptVector>,
    },
    /// It is gone: the hash of its key.
    Removed(u64),
}

/// A journal, open at its end.
#[derive(Debug)]
pub struct Journal {
    file: File,
    records: usize,
    line: Vec<u8>,
}

impl Journal {
    /// Begins an empty journal in place of any other.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn create(path: &Path, base: &JournalBase) -> io::Result<Self> {
        let beside = path.with_extension("new");
        let mut file = File::create(&beside)?;
        file.write_all(&head(base))?;
        std::fs::rename(&beside, path)?;
        Ok(Self {
            file,
            records: 0,
            line: Vec::new(),
        })
    }

    /// Opens a journal: `each` gets the whole records in their order, and whether their vectors
    /// belong to the space of `base`; what follows them is cut off. One that is missing, damaged in
    /// its head or of another thesaurus is begun anew.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub fn open(
        path: &Path,
        base: &JournalBase,
        mut each: impl FnMut(JournalRecord, bool),
    ) -> io::Result<Self> {
        let mut file = match OpenOptions::new().read(true).write(true).open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Self::create(path, base);
            }
            Err(error) => return Err(error),
        };
        let mut reader = BufReader::new(&file);
        let Some(known) = read_head(&mut reader)?.filter(|it| it.thesaurus == base.thesaurus)
        else {
            return Self::create(path, base);
        };
        let (mut end, mut records) = (HEAD as u64, 0);
        while let Some((record, length)) = read_record(&mut reader)? {
            each(record, known.space == base.space);
            end += length;
            records += 1;
        }
        drop(reader);
        file.set_len(end)?;
        file.seek(SeekFrom::Start(end))?;
        Ok(Self {
            file,
            records,
            line: Vec::new(),
        })
    }

    /// Adds a record.
    ///
    /// # Errors
    /// The disk refuses; what was written of the record is cut off again where that is possible,
    /// and at the next opening otherwise.
    pub fn append(&mut self, record: &JournalRecord) -> io::Result<()> {
        let bytes = postcard::to_stdvec(record).map_err(io::Error::other)?;
        self.line.clear();
        self.line
            .extend_from_slice(&(bytes.len() as u32).to_le_bytes());
        self.line.extend_from_slice(&bytes);
        self.line.extend_from_slice(&sum(&bytes));
        let before = self.file.stream_position()?;
        if let Err(error) = self.file.write_all(&self.line) {
            let cut = self.file.set_len(before);
            cut.and_then(|()| self.file.seek(SeekFrom::Start(before)))?;
            return Err(error);
        }
        self.records += 1;
        Ok(())
    }

    /// Number of records.
    #[must_use]
    pub const fn records(&self) -> usize {
        self.records
    }
}

fn sum(bytes: &[u8]) -> [u8; SUM] {
    let hash = blake3::hash(bytes);
    *hash.as_bytes().first_chunk().expect("a hash of 32 bytes")
}

fn head(base: &JournalBase) -> [u8; HEAD] {
    let mut head = [0; HEAD];
    let (content, checked) = head.split_at_mut(HEAD - SUM);
    content[..8].copy_from_slice(MAGIC);
    content[8..40].copy_from_slice(&base.thesaurus);
    content[40..].copy_from_slice(&base.space);
    checked.copy_from_slice(&sum(content));
    head
}

fn read_head(reader: &mut impl Read) -> io::Result<Option<JournalBase>> {
    let mut bytes = [0; HEAD];
    if !read_whole(reader, &mut bytes)? {
        return Ok(None);
    }
    let mut base = JournalBase::default();
    base.thesaurus.copy_from_slice(&bytes[8..40]);
    base.space.copy_from_slice(&bytes[40..72]);
    Ok((bytes == head(&base)).then_some(base))
}

/// The next record and how many bytes of the file it takes; `None` where there is no whole one.
fn read_record(reader: &mut impl Read) -> io::Result<Option<(JournalRecord, u64)>> {
    let mut length = [0; 4];
    if !read_whole(reader, &mut length)? {
        return Ok(None);
    }
    let length = u32::from_le_bytes(length);
    if length > MAX_RECORD {
        return Ok(None);
    }
    let mut bytes = vec![0; length as usize + SUM];
    if !read_whole(reader, &mut bytes)? {
        return Ok(None);
    }
    let (content, checked) = bytes.split_at(length as usize);
    let record = postcard::from_bytes(content).ok();
    let record = record.filter(|_| *checked == sum(content));
    Ok(record.map(|record| (record, 4 + bytes.len() as u64)))
}

/// Fills the buffer; `false` where the file ends before.
fn read_whole(reader: &mut impl Read, buffer: &mut [u8]) -> io::Result<bool> {
    match reader.read_exact(buffer) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: JournalBase = JournalBase {
        thesaurus: [1; 32],
        space: [2; 32],
    };

    fn records() -> Vec<JournalRecord> {
        let put = |key: &str, hash| JournalRecord::Put {
            key: key.to_owned(),
            hash: [hash; 16],
            concepts: Some(Contribution::default()),
            vector: None,
        };
        vec![put("a/ä.md", 7), JournalRecord::Removed(42), put("b", 9)]
    }

    fn read(path: &Path, base: &JournalBase) -> (Vec<JournalRecord>, Vec<bool>, Journal) {
        let (mut found, mut fits) = (Vec::new(), Vec::new());
        let journal = Journal::open(path, base, |record, fit| {
            found.push(record);
            fits.push(fit);
        });
        (found, fits, journal.expect("it opens"))
    }

    #[test]
    fn i16_an_interrupted_journal_is_cut_at_its_last_whole_record() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("journal");
        let mut journal = Journal::create(&path, &BASE).expect("begun");
        let mut ends = vec![HEAD];
        for record in records() {
            journal.append(&record).expect("room");
            ends.push(std::fs::metadata(&path).expect("a file").len() as usize);
        }
        let whole = std::fs::read(&path).expect("a file");
        assert_eq!(whole.len(), ends[3]);
        for cut in 0..=whole.len() {
            std::fs::write(&path, &whole[..cut]).expect("written");
            let kept = ends
                .iter()
                .filter(|end| **end <= cut)
                .count()
                .saturating_sub(1);
            let (found, _, mut journal) = read(&path, &BASE);
            assert_eq!(found, records()[..kept], "cut at {cut}");
            assert_eq!(journal.records(), kept);
            // It goes on behind them.
            journal.append(&JournalRecord::Removed(5)).expect("room");
            drop(journal);
            let (found, ..) = read(&path, &BASE);
            assert_eq!(found.len(), kept + 1, "cut at {cut}");
            assert_eq!(found.last(), Some(&JournalRecord::Removed(5)));
        }
        for at in 0..whole.len() {
            let mut altered = whole.clone();
            altered[at] ^= 1;
            std::fs::write(&path, altered).expect("written");
            let kept = ends
                .iter()
                .filter(|end| **end <= at)
                .count()
                .saturating_sub(1);
            let (found, ..) = read(&path, &BASE);
            assert_eq!(found, records()[..kept], "altered at {at}");
        }
    }

    #[test]
    fn i16_records_of_another_thesaurus_do_not_count_nor_vectors_of_another_space() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("journal");
        let mut journal = Journal::create(&path, &BASE).expect("begun");
        journal.append(&JournalRecord::Removed(1)).expect("room");
        assert_eq!(read(&path, &BASE).1, [true]);
        let learnt = JournalBase {
            space: [3; 32],
            ..BASE
        };
        assert_eq!(read(&path, &learnt).1, [false]);
        let other = JournalBase {
            thesaurus: [4; 32],
            ..BASE
        };
        assert!(read(&path, &other).0.is_empty());
        assert!(read(&path, &BASE).0.is_empty(), "it was begun anew");
    }
}
