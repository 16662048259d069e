//! Servers of the Model Context Protocol as sources: a program on this machine, or an address.
//!
//! ```text
//! McpSource::search ─▶ Session (made once, kept) ─tools/call─▶ items
//!                         │ resources/list, resources/read ─▶ items that hold a word (read again now and then)
//!                         └ Wire: Stdio (a program with its own process group) │ Http (POST, JSON or events)
//! ```
//!
//! What a server says is data: messages, items and texts are bounded, control characters go,
//! nothing it names is opened. A session that breaks is made anew by the next search.

mod endpoint;
mod error;
mod http;
mod session;
mod stdio;
mod wire;

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::Shared;
use search_sources_core::ParsedItems;

pub use endpoint::McpEndpoint;
pub use error::McpError;
use session::McpSession;

/// Longest time for start, handshake and lists; searches meanwhile say that it is still starting.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(60);

type SessionFuture = Shared<Pin<Box<dyn Future<Output = Result<Rc<McpSession>, McpError>>>>>;

/// A server of the protocol that is asked at query time. Dropping it ends the server's program with
/// all it has started.
pub(crate) struct McpSource {
    place: McpEndpoint,
    session: RefCell<Option<SessionFuture>>,
}

impl McpSource {
    pub(crate) fn new(place: McpEndpoint) -> Self {
        Self {
            place,
            session: RefCell::default(),
        }
    }

    /// Reaches the server, so that the first search does not have to.
    pub(crate) fn warm(&self) {
        drop(self.connecting());
    }

    /// Asks for items that have to do with `words`, within `deadline`.
    pub(crate) async fn search(
        &self,
        words: &str,
        limit: usize,
        deadline: Duration,
    ) -> Result<ParsedItems, McpError> {
        let began = tokio::time::Instant::now();
        let left = || deadline.saturating_sub(began.elapsed());
        let session = self.session(deadline).await?;
        let found = self.search_in(&session, words, limit, left()).await;
        // A server that was started anew knows nothing of the session, so the question was not
        // answered: once more.
        if !found.as_ref().is_err_and(McpError::is_unknown_session) {
            return found;
        }
        let session = self.session(left()).await?;
        self.search_in(&session, words, limit, left()).await
    }

    async fn search_in(
        &self,
        session: &Rc<McpSession>,
        words: &str,
        limit: usize,
        within: Duration,
    ) -> Result<ParsedItems, McpError> {
        let found = session.search(words, limit, within).await;
        if found.as_ref().is_err_and(McpError::breaks_session) {
            self.session.borrow_mut().take();
        }
        found
    }

    /// The session; it goes on being made when the deadline passes.
    async fn session(&self, deadline: Duration) -> Result<Rc<McpSession>, McpError> {
        let connecting = self.connecting();
        let Ok(session) = tokio::time::timeout(deadline, connecting).await else {
            return Err(McpError::Starting);
        };
        match session {
            Ok(session) if session.is_open() => Ok(session),
            Ok(session) => {
                self.session.borrow_mut().take();
                Err(session.end_error())
            }
            Err(error) => {
                self.session.borrow_mut().take();
                Err(error)
            }
        }
    }

    fn connecting(&self) -> SessionFuture {
        let mut kept = self.session.borrow_mut();
        if let Some(connecting) = kept.as_ref() {
            return connecting.clone();
        }
        let place = self.place.clone();
        let connect = async move {
            let made = tokio::time::timeout(CONNECT_TIMEOUT, McpSession::connect(&place)).await;
            made.unwrap_or(Err(McpError::TimedOut {
                what: "the start".to_owned(),
                after: CONNECT_TIMEOUT,
            }))
            .map(Rc::new)
        };
        let connecting: SessionFuture =
            (Box::pin(connect) as Pin<Box<dyn Future<Output = _>>>).shared();
        // Goes on when the search that began it has given up.
        actix_rt::spawn(connecting.clone().map(drop));
        *kept = Some(connecting.clone());
        connecting
    }
}
