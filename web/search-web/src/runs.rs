//! News of runs, for those who subscribe to `runs` on `/ws`: a port. Whoever keeps runs in this
//! process publishes how they stand; this server knows nothing else of them. A product's runs are
//! shown only to a subscriber who gives that product's token, whatever this server itself asks for.
//!
//! ```text
//! platform: what the runner and the orchestrator keep ──publish──▶ RunFeed ──subscribe(tokens)──▶ /ws
//! ```

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use config_core::Secret;
use edge_web::SignInAttempts;
use edge_web::guard::ApiToken;
use serde::Serialize;
use tokio::sync::{Notify, watch};

/// A run as `/ws` tells of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RunNews {
    /// Who keeps it: `runner` or `orchestrator`.
    pub product: &'static str,
    /// Its id there.
    pub id: String,
    /// What runs: the workflow's name, or the agent's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// `owner/repo`.
    pub repository: String,
    /// Where it is, in the words of who keeps it.
    pub state: String,
    /// Whether nothing follows.
    pub ended: bool,
    /// Why it ended as it did, or what it waits for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The tokens that open the runs of a product: those of its own API. A product without one shows
/// its runs to nobody here.
pub type RunGuards = BTreeMap<&'static str, ApiToken>;

/// Why nobody is subscribed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SubscribeError {
    /// No token was given, or none that opens anything.
    NoToken,
    /// Too many wrong tokens came; so long nothing is compared.
    Later(Duration),
}

/// The runs as they stand. Clones are the same one.
#[derive(Debug, Clone)]
pub struct RunFeed(Arc<Published>);

#[derive(Debug)]
struct Published {
    guards: RunGuards,
    attempts: SignInAttempts,
    now: watch::Sender<Arc<[RunNews]>>,
    asked: Notify,
}

impl RunFeed {
    /// Nothing is published yet; `guards` decide who will see it.
    #[must_use]
    pub fn new(guards: RunGuards) -> Self {
        Self(Arc::new(Published {
            guards,
            attempts: SignInAttempts::default(),
            now: watch::Sender::new(Arc::default()),
            asked: Notify::new(),
        }))
    }

    /// Resolves when somebody has begun to listen since it resolved last: what is published was let
    /// go stale while nobody did.
    pub async fn subscribed(&self) {
        self.0.asked.notified().await;
    }

    /// Whether anybody listens.
    #[must_use]
    pub fn is_heard(&self) -> bool {
        self.0.now.receiver_count() > 0
    }

    /// Puts these runs, newest first, in the place of what was published before.
    pub fn publish(&self, runs: Vec<RunNews>) {
        self.0.now.send_replace(runs.into());
    }

    /// Begins to listen to the runs that `tokens`, given by `peer`, open; the first news are as
    /// fresh as what is published next.
    pub(crate) fn subscribe(
        &self,
        tokens: Vec<Secret<String>>,
        peer: Option<IpAddr>,
    ) -> Result<RunListener, SubscribeError> {
        if tokens.is_empty() {
            return Err(SubscribeError::NoToken);
        }
        let opens = |token: &Secret<String>| {
            let mut guards = self.0.guards.values();
            guards.any(|guard| guard.is(token.expose().as_bytes()))
        };
        match self.0.attempts.check(peer, || tokens.iter().all(opens)) {
            Err(wait) => return Err(SubscribeError::Later(wait)),
            Ok(false) => return Err(SubscribeError::NoToken),
            Ok(true) => {}
        }
        let now = self.0.now.subscribe();
        self.0.asked.notify_one();
        Ok(RunListener {
            feed: self.clone(),
            tokens,
            now,
            reported: BTreeMap::new(),
            is_first: true,
        })
    }

    /// Whether one of these tokens opens the runs of a product now: a token that was replaced opens
    /// nothing any more.
    fn is_open(&self, product: &str, tokens: &[Secret<String>]) -> bool {
        let guard = self.0.guards.get(product);
        guard.is_some_and(|guard| {
            tokens
                .iter()
                .any(|token| guard.is(token.expose().as_bytes()))
        })
    }
}

/// What one connection was told of runs.
#[derive(Debug)]
pub(crate) struct RunListener {
    feed: RunFeed,
    tokens: Vec<Secret<String>>,
    now: watch::Receiver<Arc<[RunNews]>>,
    reported: BTreeMap<(&'static str, String), RunNews>,
    is_first: bool,
}

impl RunListener {
    /// Whether one of its tokens opens anything still.
    pub(crate) fn is_open(&self) -> bool {
        let mut products = self.feed.0.guards.keys();
        products.any(|product| self.feed.is_open(product, &self.tokens))
    }

    /// The runs that are new or stand otherwise than was told; none when nothing was published
    /// since. What was published first after the subscription is told even when it is empty.
    pub(crate) fn news(&mut self) -> Option<Vec<RunNews>> {
        // An end of the publisher's is no news.
        if !self.now.has_changed().unwrap_or(false) {
            return None;
        }
        let all = Arc::clone(&self.now.borrow_and_update());
        let products: Vec<&str> = self.feed.0.guards.keys().copied().collect();
        let open: Vec<&str> = products
            .into_iter()
            .filter(|product| self.feed.is_open(product, &self.tokens))
            .collect();
        let runs: Vec<&RunNews> = all
            .iter()
            .filter(|run| open.contains(&run.product))
            .collect();
        let name = |run: &RunNews| (run.product, run.id.clone());
        let news = runs
            .iter()
            .filter(|run| self.reported.get(&name(run)) != Some(**run));
        let news: Vec<RunNews> = news.map(|run| (*run).clone()).collect();
        // Only what is published is remembered: as much as a page of runs.
        let is_first = std::mem::take(&mut self.is_first);
        self.reported = runs.iter().map(|run| (name(run), (*run).clone())).collect();
        (is_first || !news.is_empty()).then_some(news)
    }
}

#[cfg(test)]
mod tests {
    use config_core::Secret;
    use edge_web::guard::ApiToken;

    use super::{RunFeed, RunGuards, RunListener, RunNews, SubscribeError};

    fn run_of(product: &'static str, id: &str, state: &str) -> RunNews {
        RunNews {
            product,
            id: id.to_owned(),
            name: None,
            repository: "acme/main".to_owned(),
            state: state.to_owned(),
            ended: false,
            reason: None,
        }
    }

    fn run(id: &str, state: &str) -> RunNews {
        run_of("runner", id, state)
    }

    fn feed() -> RunFeed {
        let guard = |token| ApiToken::new(token).expect("a token");
        RunFeed::new(RunGuards::from([
            ("runner", guard("the runner's")),
            ("orchestrator", guard("the orchestrator's")),
        ]))
    }

    fn listen(feed: &RunFeed, tokens: &[&str]) -> Result<RunListener, SubscribeError> {
        let tokens = tokens.iter().map(|token| Secret::new((*token).to_owned()));
        feed.subscribe(tokens.collect(), None)
    }

    #[test]
    fn t11_runs_are_shown_with_the_token_of_their_product_only() {
        let feed = feed();
        for wrong in [&[][..], &[""], &["other"], &["the runner's", "other"]] {
            let refused = listen(&feed, wrong).err();
            assert_eq!(refused, Some(SubscribeError::NoToken), "{wrong:?}");
        }
        assert!(!feed.is_heard());
        let (of_runner, of_agents) = (run("1", "running"), run_of("orchestrator", "2", "queued"));
        for (tokens, shown) in [
            (&["the runner's"][..], vec![of_runner.clone()]),
            (&["the orchestrator's"], vec![of_agents.clone()]),
            (
                &["the runner's", "the orchestrator's"],
                vec![of_runner.clone(), of_agents.clone()],
            ),
        ] {
            let mut listener = listen(&feed, tokens).expect("it is open");
            feed.publish(vec![of_runner.clone(), of_agents.clone()]);
            assert_eq!(listener.news(), Some(shown), "{tokens:?}");
        }
    }

    #[test]
    fn t11_a_product_without_a_token_shows_its_runs_to_nobody() {
        let guard = ApiToken::new("the runner's").expect("a token");
        let feed = RunFeed::new(RunGuards::from([("runner", guard)]));
        let mut listener = listen(&feed, &["the runner's"]).expect("it is open");
        feed.publish(vec![run_of("orchestrator", "2", "queued")]);
        assert_eq!(listener.news(), Some(Vec::new()));
    }

    #[test]
    fn t11_a_subscription_is_over_with_its_token() {
        let token = std::sync::Arc::new(std::sync::Mutex::new("old"));
        let current = std::sync::Arc::clone(&token);
        let guard = ApiToken::following(move || Some((*current.lock().unwrap()).to_owned()));
        let feed = RunFeed::new(RunGuards::from([("orchestrator", guard)]));
        let listener = listen(&feed, &["old"]).expect("it is open");
        assert!(listener.is_open());
        *token.lock().unwrap() = "new";
        assert!(!listener.is_open());
    }

    #[test]
    fn t11_tokens_for_runs_cannot_be_guessed_at_will() {
        let feed = feed();
        let outcomes: Vec<_> = (0..11).map(|_| listen(&feed, &["guess"]).err()).collect();
        assert!(
            outcomes[..10]
                .iter()
                .all(|it| *it == Some(SubscribeError::NoToken))
        );
        assert!(matches!(outcomes[10], Some(SubscribeError::Later(_))));
        assert!(matches!(
            listen(&feed, &["the runner's"]).err(),
            Some(SubscribeError::Later(_))
        ));
    }

    #[test]
    fn only_what_has_changed_is_told_and_only_to_those_who_listen() {
        let feed = feed();
        feed.publish(vec![run("0", "running")]);
        assert!(!feed.is_heard());
        let mut listener = listen(&feed, &["the runner's"]).expect("it is open");
        assert!(feed.is_heard());
        assert_eq!(listener.news(), None, "what is there may be stale");
        feed.publish(vec![run("2", "received"), run("1", "running")]);
        let first = listener.news().expect("news");
        assert_eq!(first, [run("2", "received"), run("1", "running")]);
        feed.publish(vec![run("2", "running"), run("1", "running")]);
        assert_eq!(listener.news(), Some(vec![run("2", "running")]));
        feed.publish(vec![run("2", "running")]);
        assert_eq!(listener.news(), None, "forgotten runs are no news");
        drop(listener);
        assert!(!feed.is_heard());
    }

    #[test]
    fn that_there_are_none_is_told_once() {
        let feed = feed();
        let mut listener = listen(&feed, &["the runner's"]).expect("it is open");
        feed.publish(Vec::new());
        assert_eq!(listener.news(), Some(Vec::new()));
        feed.publish(Vec::new());
        assert_eq!(listener.news(), None);
    }
}
