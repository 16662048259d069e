//! Parsing a request into words and terms.
//!
//! Grammar for now: words, and `"quoted words"`, which are required. The index holds no positions,
//! so the order of quoted words is not looked at.

use rustc_hash::FxHashMap;
use thiserror::Error;

use super::matcher::folded;
use super::{Operator, ParsedQuery, QueryTerm, QueryWord, SearchRequest};
use crate::analysis::{TermKind, WordAnalyzer, WordTerms, folded_line, is_stop_word, words};

/// Longest query in bytes, text and terms together.
pub const MAX_QUERY_BYTES: usize = 32 * 1024;

/// Most words a query may hold, stop words and repetitions included.
pub const MAX_QUERY_WORDS: usize = 1024;

/// Why a query is refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum QueryError {
    /// Text and terms together are too long.
    #[error("the query has {bytes} bytes, the limit is {limit}; shorten it")]
    TooLong {
        /// Length of the query.
        bytes: usize,
        /// Longest length allowed.
        limit: usize,
    },
    /// Too many words or terms.
    #[error("the query has more than {limit} words or terms; shorten it")]
    TooManyWords {
        /// Most words allowed.
        limit: usize,
    },
}

/// A raw word of the request, and whether it was quoted.
type RawWord<'r> = (&'r str, bool);

/// Understands a request. Question and stop words are left off, unless there are no others.
///
/// # Errors
/// The request is longer than [`MAX_QUERY_BYTES`] or holds more than [`MAX_QUERY_WORDS`] words.
pub fn parse(request: &SearchRequest) -> Result<ParsedQuery, QueryError> {
    check_length(request)?;
    let mut raw: Vec<RawWord<'_>> = Vec::new();
    for text in std::iter::once(&request.text).chain(&request.terms) {
        collect_words(text, &mut raw)?;
    }
    let mut kept: Vec<RawWord<'_>> = raw.clone();
    kept.retain(|(word, _)| !is_stop_word(&folded(word)));
    if kept.is_empty() {
        kept = raw;
    }
    let all_required = request.operator == Some(Operator::And);
    let mut builder = Builder::default();
    for (word, quoted) in kept {
        builder.add(word, quoted || all_required);
    }
    builder.query.title_line = folded_line(&request.text);
    Ok(builder.query)
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
        return Err(TOO_MANY_WORDS);
    }
    Ok(())
}

const TOO_MANY_WORDS: QueryError = QueryError::TooManyWords {
    limit: MAX_QUERY_WORDS,
};

/// The words of a text; between two double quotes they count as quoted.
fn collect_words<'r>(text: &'r str, out: &mut Vec<RawWord<'r>>) -> Result<(), QueryError> {
    let spans: Vec<&str> = text.split('"').collect();
    let last = spans.len() - 1;
    for (index, span) in spans.into_iter().enumerate() {
        // A quote that is not closed yet (search as you type) is none.
        let quoted = index % 2 == 1 && index < last;
        for word in words(span) {
            if out.len() == MAX_QUERY_WORDS {
                return Err(TOO_MANY_WORDS);
            }
            out.push((word.text, quoted));
        }
    }
    Ok(())
}

#[derive(Default)]
struct Builder {
    query: ParsedQuery,
    term_index: FxHashMap<String, usize>,
    word_index: FxHashMap<(usize, Vec<usize>), usize>,
    analyzer: WordAnalyzer,
    buffer: WordTerms,
}

impl Builder {
    fn add(&mut self, word: &str, required: bool) {
        let mut buffer = std::mem::take(&mut self.buffer);
        self.analyzer.analyze(word, &mut buffer);
        let mut whole = None;
        let mut parts = Vec::new();
        for (term, kind) in buffer.iter() {
            match kind {
                TermKind::Whole => whole = Some(self.term(term)),
                TermKind::Part => parts.push(self.term(term)),
                TermKind::Exact => {}
            }
        }
        if let Some(whole) = whole {
            self.word(word, buffer.folded(), whole, parts, required);
        }
        self.buffer = buffer;
    }

    /// The index of a term, counted once more.
    fn term(&mut self, text: &str) -> usize {
        let terms = &mut self.query.terms;
        if let Some(&index) = self.term_index.get(text) {
            terms[index].count += 1;
            return index;
        }
        let index = terms.len();
        self.term_index.insert(text.to_owned(), index);
        terms.push(QueryTerm {
            text: text.to_owned(),
            count: 1,
        });
        index
    }

    fn word(
        &mut self,
        surface: &str,
        folded: &str,
        whole: usize,
        parts: Vec<usize>,
        required: bool,
    ) {
        let words = &mut self.query.words;
        if let Some(&index) = self.word_index.get(&(whole, parts.clone())) {
            words[index].required |= required;
            return;
        }
        self.word_index.insert((whole, parts.clone()), words.len());
        words.push(QueryWord {
            surface: surface.to_owned(),
            folded: folded.to_owned(),
            whole,
            parts,
            required,
        });
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{MAX_QUERY_BYTES, MAX_QUERY_WORDS, QueryError, parse};
    use crate::query::{Operator, ParsedQuery, SearchRequest};

    fn parsed(text: &str) -> ParsedQuery {
        parse(&SearchRequest::for_text(text)).expect("a short query parses")
    }

    fn terms(query: &ParsedQuery) -> Vec<(&str, u32)> {
        query
            .terms()
            .iter()
            .map(|term| (term.text.as_str(), term.count))
            .collect()
    }

    fn required(query: &ParsedQuery) -> Vec<&str> {
        query
            .words()
            .iter()
            .filter(|word| word.required)
            .map(|word| word.surface.as_str())
            .collect()
    }

    #[test]
    fn question_and_stop_words_are_left_off() {
        assert_eq!(
            terms(&parsed("how to find the memory leaks")),
            [("find", 1), ("memori", 1), ("leak", 1)]
        );
    }

    #[test]
    fn a_query_of_stop_words_alone_keeps_them() {
        assert_eq!(
            terms(&parsed("who is it")),
            [("who", 1), ("is", 1), ("it", 1)]
        );
        assert!(parsed(" ... ").is_empty());
    }

    #[test]
    fn terms_are_counted_and_words_are_listed_once() {
        let query = parsed("lock Locks spin_lock");
        assert_eq!(terms(&query), [("lock", 3), ("spin_lock", 1), ("spin", 1)]);
        assert_eq!(query.words().len(), 2);
        assert_eq!(query.words()[1].parts, [2, 0]);
    }

    #[test]
    fn quoted_words_are_required() {
        assert_eq!(
            required(&parsed("rust \"error handling\" guide")),
            ["error", "handling"]
        );
        assert!(required(&parsed("rust \"error handling")).is_empty());
    }

    #[test]
    fn the_operator_joins_text_and_terms() {
        let mut request = SearchRequest {
            text: "memory".to_owned(),
            terms: vec!["page fault".to_owned(), "the".to_owned()],
            operator: Some(Operator::And),
        };
        let query = parse(&request).expect("parses");
        assert_eq!(required(&query), ["memory", "page", "fault"]);
        request.operator = Some(Operator::Or);
        let query = parse(&request).expect("parses");
        assert!(required(&query).is_empty());
        assert_eq!(query.words().len(), 3);
    }

    #[test]
    fn s11_a_megabyte_of_query_is_refused_with_the_limit() {
        let refused = parse(&SearchRequest::for_text("x".repeat(1 << 20)));
        let expected = QueryError::TooLong {
            bytes: 1 << 20,
            limit: MAX_QUERY_BYTES,
        };
        assert_eq!(refused, Err(expected));
    }

    #[test]
    fn s11_a_hundred_thousand_terms_are_refused_with_the_limit() {
        let request = SearchRequest {
            terms: vec![String::new(); 100_000],
            ..SearchRequest::default()
        };
        let expected = Err(QueryError::TooManyWords {
            limit: MAX_QUERY_WORDS,
        });
        assert_eq!(parse(&request), expected);
        assert_eq!(
            parse(&SearchRequest::for_text("a ".repeat(MAX_QUERY_WORDS + 1))),
            expected
        );
        assert!(parse(&SearchRequest::for_text("a ".repeat(MAX_QUERY_WORDS))).is_ok());
    }

    proptest! {
        #[test]
        fn any_text_parses_and_indices_are_in_range(text in "\\PC{0,80}", quoted in "[a-zA-Z_\" ]{0,40}") {
            let query = parsed(&format!("{text} {quoted}"));
            for word in query.words() {
                prop_assert!(word.parts.iter().chain([&word.whole]).all(|&index| index < query.terms().len()));
            }
        }

        #[test]
        fn the_order_of_words_changes_no_counts(mut list in prop::collection::vec("[a-z]{1,8}", 1..10)) {
            let mut first: Vec<_> = parsed(&list.join(" ")).terms().to_vec();
            list.reverse();
            let mut second: Vec<_> = parsed(&list.join(" ")).terms().to_vec();
            first.sort_by(|a, b| a.text.cmp(&b.text));
            second.sort_by(|a, b| a.text.cmp(&b.text));
            prop_assert_eq!(first, second);
        }
    }
}
