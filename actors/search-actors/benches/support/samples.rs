//! Queries whose right answers a tree of files gives by itself, for measuring without labels.
//!
//! Two sorts: identifiers that stand in a few files (right is a file that holds them whole), and
//! names that a few files have, as the stem of the file or as the title of the page (right is such
//! a file). They are drawn by a hash of their letters, so that the same tree and seed give the same
//! queries, and a changed file changes few of them.

use std::hash::Hasher;

use rustc_hash::{FxHashMap, FxHasher};

use search_core::analysis::{fold, folded_line, words};
use search_core::names::stem;

/// An identifier or a name that more documents have than this says too little about any of them.
pub(crate) const MAX_HOLDERS: usize = 3;

/// Shortest identifier, in bytes.
const MIN_IDENTIFIER: usize = 6;

/// Longest identifier, in bytes: what is longer is a hash or encoded data.
const MAX_IDENTIFIER: usize = 40;

/// Shortest name, in bytes.
const MIN_NAME: usize = 3;

/// Bytes of a part, on average, at least.
const MIN_PART: usize = 3;

/// Titles of more words are sentences.
const MAX_TITLE_WORDS: usize = 8;

/// A query and its right answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sample {
    /// What is typed.
    pub(crate) query: String,
    /// The documents of which one has to be first, by the ids they were added with.
    pub(crate) right: Vec<String>,
}

/// The queries drawn from a tree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Samples {
    /// Identifiers, each in [`MAX_HOLDERS`] documents at most.
    pub(crate) identifiers: Vec<Sample>,
    /// Names, each of [`MAX_HOLDERS`] documents at most; half of them titles where there are
    /// enough.
    pub(crate) names: Vec<Sample>,
}

/// Reads documents and draws queries from them.
#[derive(Debug, Default)]
pub(crate) struct Sampler {
    ids: Vec<String>,
    groups: Vec<usize>,
    identifiers: FxHashMap<String, Sighting>,
    stems: FxHashMap<String, Sighting>,
    titles: FxHashMap<String, Sighting>,
}

/// Where something was seen.
#[derive(Debug)]
struct Sighting {
    /// As it was written first.
    surface: String,
    /// Documents by number, at most one more than [`MAX_HOLDERS`].
    holders: Vec<u32>,
}

impl Sampler {
    /// Reads a document. Queries are drawn evenly from the groups, which are sources; how many
    /// documents hold something is counted over all of them.
    pub(crate) fn add(&mut self, group: usize, id: &str, title: &str, body: &str) {
        let key = id.split_once('/').map_or(id, |(_, key)| key);
        let number = self.ids.len() as u32;
        self.ids.push(id.to_owned());
        self.groups.push(group);
        for text in [key, title, body] {
            for word in words(text) {
                if is_identifier(word.text) {
                    let mut folded = String::new();
                    fold(word.text, &mut folded);
                    see(&mut self.identifiers, folded, word.text, number);
                }
            }
        }
        let name = stem(key);
        if name.len() >= MIN_NAME && name.contains(char::is_alphabetic) {
            see(&mut self.stems, name.to_lowercase(), name, number);
        }
        let line = folded_line(title);
        let count = line.split(' ').count();
        if line.len() >= MIN_NAME && count <= MAX_TITLE_WORDS && line != folded_line(name) {
            see(&mut self.titles, line, title.trim(), number);
        }
    }

    /// Draws as many queries.
    #[must_use]
    pub(crate) fn draw(&self, seed: u64, identifiers: usize, names: usize) -> Samples {
        let titles = self.draw_from(&self.titles, seed, names / 2);
        let mut drawn = self.draw_from(&self.stems, seed, names - titles.len());
        drawn.extend(titles);
        Samples {
            identifiers: self.draw_from(&self.identifiers, seed, identifiers),
            names: drawn,
        }
    }

    fn draw_from(
        &self,
        from: &FxHashMap<String, Sighting>,
        seed: u64,
        count: usize,
    ) -> Vec<Sample> {
        let groups = self.groups.iter().max().map_or(0, |most| most + 1);
        let mut by_group: Vec<Vec<(u64, &str, &Sighting)>> = vec![Vec::new(); groups];
        for (folded, seen) in from {
            if seen.holders.len() <= MAX_HOLDERS {
                let group = self.groups[seen.holders[0] as usize];
                by_group[group].push((hash(seed, folded), folded, seen));
            }
        }
        let mut drawn = Vec::new();
        for (group, list) in by_group.iter_mut().enumerate() {
            list.sort_unstable_by_key(|&(hash, folded, _)| (hash, folded));
            // What does not divide evenly falls to the last groups.
            let share = (count - drawn.len()) / (groups - group);
            drawn.extend(list.iter().take(share).map(|(_, _, seen)| Sample {
                query: seen.surface.clone(),
                right: self.ids_of(&seen.holders),
            }));
        }
        drawn
    }

    fn ids_of(&self, holders: &[u32]) -> Vec<String> {
        let ids = holders.iter();
        ids.map(|&number| self.ids[number as usize].clone())
            .collect()
    }
}

fn see(seen: &mut FxHashMap<String, Sighting>, folded: String, surface: &str, number: u32) {
    let sighting = seen.entry(folded).or_insert_with(|| Sighting {
        surface: surface.to_owned(),
        holders: Vec::new(),
    });
    if sighting.holders.last() != Some(&number) && sighting.holders.len() <= MAX_HOLDERS {
        sighting.holders.push(number);
    }
}

/// Whether a word is written like a name in a program: in `camelCase` or `snake_case`, of parts
/// that may be words: encoded data changes case and digits far more often.
pub(crate) fn is_identifier(word: &str) -> bool {
    let letters = word.bytes().filter(u8::is_ascii_alphabetic).count();
    let bytes = word.as_bytes();
    let has_seam = bytes.windows(2).any(|pair| {
        pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase()
            || pair[0].is_ascii_alphanumeric() && pair[1] == b'_'
    });
    (MIN_IDENTIFIER..=MAX_IDENTIFIER).contains(&word.len())
        && has_seam
        && !word.ends_with('_')
        && letters * 4 >= word.len() * 3
        && word.len() >= MIN_PART * (1 + seams(word))
        && (is_upper(word) || capital_runs(word) < 2)
}

/// How often a word goes on with another part: after an underscore, with a capital, with a digit.
fn seams(word: &str) -> usize {
    let pairs = word.as_bytes().windows(2);
    let is_seam = |pair: &&[u8]| match (pair[0], pair[1]) {
        (b'_', _) => true,
        (_, b'_') => false,
        (before, behind) => {
            before.is_ascii_digit() != behind.is_ascii_digit()
                || before.is_ascii_uppercase() != behind.is_ascii_uppercase()
        }
    };
    let changes = pairs.clone().filter(is_seam).count();
    // `aB` and `Bc` are one seam in `aBc`.
    let capitals =
        pairs.filter(|pair| pair[0].is_ascii_uppercase() && pair[1].is_ascii_lowercase());
    changes - capitals.count()
}

fn is_upper(word: &str) -> bool {
    !word.contains(|c: char| c.is_ascii_lowercase())
}

/// How often several capitals stand together.
fn capital_runs(word: &str) -> usize {
    let runs = word.split(|c: char| !c.is_ascii_uppercase());
    runs.filter(|run| run.len() > 1).count()
}

fn hash(seed: u64, text: &str) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write_u64(seed);
    hasher.write(text.as_bytes());
    hasher.finish()
}
