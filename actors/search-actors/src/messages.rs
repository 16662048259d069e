//! The search server's messages: thin wrappers of core types.

use actix::Message;
use search_core::answer::{DocumentView, SearchAnswer};
use search_engine::answering::{DocumentRequest, SearchFailure, SearchOrder};

/// Search a role.
///
/// Sent by: the HTTP edge, terminal clients in process. Handled by: `SearchDesk`.
/// Reply: the page asked for, or why there is none.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<SearchAnswer, SearchFailure>")]
pub struct Search(pub SearchOrder);

/// Read one document again from its source.
///
/// Sent by: the HTTP edge. Handled by: `SearchDesk`. Reply: its text, or why there is none.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<DocumentView, SearchFailure>")]
pub struct ReadDocument(pub DocumentRequest);

/// Compare the source with its index again, now.
///
/// Sent by: tests; the route of the next milestone. Handled by: `IndexKeeper`. Reply: none;
/// `GET /health` shows the progress.
#[derive(Debug, Clone, Copy, Message)]
#[rtype(result = "()")]
pub struct Reindex;
