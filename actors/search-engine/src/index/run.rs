//! Sorted runs: posting lists of a part of a segment's documents, in a file or in memory.
//!
//! A run has four sections, one a field. A section is a list of terms in the order of their bytes,
//! each with its posting list in the coding of [`PostingList`](super::postings::PostingList); a
//! term of length 255 ends it.

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::PathBuf;

use super::memory_segment::{PendingPostings, SparsePostings};
use super::postings::{DecodedPostings, PostingList};
use super::term_id::{Namespace, TermId};
use super::vocabulary::Vocabulary;

/// How the names of run files start.
pub(super) const PREFIX: &str = "run-";

/// The fields whose terms come from the analysis, in the order of a run.
pub(super) const SECTIONS: [Section; 4] = [
    Section::Text,
    Section::Surplus,
    Section::Exact,
    Section::Title,
];

/// Ends a section; terms are shorter.
const END: u8 = u8::MAX;

/// Bytes read ahead of each run.
const BUFFER_BYTES: usize = 64 << 10;

/// A field in a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Section {
    Text,
    Surplus,
    Exact,
    Title,
}

/// A run in a file, which is removed with it.
pub(super) struct RunFile(PathBuf);

impl Drop for RunFile {
    fn drop(&mut self) {
        // A file that stays behind is removed when the index is opened again.
        let _ = fs::remove_file(&self.0);
    }
}

/// Writes what is gathered as a run.
pub(super) fn write(gathered: &PendingPostings, path: PathBuf) -> io::Result<RunFile> {
    let mut out = BufWriter::with_capacity(BUFFER_BYTES, File::create(&path)?);
    let run = RunFile(path);
    let mut bytes = Vec::new();
    for section in SECTIONS {
        for term in sorted(gathered, section) {
            let text = gathered.vocabulary.term(term.1);
            posting(gathered, section, term.1).encode(&gathered.lists.arena, &mut bytes);
            out.write_all(&[text.len() as u8])?;
            out.write_all(text)?;
            out.write_all(&(bytes.len() as u32).to_le_bytes())?;
            out.write_all(&bytes)?;
        }
        out.write_all(&[END])?;
    }
    out.flush()?;
    Ok(run)
}

/// Posting lists in the order of their terms, one section at a time.
pub(super) trait PostingRun {
    /// Goes to the first term of the next section.
    fn next_section(&mut self) -> io::Result<()>;
    /// The term, `None` behind the last one of the section.
    fn term(&self) -> Option<&[u8]>;
    /// The documents of the term, added to `out`; goes to the next term.
    fn take(&mut self, out: &mut DecodedPostings) -> io::Result<()>;
}

/// A run that is read from a file.
pub(super) struct FileRun {
    input: BufReader<File>,
    term: Vec<u8>,
    at_end: bool,
    bytes: Vec<u8>,
}

impl FileRun {
    pub(super) fn open(run: &RunFile) -> io::Result<Self> {
        Ok(Self {
            input: BufReader::with_capacity(BUFFER_BYTES, File::open(&run.0)?),
            term: Vec::new(),
            at_end: true,
            bytes: Vec::new(),
        })
    }

    fn read_term(&mut self) -> io::Result<()> {
        let mut length = [0];
        self.input.read_exact(&mut length)?;
        self.at_end = length[0] == END;
        if !self.at_end {
            self.term.resize(usize::from(length[0]), 0);
            self.input.read_exact(&mut self.term)?;
        }
        Ok(())
    }
}

impl PostingRun for FileRun {
    fn next_section(&mut self) -> io::Result<()> {
        self.read_term()
    }

    fn term(&self) -> Option<&[u8]> {
        (!self.at_end).then_some(&self.term)
    }

    fn take(&mut self, out: &mut DecodedPostings) -> io::Result<()> {
        let mut length = [0; 4];
        self.input.read_exact(&mut length)?;
        self.bytes.resize(u32::from_le_bytes(length) as usize, 0);
        self.input.read_exact(&mut self.bytes)?;
        out.decode(&self.bytes);
        self.read_term()
    }
}

/// A run that was never written to a file.
pub(super) struct MemoryRun<'g> {
    gathered: &'g PendingPostings,
    sections: std::slice::Iter<'static, Section>,
    section: Section,
    terms: Vec<SortedTerm>,
    at: usize,
    bytes: Vec<u8>,
}

impl<'g> MemoryRun<'g> {
    pub(super) fn new(gathered: &'g PendingPostings) -> Self {
        Self {
            gathered,
            sections: SECTIONS.iter(),
            section: Section::Text,
            terms: Vec::new(),
            at: 0,
            bytes: Vec::new(),
        }
    }
}

impl PostingRun for MemoryRun<'_> {
    fn next_section(&mut self) -> io::Result<()> {
        if let Some(&section) = self.sections.next() {
            self.section = section;
            self.terms = sorted(self.gathered, section);
            self.at = 0;
        }
        Ok(())
    }

    fn term(&self) -> Option<&[u8]> {
        let (_, id) = self.terms.get(self.at)?;
        Some(self.gathered.vocabulary.term(*id))
    }

    fn take(&mut self, out: &mut DecodedPostings) -> io::Result<()> {
        if let Some(&(_, id)) = self.terms.get(self.at) {
            let posting = posting(self.gathered, self.section, id);
            posting.encode(&self.gathered.lists.arena, &mut self.bytes);
            out.decode(&self.bytes);
            self.at += 1;
        }
        Ok(())
    }
}

/// A term with the start of its text, by which most comparisons end.
type SortedTerm = (u128, TermId);

fn posting(gathered: &PendingPostings, section: Section, id: TermId) -> PostingList {
    match section {
        Section::Text | Section::Exact => gathered.lists.postings[id as usize],
        Section::Surplus => gathered.lists.surplus[&id],
        Section::Title => gathered.lists.title[&id],
    }
}

/// The terms of a section, by their bytes.
fn sorted(gathered: &PendingPostings, section: Section) -> Vec<SortedTerm> {
    let vocabulary = &gathered.vocabulary;
    let dense = |namespace| {
        let ids = 0..vocabulary.len() as TermId;
        let known = gathered.lists.postings.len() as TermId;
        ids.filter(|&id| id < known && vocabulary.namespace(id) == namespace)
            .collect()
    };
    let sparse = |postings: &SparsePostings| -> Vec<TermId> { postings.keys().copied().collect() };
    let ids: Vec<TermId> = match section {
        Section::Text => dense(Namespace::Text),
        Section::Exact => dense(Namespace::Exact),
        Section::Surplus => sparse(&gathered.lists.surplus),
        Section::Title => sparse(&gathered.lists.title),
    };
    sort(vocabulary, ids)
}

fn sort(vocabulary: &Vocabulary, ids: Vec<TermId>) -> Vec<SortedTerm> {
    let mut terms: Vec<SortedTerm> = ids
        .into_iter()
        .map(|id| (prefix(vocabulary.term(id)), id))
        .collect();
    terms.sort_unstable_by(|a, b| {
        let text = |id| vocabulary.term(id);
        a.0.cmp(&b.0).then_with(|| text(a.1).cmp(text(b.1)))
    });
    terms
}

/// The first sixteen bytes, as a number that sorts like them.
fn prefix(term: &[u8]) -> u128 {
    let mut bytes = [0; 16];
    let length = term.len().min(16);
    bytes[..length].copy_from_slice(&term[..length]);
    u128::from_be_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use search_core::document::ExtractedDocument;

    use super::{DecodedPostings, FileRun, MemoryRun, PostingRun, SECTIONS};
    use crate::index::builder::SegmentBuilder;
    use crate::index::record::FileState;

    type Lists = Vec<(Vec<u8>, DecodedPostings)>;

    fn read(run: &mut dyn PostingRun) -> Vec<Lists> {
        let mut sections = Vec::new();
        for _ in SECTIONS {
            run.next_section().expect("the run reads");
            let mut lists = Lists::new();
            while let Some(term) = run.term().map(<[u8]>::to_vec) {
                let mut list = DecodedPostings::default();
                run.take(&mut list).expect("the run reads");
                lists.push((term, list));
            }
            sections.push(lists);
        }
        sections
    }

    #[test]
    fn a_file_gives_what_was_in_memory() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut builder = SegmentBuilder::new(folder.path());
        for number in 0..300 {
            let document = ExtractedDocument {
                key: format!("notes/{number}.md"),
                title: format!("Title of {number}"),
                headings: vec!["Some heading".to_owned()],
                tags: vec!["tag".to_owned()],
                body: format!(
                    "words and getWords{number} and words {}",
                    "again ".repeat(number % 7)
                ),
                ..ExtractedDocument::default()
            };
            builder.add(&document, FileState::default());
        }
        let memory = read(&mut MemoryRun::new(&builder.gathered));
        assert!(
            memory
                .iter()
                .all(|lists| !lists.is_empty() && lists.is_sorted_by_key(|(term, _)| term))
        );
        builder.spill().expect("the run is written");
        let file = read(&mut FileRun::open(&builder.runs[0]).expect("the run opens"));
        assert_eq!(memory, file);
        drop(builder);
        assert_eq!(
            std::fs::read_dir(folder.path()).expect("a folder").count(),
            0
        );
    }
}
