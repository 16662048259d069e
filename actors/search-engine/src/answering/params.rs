//! What the search service is asked.

use search_core::answer::SortOrder;
use search_core::query::SearchRequest;

/// A checked search.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SearchParams {
    /// The role to search; the default role when absent.
    pub role: Option<String>,
    /// What to look for.
    pub request: SearchRequest,
    /// Results to pass over.
    pub skip: usize,
    /// Results of the page.
    pub limit: usize,
    /// Names of the sources to search; all of the role when empty.
    pub sources: Vec<String>,
    /// Whether to add the text of each document.
    pub include_body: bool,
    /// Whether to say what each score is made of.
    pub explain: bool,
    /// What comes first.
    pub sort: SortOrder,
    /// Whether to say what the matches have in common.
    pub facets: bool,
    /// Lines with matches to give of each document.
    pub matches: usize,
    /// Tokens of the passages to give; none when 0.
    pub budget_tokens: usize,
}

/// A document to read again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DocumentRequest {
    /// Id of a result.
    pub id: String,
    /// The role through which it was found; any role when absent.
    pub role: Option<String>,
    /// Words to mark in its text; none when empty.
    pub query: String,
    /// Its file's own text is wanted, too.
    pub original: bool,
    /// The text is wanted whose lines are counted: the file's own where it is not a web page.
    pub by_lines: bool,
    /// A line of the file, from 1, that is to be in the text where that is too long to be given
    /// whole.
    pub line: Option<usize>,
}
