//! Every Rust file parsed once, and what the rules need of it; the trees themselves are dropped.

use std::collections::BTreeMap;

use anyhow::{Result, anyhow};

use super::module_source::ModuleSource;
use super::names::{self, NameDefinition};
use super::tree::FileTree;

/// What the rules need of one file.
#[derive(Debug)]
pub(super) struct SourceSyntax {
    /// Its items, imports and paths.
    pub(super) source: ModuleSource,
    /// The names that it defines.
    pub(super) names: Vec<NameDefinition>,
}

/// The checkout's Rust files by their path.
#[derive(Debug, Default)]
pub(super) struct Syntax(BTreeMap<String, Result<SourceSyntax>>);

impl Syntax {
    /// Parses every Rust file, on two threads: it is most of what the rules cost.
    pub(super) fn read(tree: &FileTree) -> Self {
        let rust: Vec<(&str, &str)> = tree
            .texts()
            .filter(|(path, _)| path.ends_with(".rs"))
            .collect();
        let (first, second) = rust.split_at(rust.len() / 2);
        let parse = |files: &[(&str, &str)]| -> Vec<(String, Result<SourceSyntax>)> {
            let parsed = files
                .iter()
                .map(|(path, text)| ((*path).to_owned(), parse(path, text)));
            parsed.collect()
        };
        std::thread::scope(|scope| {
            let other = scope.spawn(|| parse(second));
            let mut files: BTreeMap<_, _> = parse(first).into_iter().collect();
            match other.join() {
                Ok(second) => files.extend(second),
                Err(panic) => std::panic::resume_unwind(panic),
            }
            Self(files)
        })
    }

    /// All files that could be parsed.
    pub(super) fn files(&self) -> impl Iterator<Item = (&str, &SourceSyntax)> + Clone {
        self.0
            .iter()
            .filter_map(|(path, file)| Some((path.as_str(), file.as_ref().ok()?)))
    }

    /// One file.
    ///
    /// # Errors
    /// When it is not there or cannot be parsed.
    pub(super) fn file(&self, path: &str) -> Result<&SourceSyntax> {
        match self.0.get(path) {
            Some(Ok(file)) => Ok(file),
            Some(Err(error)) => Err(anyhow!("{error:#}")),
            None => Err(anyhow!("{path} is declared as a module and is not there")),
        }
    }

    /// Whether the file is there.
    pub(super) fn holds(&self, path: &str) -> bool {
        self.0.contains_key(path)
    }
}

fn parse(path: &str, text: &str) -> Result<SourceSyntax> {
    let parsed = syn::parse_file(text)
        .map_err(|error| anyhow!("{path}:{}: {error}", error.span().start().line))?;
    Ok(SourceSyntax {
        source: ModuleSource::read(&parsed.items),
        names: names::defined(&parsed),
    })
}
