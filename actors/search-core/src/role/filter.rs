//! Which files of a folder are meant: the `glob` parameter of a `LocalFiles` haystack.

use std::fmt;
use std::path::Path;

use globset::{Candidate, GlobSet, GlobSetBuilder};

use super::filter_error::FilterError;
use super::filter_pattern::{FilterPattern, split};

/// A list of patterns between commas, compiled.
///
/// A path is meant when it matches a pattern (any path, when there are only patterns with `!`) and
/// no pattern with `!`; the order of the patterns does not count.
///
/// - `*` stays within a folder, `**` crosses folders.
/// - `?`, `[a-z]` and `[!a-z]` are one ASCII character (one byte, as in ripgrep), `{md,txt}`
///   alternatives, `\` takes the next character as it is.
/// - A pattern without `/` is matched against the base name, in any folder.
/// - A pattern that ends in `/` means everything below folders of that name.
/// - Upper and lower case differ.
#[derive(Clone)]
pub struct FileFilter {
    text: String,
    included: GlobSet,
    excluded: GlobSet,
    /// Those of `excluded` that mean everything below folders: they end in `/**`.
    excluded_trees: GlobSet,
    only_excludes: bool,
}

impl FileFilter {
    /// Compiles a list such as `*.md, docs/**, !target/`.
    ///
    /// # Errors
    /// The first pattern that is wrong: empty, absolute, with `..`, unbalanced, or more than the
    /// bounds that keep compiling fast (attack case S08).
    pub fn parse(text: &str) -> Result<Self, FilterError> {
        let patterns = split(text)?;
        let mut included = GlobSetBuilder::new();
        let mut excluded = GlobSetBuilder::new();
        let mut trees = GlobSetBuilder::new();
        for pattern in &patterns {
            let full = pattern.full();
            let glob = pattern.compile(&full)?;
            if !pattern.excludes {
                included.add(glob);
                continue;
            }
            if full.ends_with("/**") {
                trees.add(glob.clone());
            }
            excluded.add(glob);
        }
        let build = |builder: GlobSetBuilder| {
            let error = FilterError::new(0..text.len(), "the patterns are too complex".to_owned());
            builder.build().map_err(|_| error)
        };
        Ok(Self {
            text: text.to_owned(),
            included: build(included)?,
            excluded: build(excluded)?,
            excluded_trees: build(trees)?,
            only_excludes: patterns
                .iter()
                .all(|FilterPattern { excludes, .. }| *excludes),
        })
    }

    /// Whether the file is meant; `path` is relative to the haystack's folder.
    pub fn matches(&self, path: &Path) -> bool {
        let candidate = Candidate::new(path);
        (self.only_excludes || self.included.is_match_candidate(&candidate))
            && !self.excluded.is_match_candidate(&candidate)
    }

    /// Whether nothing below the folder can be meant, so that it need not be walked; `path` is
    /// relative to the haystack's folder.
    pub fn skips_directory(&self, path: &Path) -> bool {
        // What of `/**` matches one file matches all: its end is any text.
        self.excluded_trees.is_match(path.join("file"))
    }

    /// The patterns as they were written; empty when every file is meant.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl Default for FileFilter {
    /// Every file.
    fn default() -> Self {
        Self {
            text: String::new(),
            included: GlobSet::empty(),
            excluded: GlobSet::empty(),
            excluded_trees: GlobSet::empty(),
            only_excludes: true,
        }
    }
}

impl fmt::Debug for FileFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FileFilter").field(&self.text).finish()
    }
}

impl PartialEq for FileFilter {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for FileFilter {}
