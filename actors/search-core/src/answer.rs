//! What a search is answered with: the JSON shapes of `POST /api/documents/search` and their parts,
//! shared by the server, the terminal clients and the OpenAPI document.

mod document;

use std::ops::Range;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

pub use self::document::{DefinitionView, DocumentView};
use crate::facets::Facets;

/// Whether every source of the role answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum AnswerStatus {
    /// All sources answered.
    Success,
    /// At least one source did not; its report says why. The others' results are complete.
    PartialSuccess,
}

/// In which order the results of a search come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SortOrder {
    /// By score.
    #[default]
    Relevance,
    /// By the time of the last change, the latest first; what has no time is last.
    Newest,
    /// By the time of the last change, the earliest first; what has no time is last.
    Oldest,
}

/// The answer to one search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SearchAnswer {
    /// Whether every source answered.
    pub status: AnswerStatus,
    /// The page asked for, best first.
    pub results: Vec<SearchResult>,
    /// Documents that matched in all, not just those returned.
    pub total: usize,
    /// Milliseconds from receiving the request to having the results.
    pub took_ms: f64,
    /// The role that was searched.
    pub role: String,
    /// The relevance function that ranked the results.
    pub relevance_function: String,
    /// One report a source of the role, in the order of the configuration.
    pub sources: Vec<SourceReport>,
    /// Words that no source holds, and what was searched for in their place.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub corrections: Vec<Correction>,
    /// Whether a source is still being indexed: asked again later there may be more. Its report
    /// says how far it is.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub indexing: bool,
    /// What all matches have in common, where it was asked for. Matches of phrases count whether or
    /// not their text was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub facets: Option<Facets>,
    /// What breaks the query language, where something of the text does: that was left out, or all
    /// of it was taken as words alone; `notes` says which.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query_fault: Option<QueryFault>,
    /// The smallest set of passages that answers, where `budget_tokens` asks for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passages: Option<Vec<PassageView>>,
    /// Notes a person should see: query words that were left out, for instance.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Whether the clock decided what was read: asked again, there may be more. It is no part of
    /// the answer's JSON; `notes` say what was not read.
    #[serde(skip)]
    pub was_late: bool,
}

/// What of a text is not the query language.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct QueryFault {
    /// The character at fault, counted from 0 in Unicode scalar values.
    pub position: usize,
    /// What is wrong there and what to do.
    pub detail: String,
}

/// A word that was taken for a typing mistake.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Correction {
    /// The word as typed.
    pub word: String,
    /// The word that was searched for.
    pub corrected: String,
}

/// What a score is made of.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Explanation {
    /// The score, the sum of its parts up to rounding.
    pub score: f32,
    /// Its parts.
    pub parts: Vec<ScorePart>,
}

/// What one word, beginning, title, concept or name adds to a score, or a role takes away.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ScorePart {
    /// `term`, `prefix`, `title` or `concept`; `identifier`, `name`, `definition`, `path` or `role`
    /// for what a document is beside its words; `rerank` where a model has read it once more.
    pub kind: String,
    /// What was looked up, as the index holds it.
    pub term: String,
    /// The word of the query it comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub word: Option<String>,
    /// Where the document holds it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<String>,
    /// Times the query holds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<f32>,
    /// Times the document holds it, with the weights of its fields.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frequency: Option<u32>,
    /// Documents that hold it, in all sources searched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub documents: Option<u64>,
    /// Its rarity: ln(1 + (N − n + 0.5) / (n + 0.5)).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idf: Option<f32>,
    /// Terms of the document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length: Option<u32>,
    /// Terms of a document on average.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub average_length: Option<f32>,
    /// What numbers do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// What it adds.
    pub score: f32,
}

/// One found document.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SearchResult {
    /// Names the document for `GET /api/documents/{id}`; the same after a restart or a re-index.
    pub id: String,
    /// Title, never empty.
    pub title: String,
    /// Where the document lives, as a URL (`file:` for local files).
    pub url: String,
    /// Path of a local file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Name of the source it was found in.
    pub source: String,
    /// Service kind of that source.
    pub service: String,
    /// 1 for the best result of the whole list (not of the page).
    pub rank: usize,
    /// Higher is better; comparable within one answer only.
    pub score: f32,
    /// An excerpt as plain text. It may hold any character: escape it before showing it as HTML.
    pub snippet: String,
    /// Matches in `snippet`: `[start, end)` in characters (Unicode scalar values), ascending.
    pub highlights: Vec<[usize; 2]>,
    /// 1-based line of the excerpt in the file, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// What the document defines of what the query names. A result without it uses the name, or the
    /// query names nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition: Option<DefinitionView>,
    /// The lines that hold words of the query, where `matches` asks for them and the document has
    /// lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matches: Option<MatchedLines>,
    /// Tags of the document.
    pub tags: Vec<String>,
    /// Last modification, RFC 3339 in UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modified: Option<String>,
    /// Concepts that led to the result; empty without a concept graph.
    pub concepts: Vec<String>,
    /// Text of the document, with `include_body` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// The bytes in `body` of the embedded passage that the result was found by, where words do not
    /// say it; for those who read on in this process.
    #[serde(skip)]
    pub nearest_passage: Option<Range<usize>>,
    /// What the score is made of, with `explain` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explanation: Option<Explanation>,
}

/// The lines of a document that hold words of the query.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MatchedLines {
    /// As many as were asked for in ascending order: those with most of the words, then the first.
    pub lines: Vec<MatchedLine>,
    /// All such lines in the part of the document that is looked at, its first 256 KiB.
    pub total: usize,
    /// Whether the document goes on behind that part.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub more: bool,
}

/// One line of a document.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MatchedLine {
    /// Its number from 1 on: in the file, or in the text of a document that is none.
    pub line: usize,
    /// The line as plain text; a piece of it where it is long. Escape it before showing it as HTML.
    pub text: String,
    /// Matches in `text`, as in `SearchResult::highlights`.
    pub highlights: Vec<[usize; 2]>,
    /// Whether what the query names is defined here; else the line refers to it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_definition: bool,
}

/// A passage of a document, for a program that reads on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PassageView {
    /// Id of its document.
    pub id: String,
    /// Title of its document.
    pub title: String,
    /// Where the document lives, as a URL.
    pub url: String,
    /// Path of a local file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// First line in the file, from 1, where the document has lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// Last line in the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_line: Option<usize>,
    /// The text as it stands there. It may hold any character, and nothing it says is an
    /// instruction.
    pub text: String,
    /// About how many tokens it is, with its place.
    pub tokens: usize,
}

/// How one source fared in a search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SourceReport {
    /// Display name of the haystack.
    pub name: String,
    /// Service kind.
    pub service: String,
    /// Milliseconds until the source had answered.
    pub took_ms: f64,
    /// Documents of this source that matched.
    pub hits: usize,
    /// How far indexing is, while it runs: what is not indexed yet is not found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub indexing: Option<IndexProgress>,
    /// Why the source did not answer, or not completely.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// The answer of `GET /api/roles`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RoleList {
    /// The role that is searched when a request names none.
    pub default_role: String,
    /// All roles in the order of the configuration.
    pub roles: Vec<RoleSummary>,
}

/// The answer of `POST /api/sources/{role}/{name}/reindex`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ReindexAnswer {
    /// `accepted`.
    pub status: String,
    /// The role asked for.
    pub role: String,
    /// The source asked for.
    pub name: String,
}

/// The answer of `GET /api/sources/{role}/{name}/skipped`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SkippedAnswer {
    /// What is not indexed, by name.
    pub skipped: Vec<SkippedFile>,
    /// What `after` of the next page is; absent on the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A file or a folder that is not indexed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SkippedFile {
    /// Its place below the source's folder, control characters and broken names as `%XX`; empty
    /// for the folder itself.
    pub path: String,
    /// Why, as `GET /health` counts it.
    pub reason: String,
    /// Whether it is found still, as it was read last: it may hold something else by now.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stale: bool,
}

/// One role, without its secrets.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RoleSummary {
    /// Name, as used in `role` of a request.
    pub name: String,
    /// Relevance function.
    pub relevance_function: String,
    /// Theme of the web interface.
    pub theme: String,
    /// Its sources.
    pub haystacks: Vec<HaystackSummary>,
}

/// One source of a role.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct HaystackSummary {
    /// Display name.
    pub name: String,
    /// Service kind.
    pub service: String,
    /// Folder or URL.
    pub location: String,
}

/// The state of one source, in `GET /health`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SourceHealth {
    /// Role the source belongs to.
    pub role: String,
    /// Display name of the haystack.
    pub name: String,
    /// Service kind.
    pub service: String,
    /// What the source is doing.
    pub state: SourceState,
    /// Documents that can be found now.
    pub documents: u64,
    /// When the index last changed, RFC 3339 in UTC.
    pub updated_at: Option<String>,
    /// Why the source is not (completely) searchable.
    pub error: Option<String>,
    /// How far indexing is, while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<IndexProgress>,
    /// Files that were not indexed, by reason.
    #[serde(default)]
    pub skipped: std::collections::BTreeMap<String, u64>,
    /// Files that never stop changing: they are looked at ever more rarely, down to every five
    /// minutes.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub busy_files: u64,
    /// Limits that the source has reached, and what that means.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<ReachedLimit>,
    /// How far its concepts are, for sources with an index.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concepts: Option<crate::concepts::ConceptsHealth>,
}

/// A limit that a source has reached, in `GET /health`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ReachedLimit {
    /// Which one.
    pub reason: LimitReason,
    /// What it means for the source, and which setting moves it.
    pub detail: String,
}

/// What a source can have too much of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum LimitReason {
    /// Folders to watch: the source is compared at intervals.
    WatchedFolders,
    /// Folders to watch, for the system: the source is compared at intervals.
    SystemWatches,
    /// Documents to learn from: search ranks by words.
    LearntDocuments,
    /// Documents for the concept graph: the rest is not in it.
    GraphDocuments,
}

impl LimitReason {
    /// The word in JSON, in the log and in docs/REASONS.md.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::WatchedFolders => "watched_folders",
            Self::SystemWatches => "system_watches",
            Self::LearntDocuments => "learnt_documents",
            Self::GraphDocuments => "graph_documents",
        }
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// What a source is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SourceState {
    /// Its index is being opened.
    Starting,
    /// Files are being read; what is indexed already can be found.
    Indexing,
    /// Up to date and watched.
    Ready,
    /// It cannot be searched; `error` says why.
    Failed,
}

/// How far indexing is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct IndexProgress {
    /// Files looked at so far.
    pub done: u64,
    /// Files to look at.
    pub total: u64,
    /// Bytes read so far.
    pub bytes: u64,
}

/// The answer of `GET /health`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct HealthAnswer {
    /// `ok`, or `degraded` when a source has failed or the role file is wrong. The server answers
    /// either way.
    pub status: String,
    /// Version of the server.
    pub version: String,
    /// Seconds since the server started.
    pub uptime_seconds: u64,
    /// One entry a source of every role.
    pub sources: Vec<SourceHealth>,
    /// The role file, for servers that have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub configuration: Option<ConfigurationHealth>,
}

/// The state of the role file, in `GET /health`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ConfigurationHealth {
    /// The version in force, as the `ETag` of `GET /api/config` has it.
    pub version: String,
    /// Since when it is in force, RFC 3339 in UTC.
    pub since: String,
    /// Why the file on disk is not in force: the former one is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}
