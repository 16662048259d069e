//! The actor that asks: connections, answers that are still fresh and pauses live with it, on its
//! own thread.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, Context, Handler, ResponseFuture};
use futures_util::future::join_all;

use super::client::SourceClient;
use super::source_outcome::SourceOutcome;
use crate::messages::{QuerySources, RolesReplaced};
use crate::registry::RoleRegistry;
use crate::source_handle::SourceHandle;

/// The actor. An incarnation that fails loses what it kept, nothing else.
pub struct RemoteSources {
    registry: RoleRegistry,
    sources: Vec<Rc<QueriedSource>>,
    deadline: Duration,
}

struct QueriedSource {
    handle: Arc<SourceHandle>,
    source: SourceClient,
}

impl RemoteSources {
    /// A service for those sources of the role sets that are asked; each question ends within
    /// `deadline`.
    #[must_use]
    pub fn new(registry: &RoleRegistry, deadline: Duration) -> Self {
        Self {
            registry: registry.clone(),
            sources: Vec::new(),
            deadline,
        }
    }

    /// Knows the sources of the role set in force; those that stay keep what they know.
    fn renew(&mut self) {
        let role_set = self.registry.now();
        let asked = role_set.handles().iter().filter(|handle| handle.is_live());
        let sources = asked.filter_map(|handle| {
            let known = self
                .sources
                .iter()
                .find(|one| Arc::ptr_eq(&one.handle, handle));
            known
                .map(Rc::clone)
                .or_else(|| QueriedSource::start(handle, self.deadline))
        });
        self.sources = sources.collect();
    }
}

impl QueriedSource {
    fn start(handle: &Arc<SourceHandle>, deadline: Duration) -> Option<Rc<Self>> {
        let source = SourceClient::new(&handle.haystack, deadline)?;
        match &source {
            SourceClient::Refused(reason) => handle.fail(reason),
            SourceClient::Remote(_) | SourceClient::Tasks(_) => handle.mark_ready(),
        }
        source.warm();
        let handle = Arc::clone(handle);
        Some(Rc::new(Self { handle, source }))
    }
}

impl Actor for RemoteSources {
    type Context = Context<Self>;

    fn started(&mut self, _: &mut Self::Context) {
        self.renew();
    }
}

impl Handler<RolesReplaced> for RemoteSources {
    type Result = ();

    fn handle(&mut self, _: RolesReplaced, _: &mut Self::Context) {
        self.renew();
    }
}

impl Handler<QuerySources> for RemoteSources {
    type Result = ResponseFuture<Vec<SourceOutcome>>;

    fn handle(&mut self, asked: QuerySources, _: &mut Self::Context) -> Self::Result {
        let chosen = self
            .sources
            .iter()
            .filter(|one| asked.ids.contains(&one.handle.id));
        let chosen: Vec<Rc<QueriedSource>> = chosen.map(Rc::clone).collect();
        let (deadline, words) = (self.deadline, Rc::<str>::from(asked.words));
        let questions = chosen.into_iter().map(move |one| {
            let words = Rc::clone(&words);
            async move {
                let outcome = one
                    .source
                    .query(one.handle.id.clone(), &words, deadline)
                    .await;
                if let Some(error) = &outcome.error {
                    let source = one.handle.haystack.name.as_str();
                    tracing::warn!(event = "source.unanswered", source, %error);
                }
                one.handle.record_answer(outcome.error.as_deref());
                outcome
            }
        });
        Box::pin(join_all(questions))
    }
}
