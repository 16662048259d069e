//! What the matches of a search have in common: how many there are of each type of file, tag,
//! folder, and of what files are for, to narrow it down by.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::file_roles::FileRole;

/// Most values of one facet; the most frequent ones are told.
pub const MAX_VALUES: usize = 20;
/// Longest extension, in bytes; what is longer is part of a name.
const MAX_EXTENSION: usize = 10;

/// One value, and how many of the matches have it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FacetValue {
    /// The value as a filter of the query takes it.
    pub value: String,
    /// Matches with it.
    pub count: u64,
}

/// What all matches of a search have in common, most frequent first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Facets {
    /// Extensions of file names without their dot, lower case: narrowed down by `path:*.rs`.
    pub types: Vec<FacetValue>,
    /// Tags: narrowed down by `tag:"web server"`.
    pub tags: Vec<FacetValue>,
    /// The folders, with a slash at their end, into which the lowest folder that holds all matches
    /// splits: narrowed down by `path:"docs/"`.
    pub folders: Vec<FacetValue>,
    /// What files are for (`main`, `docs`, `test`, …): narrowed down by `is:test`.
    #[serde(default)]
    pub roles: Vec<FacetValue>,
}

/// The extension of a path's file name in lower case; empty where it has none.
#[must_use]
pub fn extension(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    let extension = match name.rsplit_once('.') {
        Some((stem, extension)) if !stem.is_empty() => extension,
        _ => "",
    };
    let is_one = extension.len() <= MAX_EXTENSION
        && extension.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if is_one {
        extension.to_ascii_lowercase()
    } else {
        String::new()
    }
}

/// The folder of a path without a slash at its end; empty at the top.
#[must_use]
pub fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// Counts of values, gathered over the segments of all sources.
#[derive(Debug, Clone, Default)]
pub struct FacetCounts {
    types: BTreeMap<String, u64>,
    tags: BTreeMap<String, u64>,
    folders: BTreeMap<String, u64>,
    roles: BTreeMap<String, u64>,
}

impl FacetCounts {
    /// Adds matches with an extension.
    pub fn add_type(&mut self, extension: &str, count: u64) {
        add(&mut self.types, extension, count);
    }

    /// Adds matches with a tag.
    pub fn add_tag(&mut self, tag: &str, count: u64) {
        add(&mut self.tags, tag, count);
    }

    /// Adds matches that lie in a folder itself.
    pub fn add_folder(&mut self, folder: &str, count: u64) {
        add(&mut self.folders, folder, count);
    }

    /// Adds matches that are for something.
    pub fn add_role(&mut self, role: FileRole, count: u64) {
        add(&mut self.roles, role.as_str(), count);
    }

    /// The most frequent values of each.
    #[must_use]
    pub fn finish(mut self) -> Facets {
        self.types.remove("");
        Facets {
            types: most_frequent(self.types),
            tags: most_frequent(self.tags),
            folders: most_frequent(split(&self.folders)),
            roles: most_frequent(self.roles),
        }
    }
}

fn add(counts: &mut BTreeMap<String, u64>, value: &str, count: u64) {
    if count == 0 {
        return;
    }
    match counts.get_mut(value) {
        Some(known) => *known += count,
        None => drop(counts.insert(value.to_owned(), count)),
    }
}

fn most_frequent(counts: BTreeMap<String, u64>) -> Vec<FacetValue> {
    let values = counts.into_iter();
    let mut values: Vec<FacetValue> = values
        .map(|(value, count)| FacetValue { value, count })
        .collect();
    // Stable: equal ones stay in the order of their names.
    values.sort_by_key(|one| std::cmp::Reverse(one.count));
    values.truncate(MAX_VALUES);
    values
}

/// The folders just below the lowest one that holds all.
fn split(folders: &BTreeMap<String, u64>) -> BTreeMap<String, u64> {
    let mut paths = folders.keys();
    let mut common: Vec<&str> = paths
        .next()
        .map_or_else(Vec::new, |path| path_prefixes(path));
    for path in paths {
        let shared = path_prefixes(path).into_iter().zip(&common);
        let shared = shared.take_while(|(part, known)| part == *known).count();
        common.truncate(shared);
    }
    let mut below = BTreeMap::new();
    for (path, count) in folders {
        let parts = path_prefixes(path);
        if parts.len() > common.len() {
            let folder = parts[..=common.len()].join("/") + "/";
            *below.entry(folder).or_default() += count;
        }
    }
    below
}

fn path_prefixes(path: &str) -> Vec<&str> {
    path.split('/').filter(|part| !part.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::{FacetCounts, Facets, MAX_VALUES, extension, folder};

    fn values(facet: &[super::FacetValue]) -> Vec<(&str, u64)> {
        let values = facet.iter();
        values.map(|one| (one.value.as_str(), one.count)).collect()
    }

    #[test]
    fn extensions_and_folders_of_paths() {
        for (path, wanted) in [
            ("docs/a.md", ("md", "docs")),
            ("a/b/c.tar.GZ", ("gz", "a/b")),
            (".env", ("", "")),
            ("src/.gitignore", ("", "src")),
            ("Makefile", ("", "")),
            ("a.b/c", ("", "a.b")),
            ("v1.2 draft", ("", "")),
            ("x.averylongextension", ("", "")),
            ("x.", ("", "")),
        ] {
            assert_eq!((extension(path).as_str(), folder(path)), wanted, "{path}");
        }
    }

    #[test]
    fn folders_split_below_the_one_that_holds_all() {
        let mut counts = FacetCounts::default();
        counts.add_folder("src/net/tcp", 2);
        counts.add_folder("src/net", 5);
        counts.add_folder("src/net/udp/old", 1);
        counts.add_folder("src/net/tcp/x", 1);
        let facets = counts.finish();
        let wanted = [("src/net/tcp/", 3), ("src/net/udp/", 1)];
        assert_eq!(values(&facets.folders), wanted);

        let mut counts = FacetCounts::default();
        counts.add_folder("", 1);
        counts.add_folder("docs", 1);
        counts.add_folder("src/a", 2);
        let facets = counts.finish();
        assert_eq!(values(&facets.folders), [("src/", 2), ("docs/", 1)]);
    }

    #[test]
    fn the_most_frequent_values_are_told_and_what_has_none_is_not() {
        let mut counts = FacetCounts::default();
        for number in 0..30 {
            counts.add_type(&format!("t{number:02}"), 1 + number % 3);
        }
        counts.add_type("", 100);
        counts.add_type("none", 0);
        counts.add_tag("b", 2);
        counts.add_tag("a", 2);
        let facets = counts.finish();
        assert_eq!(facets.types.len(), MAX_VALUES);
        assert_eq!(values(&facets.types)[0], ("t02", 3));
        assert_eq!(values(&facets.tags), [("a", 2), ("b", 2)]);
        assert_eq!(FacetCounts::default().finish(), Facets::default());
    }
}
