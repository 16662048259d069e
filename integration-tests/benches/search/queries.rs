//! A repeatable query mix from the words of the folder itself: single words, pairs, running text,
//! questions, and common words with a rare one.

use std::path::{Path, PathBuf};

const COMMON: [&str; 14] = [
    "memory",
    "device",
    "driver",
    "lock",
    "page",
    "interrupt",
    "network",
    "file",
    "buffer",
    "error",
    "kernel",
    "register",
    "clock",
    "power",
];

/// A small generator of our own (splitmix64): the mix must be the same on every machine and
/// version.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % limit.max(1) as u64) as usize
    }
}

/// `count` queries made from texts below `folder`; the same folder gives the same queries.
pub(crate) fn make(folder: &Path, count: usize) -> Vec<String> {
    let mut files = Vec::new();
    collect(folder, &mut files);
    files.sort();
    assert!(
        !files.is_empty(),
        "{} holds no text files to make queries from",
        folder.display()
    );
    let mut random = Random::new(7);
    let mut queries = Vec::with_capacity(count);
    let mut tries = 0;
    while queries.len() < count {
        tries += 1;
        assert!(
            tries < count * 50,
            "{} holds too little text",
            folder.display()
        );
        let words = words_of(&files[random.below(files.len())]);
        if words.len() >= 20 {
            let shape = queries.len() % 5;
            queries.push(query(shape, &words, &mut random));
        }
    }
    queries
}

fn query(shape: usize, words: &[String], random: &mut Random) -> String {
    let mut pick = || words[random.below(words.len())].clone();
    match shape {
        0 => pick(),
        1 => format!("{} {}", pick(), pick()),
        2 => {
            let at = random.below(words.len() - 4);
            words[at..at + 4].join(" ")
        }
        3 => {
            let three = format!("how to {} {} {} in the ", pick(), pick(), pick());
            three + COMMON[random.below(COMMON.len())]
        }
        _ => {
            let rare = pick();
            format!("{} {rare}", COMMON[random.below(COMMON.len())])
        }
    }
}

fn words_of(path: &Path) -> Vec<String> {
    let bytes = std::fs::read(path).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(20_000)]).into_owned();
    text.split(|c: char| !c.is_ascii_alphabetic())
        .filter(|word| (4..=14).contains(&word.len()))
        .map(str::to_owned)
        .collect()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => collect(&path, files),
            Ok(kind) if kind.is_file() => {
                let text = ["c", "h", "rst", "txt", "md", "html", "rs", "py"];
                if path
                    .extension()
                    .and_then(|e| e.to_str())
                    .is_some_and(|e| text.contains(&e))
                {
                    files.push(path);
                }
            }
            _ => {}
        }
    }
}
