//! The query's declared synonyms: what a person said means the same is searched for too.

use search_core::query::{self, Operator, ParsedQuery, SearchRequest};
use search_core::role::RelevanceFunction;
use search_graph_engine::thesaurus::{ConceptId, Thesaurus};

use super::source::SearchableRole;

/// Synonyms of one concept that are searched for.
const MAX_SYNONYMS: usize = 8;

/// A query with the synonyms that a person declared.
pub(super) struct ExpandedQuery {
    pub(super) query: ParsedQuery,
    /// The concepts found in the query.
    pub(super) concepts: Vec<ConceptId>,
    /// The words that were added, as declared.
    pub(super) added: Vec<String>,
}

impl ExpandedQuery {
    /// Whether a word was typed, not added.
    pub(super) fn was_typed(original: &ParsedQuery, folded: &str) -> bool {
        original.words().iter().any(|word| word.folded == folded)
    }
}

/// The query, with further words for the concepts of the role's thesaurus that it names. Where all
/// words have to occur, each concept is met by any of its words; where the query says more than
/// words, it is taken as it stands.
pub(super) fn expanded(
    role: &SearchableRole,
    request: &SearchRequest,
    query: ParsedQuery,
) -> ExpandedQuery {
    let unchanged = |query| ExpandedQuery {
        query,
        concepts: Vec::new(),
        added: Vec::new(),
    };
    let graph = role.function == RelevanceFunction::ServiceGraph;
    let Some(thesaurus) = role.thesaurus.as_deref().filter(|_| graph) else {
        return unchanged(query);
    };
    let found = thesaurus.expand(&request.text);
    if found.is_empty() {
        return unchanged(query);
    }
    let concepts: Vec<ConceptId> = found.iter().map(|(id, _)| *id).collect();
    let line = padded(&request.text);
    let mut added: Vec<String> = Vec::new();
    for (_, words) in &found {
        let new = words.iter().filter(|words| !words.contains('"'));
        let new = new.filter(|words| !line.contains(&padded(words)));
        added.extend(new.take(MAX_SYNONYMS).map(|words| (*words).to_owned()));
    }
    let asked = match request.operator.unwrap_or_default() {
        Operator::Or if query.condition().is_none() => {
            let mut asked = request.clone();
            asked.terms.extend(added.iter().cloned());
            Some(asked)
        }
        Operator::And if is_plain(&request.text) => Some(SearchRequest {
            text: grouped(thesaurus, &request.text),
            ..request.clone()
        }),
        _ => None,
    };
    // More words than a query may have: the typed ones are searched for.
    match asked.and_then(|asked| query::parse(&asked).ok()) {
        Some(expanded) => ExpandedQuery {
            query: expanded,
            concepts,
            added,
        },
        None => ExpandedQuery {
            concepts,
            ..unchanged(query)
        },
    }
}

/// A text's folded words with one space around each.
fn padded(text: &str) -> String {
    format!(" {} ", search_core::analysis::folded_line(text))
}

/// Whether a text means nothing but its words in the query language.
fn is_plain(text: &str) -> bool {
    let operator = |word: &str| matches!(word, "AND" | "OR" | "NOT") || word.starts_with('-');
    !text.contains(['"', '(', ')', '*', ':']) && !text.split_whitespace().any(operator)
}

/// The text with each concept as a group of its words, any of which will do.
fn grouped(thesaurus: &Thesaurus, text: &str) -> String {
    let mut out = String::new();
    let mut at = 0;
    for found in thesaurus.find(text) {
        let entry = &thesaurus.entries()[found.entry];
        let typed = &text[found.start..found.end];
        out.push_str(&text[at..found.start]);
        // A group of its own: all its words, or any of the others.
        out.push_str(&format!("(({typed})"));
        let words = std::iter::once(&entry.name).chain(&entry.synonyms);
        let others = words.filter(|words| !words.contains('"') && padded(words) != padded(typed));
        for words in others.take(MAX_SYNONYMS) {
            out.push_str(&format!(" OR \"{words}\""));
        }
        out.push(')');
        at = found.end;
    }
    out.push_str(&text[at..]);
    out
}

#[cfg(test)]
mod tests {
    use super::{ExpandedQuery, expanded, grouped};
    use crate::answering::SearchableRole;
    use search_core::query::{self, Operator, SearchRequest};
    use search_core::role::RelevanceFunction;
    use search_graph_engine::thesaurus::{Thesaurus, ThesaurusEntry};

    fn thesaurus() -> Thesaurus {
        Thesaurus::new(vec![ThesaurusEntry {
            name: "fault tolerance".to_owned(),
            synonyms: vec!["let it crash".to_owned(), "odd \"one\"".to_owned()],
            url: None,
        }])
    }

    fn expand(text: &str, operator: Option<Operator>) -> ExpandedQuery {
        let role = SearchableRole {
            name: "R".to_owned(),
            function: RelevanceFunction::ServiceGraph,
            sources: Vec::new(),
            thesaurus: Some(thesaurus().into()),
            served: Vec::new(),
            reranking: None,
            ignores_file_roles: false,
        };
        let request = SearchRequest {
            operator,
            ..SearchRequest::for_text(text)
        };
        let query = query::parse(&request).expect("a query");
        expanded(&role, &request, query)
    }

    #[test]
    fn declared_words_are_searched_for_too() {
        let found = expand("Fault tolerance in Erlang", None);
        assert_eq!(found.added, ["let it crash"]);
        let terms = found.query.terms();
        assert!(terms.iter().any(|term| term.text == "crash"), "{terms:?}");
        assert!(found.query.condition().is_none());
        assert!(expand("restart policies", None).added.is_empty());
    }

    #[test]
    fn where_all_words_have_to_occur_any_word_of_a_concept_will_do() {
        assert_eq!(
            grouped(&thesaurus(), "fault tolerance in Erlang"),
            "((fault tolerance) OR \"let it crash\") in Erlang"
        );
        let found = expand("fault tolerance Erlang", Some(Operator::And));
        assert!(found.query.condition().is_some());
        let terms = found.query.terms();
        assert!(terms.iter().any(|term| term.text == "crash"), "{terms:?}");
    }

    #[test]
    fn a_query_that_says_more_than_words_is_taken_as_it_stands() {
        for text in [
            "\"fault tolerance\"",
            "+fault tolerance -erlang",
            "fault tolerance title:x",
        ] {
            let request = SearchRequest::for_text(text);
            let Ok(plain) = query::parse(&request) else {
                continue;
            };
            if plain.condition().is_some() {
                assert_eq!(expand(text, None).query, plain, "{text}");
            }
        }
    }
}
