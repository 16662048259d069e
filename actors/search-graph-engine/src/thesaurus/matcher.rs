//! Finding the concepts of a thesaurus in a text.

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use rustc_hash::FxHashMap;
use search_core::analysis::{fold, folded_line, words};

use super::ConceptId;
use super::parse::ThesaurusEntry;

/// Longest text that is looked at, in bytes.
const MAX_TEXT: usize = 4 << 20;

/// Longest pattern, in bytes; it is what [`folded_line`] cuts at.
const MAX_PATTERN: usize = 256;

/// A concept found in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Match {
    /// The concept's place in [`Thesaurus::entries`].
    pub entry: usize,
    /// Offset of the first byte in the text.
    pub start: usize,
    /// Offset behind the last byte.
    pub end: usize,
}

/// The concepts a person declared, ready to be found.
#[derive(Debug, Clone, Default)]
pub struct Thesaurus {
    entries: Vec<ThesaurusEntry>,
    ids: Vec<ConceptId>,
    places: FxHashMap<ConceptId, usize>,
    automaton: Option<AhoCorasick>,
    /// The entry of each pattern of the automaton.
    targets: Vec<u32>,
}

impl Thesaurus {
    /// Joins entries of the same name; a synonym that two concepts claim belongs to the first by
    /// name. Names belong to their own concept whatever others claim.
    #[must_use]
    pub fn new(declared: Vec<ThesaurusEntry>) -> Self {
        let mut thesaurus = Self::default();
        let mut declared: Vec<(String, ThesaurusEntry)> = declared
            .into_iter()
            .map(|entry| (folded_line(&entry.name), entry))
            .filter(|(line, _)| !line.is_empty())
            .collect();
        declared.sort_by(|a, b| a.0.cmp(&b.0).then_with(|| a.1.name.cmp(&b.1.name)));
        for (line, entry) in declared {
            let id = ConceptId::from_normalised(&line);
            match thesaurus.places.get(&id) {
                Some(&place) => thesaurus.entries[place].synonyms.extend(entry.synonyms),
                None => {
                    thesaurus.places.insert(id, thesaurus.entries.len());
                    thesaurus.ids.push(id);
                    thesaurus.entries.push(entry);
                }
            }
        }
        thesaurus.build();
        thesaurus
    }

    fn build(&mut self) {
        let mut seen: FxHashMap<String, u32> = FxHashMap::default();
        let mut patterns = Vec::new();
        let names = self.entries.iter().enumerate().map(|(at, e)| (at, &e.name));
        let synonyms = self
            .entries
            .iter()
            .enumerate()
            .flat_map(|(at, entry)| entry.synonyms.iter().map(move |synonym| (at, synonym)));
        for (entry, words) in names.chain(synonyms) {
            let line = folded_line(words);
            if line.is_empty() || line.len() >= MAX_PATTERN || seen.contains_key(&line) {
                continue;
            }
            patterns.push(format!(" {line} "));
            self.targets.push(entry as u32);
            seen.insert(line, entry as u32);
        }
        if !patterns.is_empty() {
            // A machine that cannot be built for its size finds nothing; the bounds keep that away.
            self.automaton = AhoCorasick::builder()
                .match_kind(MatchKind::LeftmostLongest)
                .kind(Some(AhoCorasickKind::ContiguousNFA))
                .build(&patterns)
                .ok();
        }
    }

    /// The concepts, in the order of their normalised names.
    #[must_use]
    pub fn entries(&self) -> &[ThesaurusEntry] {
        &self.entries
    }

    /// The identity of an entry.
    ///
    /// # Panics
    /// When there is no such entry.
    #[must_use]
    pub fn id(&self, entry: usize) -> ConceptId {
        self.ids[entry]
    }

    /// The entry of an identity.
    #[must_use]
    pub fn entry(&self, id: ConceptId) -> Option<&ThesaurusEntry> {
        self.places.get(&id).map(|&place| &self.entries[place])
    }

    /// Whether nothing was declared.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The concepts in a text, leftmost longest, in order, without overlaps.
    #[must_use]
    pub fn find(&self, text: &str) -> Vec<Match> {
        let Some(automaton) = &self.automaton else {
            return Vec::new();
        };
        let text = &text[..text.floor_char_boundary(MAX_TEXT)];
        let line = Line::new(text);
        let mut found = Vec::new();
        let mut at = 0;
        while let Some(next) = next_match(automaton, &line.folded, at) {
            found.push(Match {
                entry: self.targets[next.pattern().as_usize()] as usize,
                start: line.word_starting(next.start() + 1).0,
                end: line.word_ending(next.end() - 1).1,
            });
            // The space behind a match stands before the next word too.
            at = next.end() - 1;
        }
        found
    }

    /// The text with each concept found written by its name.
    #[must_use]
    pub fn replace(&self, text: &str) -> String {
        self.replace_with(text, |entry| entry.name.clone())
    }

    /// The text with each concept found written as `write` says; for links.
    #[must_use]
    pub fn replace_with(&self, text: &str, write: impl Fn(&ThesaurusEntry) -> String) -> String {
        let mut out = String::with_capacity(text.len());
        let mut at = 0;
        for found in self.find(text) {
            out.push_str(&text[at..found.start]);
            out.push_str(&write(&self.entries[found.entry]));
            at = found.end;
        }
        out.push_str(&text[at..]);
        out
    }

    /// The paragraphs of a text that hold a concept, with where they begin (a byte offset).
    #[must_use]
    pub fn extract<'t>(&self, text: &'t str) -> Vec<(usize, &'t str)> {
        let found = self.find(text);
        let mut paragraphs = Vec::new();
        let mut start = 0;
        for part in text.split("\n\n") {
            let range = start..start + part.len();
            let first = found.partition_point(|m| m.start < range.start);
            if found.get(first).is_some_and(|m| m.start < range.end) {
                paragraphs.push((start, part));
            }
            start = range.end + 2;
        }
        paragraphs
    }

    /// The concepts of a query and all words declared for each, for retrieval beside the query's
    /// own words. In the order of the text, each concept once.
    #[must_use]
    pub fn expand(&self, query: &str) -> Vec<(ConceptId, Vec<&str>)> {
        let mut expanded: Vec<(ConceptId, Vec<&str>)> = Vec::new();
        for found in self.find(query) {
            let id = self.ids[found.entry];
            if expanded.iter().all(|(known, _)| *known != id) {
                let entry = &self.entries[found.entry];
                let synonyms = entry.synonyms.iter().map(String::as_str);
                let all = std::iter::once(entry.name.as_str()).chain(synonyms);
                expanded.push((id, all.collect()));
            }
        }
        expanded
    }
}

fn next_match(automaton: &AhoCorasick, line: &str, at: usize) -> Option<aho_corasick::Match> {
    automaton.find(aho_corasick::Input::new(line).range(at..))
}

/// The folded words of a text with one space around each, and where each stands in the text.
struct Line {
    folded: String,
    /// Start in `folded`, end in `folded`, start in the text, end in the text.
    words: Vec<[usize; 4]>,
}

impl Line {
    fn new(text: &str) -> Self {
        let mut line = Self {
            folded: String::with_capacity(text.len() + 2),
            words: Vec::new(),
        };
        line.folded.push(' ');
        for word in words(text) {
            let start = line.folded.len();
            fold(word.text, &mut line.folded);
            line.words
                .push([start, line.folded.len(), word.start, word.end()]);
            line.folded.push(' ');
        }
        line
    }

    /// Where the word stands in the text that begins at `at` in the line.
    fn word_starting(&self, at: usize) -> (usize, usize) {
        let word = self.words[self.words.partition_point(|word| word[0] < at)];
        (word[2], word[3])
    }

    /// Where the word stands in the text that ends at `at` in the line.
    fn word_ending(&self, at: usize) -> (usize, usize) {
        let word = self.words[self.words.partition_point(|word| word[1] < at)];
        (word[2], word[3])
    }
}
