//! Queries about the code of repositories with the files that answer them, in the shape of the
//! semble benchmark (`repos.json`, `annotations/NAME.json`).

use serde::Deserialize;

/// A repository of the benchmark.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Repository {
    /// Its name: that of its annotations and of its checkout.
    pub(crate) name: String,
    /// The folder inside of it that is searched; empty: all of it.
    #[serde(default, deserialize_with = "or_empty")]
    pub(crate) benchmark_root: String,
}

/// What a query is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Category {
    /// How parts work together.
    Architecture,
    /// Behaviour, in words that the code need not have.
    Semantic,
    /// The name of a definition.
    Symbol,
}

impl Category {
    /// All of them, in the order of tables.
    pub(crate) const ALL: [Self; 3] = [Self::Architecture, Self::Semantic, Self::Symbol];

    /// For tables.
    #[must_use]
    pub(crate) const fn as_str(self) -> &'static str {
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
pub(crate) struct CodeTask {
    /// What is typed.
    pub(crate) query: String,
    /// What it is about.
    pub(crate) category: Category,
    /// Paths of the files that answer it, from the searched folder or from the repository.
    pub(crate) targets: Vec<String>,
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
pub(crate) fn repositories(json: &str) -> Result<Vec<Repository>, serde_json::Error> {
    serde_json::from_str(json)
}

/// Reads the annotations of one repository.
///
/// # Errors
/// They have another shape.
pub(crate) fn tasks(json: &str) -> Result<Vec<CodeTask>, serde_json::Error> {
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
    pub(crate) fn right(&self, root: &str, keys: &[String]) -> Vec<String> {
        let file_of = |target: &String| {
            let below = match root {
                "" => target.clone(),
                root => format!("{root}/{target}"),
            };
            let exact = [&below, target];
            let is_exact = exact.into_iter().find(|path| keys.contains(path)).cloned();
            is_exact.or_else(|| {
                let is_it = |key: &&String| is_end_of(key, target) || is_end_of(target, key);
                // Of several the one that has most of the path.
                keys.iter()
                    .filter(is_it)
                    .max_by_key(|key| key.len())
                    .cloned()
            })
        };
        let mut right: Vec<String> = self.targets.iter().filter_map(file_of).collect();
        right.sort();
        right.dedup();
        right
    }
}

/// Whether whole parts of a path are the end of another.
fn is_end_of(path: &str, end: &str) -> bool {
    path.strip_suffix(end)
        .is_some_and(|before| before.ends_with('/'))
}
