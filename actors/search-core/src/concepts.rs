//! What is shown of concepts: the JSON shapes of the thesaurus, the concept graph, suggestions, and
//! how far learning is.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// How far a source's concepts are, in `GET /health`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ConceptsHealth {
    /// What is being done.
    pub state: ConceptsState,
    /// Documents read or learnt from so far, over all rounds.
    pub done: u64,
    /// Documents to read or to learn from, over all rounds.
    pub total: u64,
    /// Whether the embedding model has embedded all documents.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub embedded: bool,
    /// Documents that the embedding model has embedded so far; it ranks a query as soon as the best
    /// results of its words are among them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub embeddings: u64,
    /// Why the concepts are not as they should be; search goes on without them, or with the former
    /// ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// What is being done for a source's concepts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ConceptsState {
    /// The index comes first.
    #[default]
    Waiting,
    /// Documents are read for the graph, and to learn from.
    Reading,
    /// Vectors are learnt; search ranks by words, or by the former vectors.
    Learning,
    /// Texts are embedded by the role's model; it ranks the queries whose best results are
    /// embedded.
    Embedding,
    /// Search ranks by concepts.
    Ready,
    /// There are too few documents to learn from: search ranks by words.
    TooFew,
    /// No role ranks this source by concepts, or it has more documents than are learnt from:
    /// `limits` says so.
    Off,
    /// It failed, and is tried again; `error` says why.
    Failed,
}

/// The answer of `GET /api/thesaurus/{role}`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ThesaurusAnswer {
    /// The role asked for.
    pub role: String,
    /// Number of concepts, not only of those given.
    pub total: usize,
    /// The concepts asked for, in the order of their names.
    pub concepts: Vec<DeclaredConcept>,
    /// Why the role's thesaurus cannot be used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A concept that a person declared.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DeclaredConcept {
    /// Identity: 16 hex digits, the same in every run.
    pub id: String,
    /// Name.
    pub name: String,
    /// Other words for it.
    pub synonyms: Vec<String>,
    /// Where it is described.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

/// The answer of `GET /api/graph`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GraphAnswer {
    /// The role asked for.
    pub role: String,
    /// Concepts, the one asked for first, else those that most documents hold; of a document those
    /// that others hold too, the rarest first.
    pub concepts: Vec<GraphConcept>,
    /// What joins them, the heaviest first.
    pub edges: Vec<GraphEdge>,
    /// Ids of documents that hold the concept asked for; around a document those of its source that
    /// share most with it, the nearest first.
    pub documents: Vec<String>,
}

/// A concept of the graph.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GraphConcept {
    /// Identity: 16 hex digits, the same in every run.
    pub id: String,
    /// Name: folded words.
    pub name: String,
    /// `declared`, `title`, `tag`, `link`, `heading`, `symbol` or `keyphrase`.
    pub kind: String,
    /// Number of documents that hold it.
    pub documents: u64,
}

/// Two concepts that belong together.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GraphEdge {
    /// Id of one end.
    pub from: String,
    /// Id of the other end.
    pub to: String,
    /// How much, from 0 to 1.
    pub weight: f32,
    /// `together` (in the same documents) or `near` (they stand for nearly the same).
    pub kind: String,
}

/// The answer of `GET /api/autocomplete`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SuggestionList {
    /// The role asked for.
    pub role: String,
    /// What may be meant, the likeliest first.
    pub suggestions: Vec<SuggestionView>,
}

/// Something that may be meant.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SuggestionView {
    /// What to search for.
    pub text: String,
    /// `concept`, `title` or `term`.
    pub kind: String,
}
