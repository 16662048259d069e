//! Parsing a request into words, terms and a condition.

use super::error::QueryError;
use super::grammar::clauses;
use super::limits::{MAX_QUERY_BYTES, MAX_QUERY_WORDS};
use super::parsed::ParsedQuery;
use super::plan::Planner;
use super::request::{Operator, SearchRequest};

/// Understands a request. Question and stop words are left off, unless there are no others.
///
/// # Errors
/// The request is longer than [`MAX_QUERY_BYTES`], holds more than [`MAX_QUERY_WORDS`] words, or
/// breaks the language; then the error has the place.
pub fn parse(request: &SearchRequest) -> Result<ParsedQuery, QueryError> {
    check_length(request)?;
    let clauses = clauses(&request.text)?;
    let operator = request.operator.unwrap_or(Operator::Or);
    let plan = |keeps_stop_words| {
        let mut planner = Planner::new(&request.text, operator, keeps_stop_words);
        planner.plan(&clauses, &request.terms)
    };
    let query = plan(false)?;
    if query.is_empty() {
        return plan(true);
    }
    Ok(query)
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
