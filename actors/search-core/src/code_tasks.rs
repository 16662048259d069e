//! Queries about the code of repositories with the files that answer them, in the shape of the
//! semble benchmark (`repos.json`, `annotations/NAME.json`).

use serde::Deserialize;

/// A repository of the benchmark.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Repository {
    /// Its name: that of its annotations and of its checkout.
    pub name: String,
    /// The folder inside of it that is searched; empty: all of it.
    #[serde(default, deserialize_with = "or_empty")]
    pub benchmark_root: String,
}

/// What a query is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Category {
    /// How parts work together.
    Architecture,
    /// Behaviour, in words that the code need not have.
    Semantic,
    /// The name of a definition.
    Symbol,
}

impl Category {
    /// All of them, in the order of tables.
    pub const ALL: [Self; 3] = [Self::Architecture, Self::Semantic, Self::Symbol];

    /// For tables.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Architecture => "architecture",
            Self::Semantic => "semantic",
            Self::Symbol => "symbol",
        }
    }

    /// That of a query whose annotation names none, as the benchmark infers it.
    fn of(query: &str) -> Self {
        if !query.trim().contains(' ') {
            return Self::Symbol;
        }
        let asks_how = query.to_lowercase().starts_with("how ");
        if asks_how {
            Self::Architecture
        } else {
            Self::Semantic
        }
    }
}

/// A query and what answers it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeTask {
    /// What is typed.
    pub query: String,
    /// What it is about.
    pub category: Category,
    /// Paths of the files that answer it, from the searched folder or from the repository.
    targets: Vec<String>,
}

#[derive(Deserialize)]
struct Annotation {
    query: String,
    #[serde(default)]
    relevant: Vec<Target>,
    #[serde(default)]
    secondary: Vec<Target>,
    #[serde(default)]
    category: Option<Category>,
}

/// A file, or some lines of it.
#[derive(Deserialize)]
#[serde(untagged)]
enum Target {
    File(String),
    Lines { path: String },
}

fn or_empty<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// Reads `repos.json`.
///
/// # Errors
/// It has another shape.
pub fn repositories(json: &str) -> Result<Vec<Repository>, serde_json::Error> {
    serde_json::from_str(json)
}

/// Reads the annotations of one repository.
///
/// # Errors
/// They have another shape.
pub fn tasks(json: &str) -> Result<Vec<CodeTask>, serde_json::Error> {
    let annotations: Vec<Annotation> = serde_json::from_str(json)?;
    let task = |one: Annotation| {
        let targets = one.relevant.into_iter().chain(one.secondary);
        let mut targets: Vec<String> = targets
            .map(|(Target::File(path) | Target::Lines { path })| path)
            .collect();
        targets.sort();
        targets.dedup();
        CodeTask {
            category: one.category.unwrap_or_else(|| Category::of(&one.query)),
            query: one.query,
            targets,
        }
    };
    Ok(annotations.into_iter().map(task).collect())
}

impl CodeTask {
    /// The keys of the files that answer, of those that there are. `root` is the searched folder
    /// as the keys name it: empty where it is what was indexed. Targets without a file are left
    /// out.
    #[must_use]
    pub fn right(&self, root: &str, keys: &[String]) -> Vec<String> {
        let file_of = |target: &String| {
            let below = match root {
                "" => target.clone(),
                root => format!("{root}/{target}"),
            };
            let exact = [&below, target];
            let is_exact = exact.into_iter().find(|path| keys.contains(path)).cloned();
            is_exact.or_else(|| {
                let is_it = |key: &&String| is_end_of(key, target) || is_end_of(target, key);
                keys.iter().find(is_it).cloned()
            })
        };
        let mut right: Vec<String> = self.targets.iter().filter_map(file_of).collect();
        right.sort();
        right.dedup();
        right
    }

    /// How many files answer it by the annotations.
    #[must_use]
    pub const fn target_count(&self) -> usize {
        self.targets.len()
    }
}

/// Whether whole parts of a path are the end of another.
fn is_end_of(path: &str, end: &str) -> bool {
    path.strip_suffix(end)
        .is_some_and(|before| before.ends_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i16_repositories_are_read_with_and_without_a_folder() {
        let text = r#"[{"name": "a", "language": "go", "url": "u", "revision": "r"},
            {"name": "b", "benchmark_root": null}, {"name": "c", "benchmark_root": "src/c"}]"#;
        let found = repositories(text).expect("the shape of the benchmark");
        let roots: Vec<_> = found
            .iter()
            .map(|one| one.benchmark_root.as_str())
            .collect();
        assert_eq!(roots, ["", "", "src/c"]);
        assert!(repositories(r#"{"a": 1}"#).is_err());
    }

    #[test]
    fn i16_annotations_give_files_and_categories() {
        let text = r#"[
            {"query": "how it starts", "relevant": ["a.go"], "secondary": ["b.go", "a.go"]},
            {"query": "Engine", "relevant": [{"path": "gin.go", "start_line": 1, "end_line": 9}]},
            {"query": "radix tree", "relevant": [], "category": "architecture"},
            {"query": "radix tree", "relevant": []}]"#;
        let found = tasks(text).expect("the shape of the benchmark");
        let shown: Vec<_> = found
            .iter()
            .map(|one| (one.category.as_str(), one.targets.join(" ")))
            .collect();
        let expected = [
            ("architecture", "a.go b.go"),
            ("symbol", "gin.go"),
            ("architecture", ""),
            ("semantic", ""),
        ];
        assert_eq!(
            shown,
            expected.map(|(kind, files)| (kind, files.to_owned()))
        );
        assert!(tasks(r#"[{"query": "x", "category": "other"}]"#).is_err());
    }

    #[test]
    fn i16_files_are_told_apart_by_the_searched_folder() {
        let keys = [
            "src/lib/gin.go",
            "test/gin.go",
            "deep/in/tree.go",
            "xtree.go",
        ];
        let keys = keys.map(str::to_owned);
        let right = |targets: &[&str], root: &str| {
            let task = CodeTask {
                query: String::new(),
                category: Category::Symbol,
                targets: targets.iter().map(|&one| one.to_owned()).collect(),
            };
            task.right(root, &keys).join(" ")
        };
        assert_eq!(right(&["gin.go"], "test"), "test/gin.go");
        assert_eq!(right(&["src/lib/gin.go"], "test"), "src/lib/gin.go");
        assert_eq!(right(&["tree.go", "in/tree.go"], ""), "deep/in/tree.go");
        assert_eq!(right(&["nowhere.go", "ree.go"], ""), "");
        assert_eq!(right(&["x/src/lib/gin.go"], ""), "src/lib/gin.go");
    }
}
