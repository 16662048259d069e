//! What the handlers share, and how the failures of the actors become answers.

use std::sync::Arc;
use std::time::Instant;

use edge_web::{FieldError, Problem};
use search_actors::{RoleRegistry, RoleSet, SearchService};
use search_engine::answering::SearchFailure;
use supervision::{AskError, ChildRef};
use url::Url;

use crate::cache::AnswerCache;
use crate::metrics::SearchMetrics;
use crate::runs::RunFeed;
use crate::wire::unprocessable;

/// What the handlers of one server share.
#[derive(Debug)]
pub struct SearchState {
    /// Who searches.
    pub search: ChildRef<SearchService>,
    /// What can be searched.
    pub registry: RoleRegistry,
    /// The runs that this process keeps; none in a search server alone.
    pub runs: Option<RunFeed>,
    /// Where `/ws` leads instead of here.
    pub ws_upstream: Option<Url>,
    /// Answers given before.
    pub cache: AnswerCache,
    /// What searches are counted with.
    pub metrics: SearchMetrics,
    /// When the server started, for `/health`.
    pub started: Instant,
}

impl SearchState {
    /// What can be searched at this moment.
    pub(crate) fn roles(&self) -> Arc<RoleSet> {
        self.registry.now()
    }
}

/// Why the service has no reply, as an answer.
pub(crate) fn ask_problem(error: &AskError) -> Problem {
    if let AskError::TimedOut { after, .. } = error {
        let detail = format!("the search took longer than {} s", after.as_secs());
        return Problem::gateway_timeout(detail);
    }
    let full = "as many searches are under way as SERVICE_MAX_CONCURRENT_SEARCHES allows";
    edge_web::ask_problem(error, full, "the search service is being restarted")
}

/// Why a search has no answer, as an answer.
pub(crate) fn search_problem(failure: &SearchFailure) -> Problem {
    let detail = failure.to_string();
    match failure {
        SearchFailure::UnknownRole { .. } => unprocessable(vec![FieldError::new("role", detail)]),
        SearchFailure::UnknownSource { .. } => {
            unprocessable(vec![FieldError::new("sources", detail)])
        }
        SearchFailure::Query(error) => {
            let position = error.position();
            let detail = match position {
                Some(position) => format!("{detail} (character {})", position + 1),
                None => detail,
            };
            let fault = FieldError::new("search_term", detail);
            unprocessable(vec![fault.at_character(position)])
        }
        SearchFailure::UnknownDocument { .. } | SearchFailure::GoneDocument { .. } => {
            Problem::not_found(detail)
        }
        SearchFailure::Unavailable { .. } | SearchFailure::Unscored => {
            Problem::unavailable(detail, 1)
        }
        SearchFailure::Index { .. } => {
            tracing::error!(event = "search.failed", error = %detail, "a search failed");
            Problem::internal()
        }
    }
}
