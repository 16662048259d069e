//! A folder of any number of documents, of real text: the files of some folders, cut into sections.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use search_core::role::FileFilter;
use search_engine::extract::extract;
use search_engine::walk::{RootDirectory, WalkItem, WalkOptions};

use crate::random::Random;

/// Bytes of a section, about: it ends at the next line.
const SECTION: usize = 1_500;

/// Sections below this are left out: a rest of a file says little.
const LEAST: usize = 200;

/// Files of one folder.
const SHARD: usize = 1_000;

/// Words of documents that queries are drawn from: one document of so many.
const SAMPLED: usize = 97;

/// What queries are made of.
#[derive(Debug, Default)]
pub(crate) struct Sample {
    /// Lines of words as they stand in the text.
    pub(crate) lines: Vec<Vec<String>>,
}

/// The key of the document of this number.
pub(crate) fn key(number: usize) -> String {
    format!("d{:04}/s{number:07}.md", number / SHARD)
}

/// Writes `wanted` documents below `into`; says how many there were texts for, and gives what
/// queries are drawn from.
pub(crate) fn write(folders: &[PathBuf], wanted: usize, into: &Path) -> (usize, Sample) {
    let mut files = files(folders);
    Random::new(1).shuffle(&mut files);
    let (mut number, mut sample) = (0, Sample::default());
    for (folder, key) in &files {
        for section in sections(&folders[*folder], key) {
            if number == wanted {
                return (number, sample);
            }
            put(into, number, &section);
            if number.is_multiple_of(SAMPLED) {
                sample.add(&section);
            }
            number += 1;
        }
    }
    (number, sample)
}

/// Writes a document.
pub(crate) fn put(into: &Path, number: usize, text: &str) {
    let path = into.join(key(number));
    if number.is_multiple_of(SHARD) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
    }
    fs::write(path, text).unwrap();
}

/// All files that can be read, by their folder.
fn files(folders: &[PathBuf]) -> Vec<(usize, String)> {
    let mut files = BTreeSet::new();
    for (number, folder) in folders.iter().enumerate() {
        let root = RootDirectory::open(folder).unwrap();
        let options = WalkOptions::new(FileFilter::default());
        for item in root.walk(&options) {
            if let WalkItem::File(facts) = item {
                files.insert((number, facts.key));
            }
        }
    }
    files.into_iter().collect()
}

/// The text of a file in sections, each with a title of its own: its first words.
fn sections(folder: &Path, key: &str) -> Vec<String> {
    let bytes = fs::read(folder.join(key)).unwrap_or_default();
    let Ok(document) = extract(key, bytes, 0) else {
        return Vec::new();
    };
    let (mut sections, mut section) = (Vec::new(), String::new());
    for line in document.body.lines() {
        section.push_str(line);
        section.push('\n');
        if section.len() >= SECTION {
            sections.push(titled(&document.title, &section));
            section.clear();
        }
    }
    if section.len() >= LEAST {
        sections.push(titled(&document.title, &section));
    }
    sections
}

fn titled(title: &str, section: &str) -> String {
    let words: Vec<&str> = section.split_whitespace().take(4).collect();
    format!("# {title}: {}\n\n{section}", words.join(" "))
}

impl Sample {
    fn add(&mut self, section: &str) {
        let is_other = |c: char| !c.is_ascii_alphabetic() && c != ' ';
        let lines = section.lines().skip(1);
        // What stands between signs is one phrase.
        let runs = lines.flat_map(|line| line.split(is_other));
        let words = |run: &str| run.split_whitespace().map(str::to_owned).collect();
        let long = runs
            .map(words)
            .filter(|words: &Vec<String>| words.len() >= 6);
        self.lines.extend(long.take(2));
    }

    /// Keeps it for the processes that measure.
    pub(crate) fn save(&self, path: &Path) {
        let lines: Vec<String> = self.lines.iter().map(|words| words.join(" ")).collect();
        fs::write(path, lines.join("\n")).unwrap();
    }

    pub(crate) fn read(path: &Path) -> Self {
        let text = fs::read_to_string(path).unwrap();
        let words = |line: &str| line.split(' ').map(str::to_owned).collect();
        Self {
            lines: text.lines().map(words).collect(),
        }
    }
}
