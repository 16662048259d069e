//! The arguments of a benchmark: folders, options with a value, and flags.
#![allow(dead_code, reason = "not every benchmark uses every part")]

use std::path::{Path, PathBuf};

/// What follows the program's name, without the flag `cargo bench` adds.
pub(crate) struct Arguments {
    all: Vec<String>,
    /// Options that have a value behind them.
    valued: &'static [&'static str],
}

impl Arguments {
    /// Reads the arguments of this process.
    pub(crate) fn read(valued: &'static [&'static str]) -> Self {
        let all = std::env::args().skip(1);
        Self {
            all: all.filter(|argument| argument != "--bench").collect(),
            valued,
        }
    }

    /// The value behind `name`.
    pub(crate) fn option(&self, name: &str) -> Option<&str> {
        debug_assert!(self.valued.contains(&name), "{name} is not declared");
        let at = self.all.iter().position(|argument| argument == name)?;
        self.all.get(at + 1).map(String::as_str)
    }

    /// Whether `name` is given.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.all.iter().any(|argument| argument == name)
    }

    /// Everything that is no option and no option's value.
    pub(crate) fn folders(&self) -> Vec<PathBuf> {
        let mut folders = Vec::new();
        let mut is_value = false;
        for argument in &self.all {
            if !is_value && !argument.starts_with("--") {
                folders.push(PathBuf::from(argument));
            }
            is_value = self.valued.contains(&argument.as_str());
        }
        folders
    }

    /// The folder of `--keep`, or one that ends with `temporary`.
    pub(crate) fn index_folder(&self, temporary: &Path) -> PathBuf {
        let kept = self.option("--keep").map(PathBuf::from);
        kept.unwrap_or_else(|| temporary.join("index"))
    }
}
