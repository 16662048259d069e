//! Parsing a request into words, terms and a condition.

use super::error::QueryError;
use super::grammar::{Clause, clauses};
use super::limits::{MAX_QUERY_BYTES, MAX_QUERY_WORDS};
use super::parsed::ParsedQuery;
use super::plan::Planner;
use super::repair::parse_repaired;
use super::request::{Operator, SearchRequest};

/// Understands a request. Question and stop words are left off, unless there are no others.
///
/// # Errors
/// The request is longer than [`MAX_QUERY_BYTES`], holds more than [`MAX_QUERY_WORDS`] words, or
/// breaks the language; then the error has the place.
pub fn parse(request: &SearchRequest) -> Result<ParsedQuery, QueryError> {
    check_length(request)?;
    let (clauses, minds_case) = if request.is_words_alone {
        (Clause::List(vec![Clause::Text(&request.text)]), None)
    } else {
        clauses(&request.text)?
    };
    let operator = request.operator.unwrap_or(Operator::Or);
    let plan = |keeps_stop_words| {
        let mut planner = Planner::new(&request.text, operator, keeps_stop_words, minds_case);
        planner.plan(&clauses, &request.terms)
    };
    let query = plan(false)?;
    if query.is_empty() {
        return plan(true);
    }
    Ok(query)
}

/// A request that is understood one way or another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnderstoodRequest {
    /// The request as it was taken: as typed, without what is broken, or as words alone.
    pub request: SearchRequest,
    /// What it asks for.
    pub query: ParsedQuery,
    /// What breaks the language, where something does.
    pub fault: Option<QueryError>,
    /// Whether only what is broken was left out; else the text was taken as words alone.
    pub is_mended: bool,
    /// Of a text with more words than a query may have, how many of them are looked for.
    pub first_words: Option<usize>,
}

/// Understands a request. Of one that is broken at a place (`path:*.rb AND`, as while it is typed)
/// its fields, quotes and exclusions hold, and what is broken is left out; without any (a pasted
/// sentence with an open quote, a line of a stack trace) it is words alone.
///
/// # Errors
/// The request is too long, or asks for nothing but that something is left out (`NOT x`): its words
/// would find the opposite.
///
/// Of a text with more than [`MAX_QUERY_WORDS`] words (a pasted log) the first are looked for.
pub fn parse_lenient(request: &SearchRequest) -> Result<UnderstoodRequest, QueryError> {
    let understood = parse_strict(request);
    if !matches!(understood, Err(QueryError::TooManyWords { .. })) || !request.terms.is_empty() {
        return understood;
    }
    // Words between blanks may be several.
    let mut count = MAX_QUERY_WORDS;
    while count > 0 {
        let shorter = SearchRequest {
            text: first_words(&request.text, count).to_owned(),
            ..request.clone()
        };
        match parse_strict(&shorter) {
            Err(QueryError::TooManyWords { .. }) => count /= 2,
            understood => {
                return understood.map(|understood| UnderstoodRequest {
                    first_words: Some(count),
                    ..understood
                });
            }
        }
    }
    understood
}

/// The beginning of a text with at most so many words between blanks.
fn first_words(text: &str, count: usize) -> &str {
    let last = text.split_whitespace().nth(count - 1);
    let end = last.map_or(text.len(), |last| {
        last.as_ptr().addr() - text.as_ptr().addr() + last.len()
    });
    &text[..end]
}

fn parse_strict(request: &SearchRequest) -> Result<UnderstoodRequest, QueryError> {
    let fault = match parse(request) {
        Err(fault @ QueryError::Syntax { .. }) => fault,
        parsed => {
            return Ok(UnderstoodRequest {
                request: request.clone(),
                query: parsed?,
                fault: None,
                is_mended: false,
                first_words: None,
            });
        }
    };
    let with_text = |text: &str| SearchRequest {
        text: text.to_owned(),
        ..request.clone()
    };
    let kept = parse_repaired(&request.text, &fault, |text| parse(&with_text(text)));
    if let Some((text, query)) = kept.filter(|(_, query)| query.has_operators()) {
        return Ok(UnderstoodRequest {
            request: with_text(&text),
            query,
            fault: Some(fault),
            is_mended: true,
            first_words: None,
        });
    }
    let words = request.as_words();
    Ok(UnderstoodRequest {
        query: parse(&words)?,
        request: words,
        fault: Some(fault),
        is_mended: false,
        first_words: None,
    })
}

fn check_length(request: &SearchRequest) -> Result<(), QueryError> {
    let bytes = request.text.len() + request.terms.iter().map(String::len).sum::<usize>();
    if bytes > MAX_QUERY_BYTES {
        return Err(QueryError::TooLong {
            bytes,
            limit: MAX_QUERY_BYTES,
        });
    }
    if request.terms.len() > MAX_QUERY_WORDS {
        return Err(QueryError::TooManyWords {
            limit: MAX_QUERY_WORDS,
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests;
