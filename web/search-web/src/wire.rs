//! Request bodies, from what was sent to what can be searched.

use edge_web::{FieldError, Problem};
use search_core::answer::SortOrder;
use search_core::passages::MAX_BUDGET_TOKENS;
use search_core::query::{MAX_QUERY_BYTES, Operator, SearchRequest};
use search_engine::answering::SearchParams;
use serde::Deserialize;
use serde_json::Number;
use utoipa::ToSchema;

/// Results of a page when the request names no `limit`.
pub const DEFAULT_LIMIT: usize = 10;
/// The most results of one page.
pub const MAX_LIMIT: usize = 1000;
/// The furthest result that can be paged to; whoever wants more refines the query.
pub const MAX_SKIP: usize = 100_000;
/// The most lines of one document.
const MAX_MATCHES: usize = 100;
/// The most entries of `terms` or `sources`.
const MAX_LIST: usize = 1000;

/// The body of `POST /api/documents/search`.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchBody {
    /// What to look for: words, `"phrases"`, `AND`, `OR`, `NOT` or `-`, `(groups)`, `prefix*`, and
    /// `title:`, `path:`, `tag:`, `source:`, `kind:` or `is:` in front of a value,
    /// `re:/an expression/`, and `"exact text"` beside `case:yes` or `case:no`.
    pub search_term: String,
    /// Results of a page, 0 to 1000; 10 when absent.
    #[schema(value_type = Option<u64>, maximum = 1000)]
    pub limit: Option<Number>,
    /// Results to pass over, for paging; 0 when absent.
    #[schema(value_type = Option<u64>, maximum = 100000)]
    pub skip: Option<Number>,
    /// The role to search; the default role when absent or empty.
    pub role: Option<String>,
    /// Further words or phrases, joined with `search_term` by `operator`.
    #[serde(default)]
    pub terms: Vec<String>,
    /// Whether every word has to occur (`and`) or any may (`or`, the default).
    #[schema(value_type = Option<String>, example = "and")]
    pub operator: Option<String>,
    /// Names of the role's sources to search; all of them when empty.
    #[serde(default)]
    pub sources: Vec<String>,
    /// Whether to add the text of each document.
    #[serde(default)]
    pub include_body: bool,
    /// Whether to say what each score is made of.
    #[serde(default)]
    pub explain: bool,
    /// What comes first: the best match (`relevance`, the default), or what was changed last
    /// (`newest`) or first (`oldest`).
    #[schema(value_type = Option<SortOrder>)]
    pub sort: Option<String>,
    /// Whether to say what all matches have in common: types of files, tags and folders, with their
    /// counts.
    #[serde(default)]
    pub facets: bool,
    /// Lines with matches to give of each document, 0 to 100; none when absent.
    #[schema(value_type = Option<u64>, maximum = 100)]
    pub matches: Option<Number>,
    /// Adds `passages`: the smallest set of passages of the results of this page that answers, of
    /// at most so many tokens, 0 to 100000; none when absent.
    #[schema(value_type = Option<u64>, maximum = 100_000)]
    pub budget_tokens: Option<Number>,
}

/// A role that is named; an empty name is none.
pub(crate) fn role_name(role: Option<String>) -> Option<String> {
    role.filter(|name| !name.is_empty())
}

impl SearchBody {
    /// The request for the search service.
    ///
    /// # Errors
    /// 422 that names every field that makes no sense.
    pub fn check(self) -> Result<SearchParams, Problem> {
        let mut errors = Vec::new();
        let limit = number(
            "limit",
            self.limit.as_ref(),
            DEFAULT_LIMIT,
            MAX_LIMIT,
            &mut errors,
        );
        let skip = number("skip", self.skip.as_ref(), 0, MAX_SKIP, &mut errors);
        let matches = self.matches.as_ref();
        let matches = number("matches", matches, 0, MAX_MATCHES, &mut errors);
        let budget = self.budget_tokens.as_ref();
        let budget_tokens = number("budget_tokens", budget, 0, MAX_BUDGET_TOKENS, &mut errors);
        let operator = operator(self.operator.as_deref(), &mut errors);
        let sort = sort(self.sort.as_deref(), &mut errors);
        list("terms", &self.terms, &mut errors);
        list("sources", &self.sources, &mut errors);
        text("search_term", &self.search_term, &self.terms, &mut errors);
        if !errors.is_empty() {
            return Err(unprocessable(errors));
        }
        Ok(SearchParams {
            role: role_name(self.role),
            request: SearchRequest {
                text: self.search_term,
                terms: self.terms,
                operator,
                is_words_alone: false,
            },
            limit,
            skip,
            sources: self.sources,
            include_body: self.include_body,
            explain: self.explain,
            sort,
            facets: self.facets,
            matches,
            budget_tokens,
        })
    }
}

/// A number of a query, or what holds when it is absent; 422 beyond 1 to the most.
pub(crate) fn bounded(
    field: &'static str,
    value: Option<usize>,
    (default, most): (usize, usize),
) -> Result<usize, Problem> {
    let value = value.unwrap_or(default);
    if (1..=most).contains(&value) {
        return Ok(value);
    }
    let detail = format!("expected a whole number from 1 to {most}, found {value}");
    Err(unprocessable(vec![FieldError::new(field, detail)]))
}

/// 422 with the single faults; the detail repeats them for those who read only that.
pub(crate) fn unprocessable(errors: Vec<FieldError>) -> Problem {
    let detail: Vec<String> = errors
        .iter()
        .map(|error| format!("{}: {}", error.field, error.detail))
        .collect();
    Problem::unprocessable(detail.join("; "), errors)
}

fn number(
    field: &str,
    value: Option<&Number>,
    default: usize,
    most: usize,
    errors: &mut Vec<FieldError>,
) -> usize {
    let Some(value) = value else { return default };
    match value
        .as_u64()
        .and_then(|number| usize::try_from(number).ok())
    {
        Some(number) if number <= most => number,
        _ => {
            errors.push(FieldError::new(
                field,
                format!("expected a whole number from 0 to {most}, found {value}"),
            ));
            default
        }
    }
}

fn sort(value: Option<&str>, errors: &mut Vec<FieldError>) -> SortOrder {
    match value {
        None | Some("relevance") => SortOrder::Relevance,
        Some("newest") => SortOrder::Newest,
        Some("oldest") => SortOrder::Oldest,
        Some(_) => {
            errors.push(FieldError::new(
                "sort",
                "expected `relevance`, `newest` or `oldest`",
            ));
            SortOrder::Relevance
        }
    }
}

fn operator(value: Option<&str>, errors: &mut Vec<FieldError>) -> Option<Operator> {
    match value?.to_ascii_lowercase().as_str() {
        "and" => Some(Operator::And),
        "or" => Some(Operator::Or),
        _ => {
            errors.push(FieldError::new("operator", "expected `and` or `or`"));
            None
        }
    }
}

fn list(field: &str, values: &[String], errors: &mut Vec<FieldError>) {
    if values.len() > MAX_LIST {
        let detail = format!(
            "{} entries are too many; at most {MAX_LIST} are searched",
            values.len()
        );
        errors.push(FieldError::new(field, detail));
    }
    if let Some(at) = values.iter().position(|value| value.trim().is_empty()) {
        errors.push(FieldError::new(format!("{field}[{at}]"), "is empty"));
    }
}

fn text(field: &str, value: &str, terms: &[String], errors: &mut Vec<FieldError>) {
    if value.trim().is_empty() && terms.is_empty() {
        errors.push(FieldError::new(field, "is empty; give at least one word"));
    }
    if value.len() > MAX_QUERY_BYTES {
        let detail = format!(
            "{} bytes are too long; at most {MAX_QUERY_BYTES} are searched",
            value.len()
        );
        errors.push(FieldError::new(field, detail));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(json: &str) -> Result<SearchParams, Problem> {
        serde_json::from_str::<SearchBody>(json)
            .expect("well-formed")
            .check()
    }

    #[test]
    fn contract_an_empty_role_is_the_default_one() {
        let params = check(r#"{"search_term":"orbit","role":""}"#).unwrap();
        assert_eq!(params.role, None);
    }

    #[test]
    fn the_contract_s_body_is_enough() {
        let params = check(r#"{"search_term":"orbit","limit":5,"role":"Everything"}"#).unwrap();
        assert_eq!(
            (params.limit, params.skip, params.role.as_deref()),
            (5, 0, Some("Everything"))
        );
        assert_eq!(
            check(r#"{"search_term":"orbit"}"#).unwrap().limit,
            DEFAULT_LIMIT
        );
    }

    #[test]
    fn s11_numbers_out_of_range_are_named() {
        for limit in ["-1", "18446744073709551616", "1001", "1.5", "1e400"] {
            let Ok(body) = serde_json::from_str::<SearchBody>(&format!(
                r#"{{"search_term":"x","limit":{limit}}}"#
            )) else {
                continue; // 1e400 is refused by the JSON parser itself.
            };
            let problem = body.check().unwrap_err();
            assert_eq!(problem.status().as_u16(), 422, "{limit}");
            assert!(
                problem
                    .detail()
                    .starts_with("limit: expected a whole number from 0 to 1000"),
                "{problem}"
            );
        }
    }

    #[test]
    fn every_wrong_field_is_named_at_once() {
        let problem =
            check(r#"{"search_term":" ","limit":-1,"skip":-2,"operator":"xor","sources":[""]}"#)
                .unwrap_err();
        let fields: Vec<_> = problem
            .document(None)
            .errors
            .into_iter()
            .map(|error| error.field)
            .collect();
        assert_eq!(
            fields,
            ["limit", "skip", "operator", "sources[0]", "search_term"]
        );
    }

    #[test]
    fn s11_a_hundred_thousand_terms_are_too_many() {
        let terms = vec!["x".to_owned(); 100_000];
        let problem = SearchBody {
            terms,
            ..SearchBody::default()
        }
        .check()
        .unwrap_err();
        assert!(
            problem.detail().contains("100000 entries are too many"),
            "{problem}"
        );
    }
}
