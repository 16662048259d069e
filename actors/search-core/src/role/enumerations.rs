//! The names a role file may choose from.

use config_core::Choices;
use serde::Serialize;

/// How results are ranked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize)]
pub enum RelevanceFunction {
    /// Titles only: exact, prefix, all words, nearly right. The fastest.
    TitleScorer,
    /// Okapi BM25 over title and body as one field.
    BM25,
    /// BM25 over weighted fields (Robertson & Zaragoza 2009).
    BM25F,
    /// The lexical results re-scored by the concept graph: the slowest and most accurate.
    #[default]
    ServiceGraph,
}

impl RelevanceFunction {
    /// All spellings; the kebab-case ones are those of older files.
    pub const CHOICES: &Choices<Self> = &[
        ("TitleScorer", Self::TitleScorer),
        ("BM25", Self::BM25),
        ("BM25F", Self::BM25F),
        ("ServiceGraph", Self::ServiceGraph),
        ("title-scorer", Self::TitleScorer),
        ("bm25", Self::BM25),
        ("bm25f", Self::BM25F),
        ("service-graph", Self::ServiceGraph),
    ];

    /// The name as the role file writes it.
    pub fn as_str(self) -> &'static str {
        spelling(Self::CHOICES, self)
    }
}

/// The kind of a haystack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub enum Service {
    /// Files of a folder: documents, code.
    LocalFiles,
    /// An Atomic Data server.
    AtomicData,
    /// Community posts and language documentation.
    CommunityDocs,
    /// Tasks and issues.
    TaskTracker,
    /// A folder of linked notes.
    NotesGraph,
    /// A server of the Model Context Protocol.
    #[serde(rename = "MCP")]
    Mcp,
    /// An index of Elasticsearch, OpenSearch or Quickwit.
    Elastic,
    /// A branch, tag or commit of a git repository.
    GitRepository,
}

impl Service {
    /// All spellings; the kebab-case ones are those of older files.
    pub const CHOICES: &Choices<Self> = &[
        ("LocalFiles", Self::LocalFiles),
        ("AtomicData", Self::AtomicData),
        ("CommunityDocs", Self::CommunityDocs),
        ("TaskTracker", Self::TaskTracker),
        ("NotesGraph", Self::NotesGraph),
        ("MCP", Self::Mcp),
        ("Elastic", Self::Elastic),
        ("GitRepository", Self::GitRepository),
        ("local-files", Self::LocalFiles),
        ("atomic-data", Self::AtomicData),
        ("community-docs", Self::CommunityDocs),
        ("task-tracker", Self::TaskTracker),
        ("notes-graph", Self::NotesGraph),
        ("mcp", Self::Mcp),
        ("elastic", Self::Elastic),
        ("git-repository", Self::GitRepository),
    ];

    /// The name as the role file writes it.
    pub fn as_str(self) -> &'static str {
        spelling(Self::CHOICES, self)
    }
}

/// Who runs the language model of a role.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LanguageModelProvider {
    /// A server of one's own.
    LocalLlm,
    /// A hosted provider.
    CloudLlm,
}

impl LanguageModelProvider {
    /// All spellings.
    pub const CHOICES: &Choices<Self> =
        &[("localllm", Self::LocalLlm), ("cloudllm", Self::CloudLlm)];

    /// The name as the role file writes it.
    pub fn as_str(self) -> &'static str {
        spelling(Self::CHOICES, self)
    }
}

fn spelling<T: Copy + PartialEq>(choices: &Choices<T>, value: T) -> &'static str {
    let found = choices.iter().find(|(_, other)| *other == value);
    found
        .map(|(spelling, _)| *spelling)
        .expect("each value has a spelling: tested below")
}

/// The look of the web interface: one of the Bootswatch themes, by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(transparent)]
pub struct Theme(&'static str);

/// The names of the Bootswatch 5 themes (<https://bootswatch.com>), the default first.
pub const THEMES: [&str; 26] = [
    "spacelab",
    "brite",
    "cerulean",
    "cosmo",
    "cyborg",
    "darkly",
    "flatly",
    "journal",
    "litera",
    "lumen",
    "lux",
    "materia",
    "minty",
    "morph",
    "pulse",
    "quartz",
    "sandstone",
    "simplex",
    "sketchy",
    "slate",
    "solar",
    "superhero",
    "united",
    "vapor",
    "yeti",
    "zephyr",
];

impl Theme {
    /// The theme called `name`.
    pub fn from_name(name: &str) -> Option<Self> {
        THEMES
            .iter()
            .find(|theme| **theme == name)
            .map(|theme| Self(theme))
    }

    /// Its name.
    pub const fn as_str(self) -> &'static str {
        self.0
    }
}

impl Default for Theme {
    /// `spacelab`.
    fn default() -> Self {
        Self(THEMES[0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Serialised and written in a role file, a value has the same name.
    fn agrees<T: Copy + PartialEq + Serialize>(
        choices: &Choices<T>,
        name: impl Fn(T) -> &'static str,
    ) {
        for (_, value) in choices {
            assert_eq!(serde_json::to_value(value).unwrap(), name(*value));
        }
    }

    #[test]
    fn each_value_has_one_name() {
        agrees(RelevanceFunction::CHOICES, RelevanceFunction::as_str);
        agrees(Service::CHOICES, Service::as_str);
        agrees(
            LanguageModelProvider::CHOICES,
            LanguageModelProvider::as_str,
        );
        assert_eq!(RelevanceFunction::CHOICES.len(), 8);
        assert_eq!(Service::CHOICES.len(), 16);
        assert_eq!(Theme::default().as_str(), "spacelab");
        assert_eq!(Theme::from_name("Spacelab"), None);
    }
}
