//! Queries: from a request's text to the terms that are looked up and marked, and the condition a
//! document has to meet.
//!
//! ```text
//! text ── lexer ──► tokens ── grammar ──► clauses ── plan ──► ParsedQuery
//!                   (places)   (operators)           (terms, phrases, filters, condition)
//! ```
//!
//! The language, strongest first: `word`, `"a phrase"`, `prefix*`, `field:value` (title, path, tag,
//! source, kind, is), `re:/an expression/` and `(groups)`; `-x` or `NOT x`; `AND`; `OR`; things
//! beside one another, which are joined by the request's operator. Operators are capitals;
//! everything else is text. Beside `case:yes` or `case:no` what stands in quotes is exact text.

mod condition;
mod correction;
mod error;
mod grammar;
mod inner_word;
mod lexer;
mod limits;
mod matcher;
mod needs;
mod options;
mod parse;
mod parsed;
mod pattern;
mod pattern_finder;
mod phrase;
mod plan;
mod reach;
mod reading;
mod repair;
mod request;
mod shape;
mod terms;
mod wanted_role;
mod word_edges;

pub use condition::{MatchState, QueryCondition};
pub use correction::in_case_of;
pub use error::QueryError;
pub use limits::{MAX_DEPTH, MAX_QUERY_BYTES, MAX_QUERY_WORDS};
pub use matcher::TermMatcher;
pub use needs::{Needs, WordRun};
pub use options::{dashed_words, reads_as_option, with_options};
pub use parse::{UnderstoodRequest, parse, parse_lenient};
pub use parsed::ParsedQuery;
pub use pattern::{MAX_PATTERN_BYTES, MAX_PATTERNS, TextPattern};
pub use pattern_finder::PatternFinder;
pub use phrase::{MAX_PHRASE_WORDS, PhraseFinder};
pub use request::{Operator, SearchRequest};
pub use shape::WordShape;
pub use terms::{Field, FieldFilter, Phrase, Prefix, QueryTerm, QueryWord};
