//! Search over machines: indexers publish to the object storage, one at a time, and searchers
//! answer from what is published. The one that publishes is killed, and the answers are compared.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

use super::super::stop_signal::{DemoStopSignal, POLL_INTERVAL};
use super::super::{http, terminal};
use super::member::ClusterMember;

/// What is asked before and after.
const QUERY: &str = "restart policy of a supervisor";
/// Results that are compared.
const RESULTS: usize = 10;
/// A page that is written when another indexer publishes, and a word that only it has.
const NEW_PAGE: &str = "after-the-kill.md";
const NEW_WORD: &str = "quokkaflight";
/// How long something may take to be published and fetched.
const TIMEOUT: Duration = Duration::from_secs(120);

/// The search servers.
pub(super) struct SearchMembers {
    /// What is searched.
    pub(super) docs: PathBuf,
    /// How many pages that are at first.
    pub(super) pages: usize,
    pub(super) indexers: Vec<ClusterMember>,
    pub(super) searchers: Vec<ClusterMember>,
}

/// The role over the pages in `docs`, as a role file says it.
pub(super) fn roles(docs: &Path) -> Value {
    let source = json!({ "name": "Docs", "service": "LocalFiles", "location": docs });
    let role = json!({ "name": "Docs", "relevance_function": "BM25F", "haystacks": [source] });
    json!({ "roles": [role], "default_role": "Docs" })
}

impl SearchMembers {
    /// All of them.
    pub(super) fn all(&mut self) -> impl Iterator<Item = &mut ClusterMember> {
        self.indexers.iter_mut().chain(&mut self.searchers)
    }

    /// Starts them, and waits until one publishes and all answer. False when it was interrupted
    /// before.
    ///
    /// # Errors
    /// When one does not start, or nothing is published.
    pub(super) fn start(&mut self, stop: &DemoStopSignal) -> Result<bool> {
        for member in self.all() {
            if !member.start(stop)? {
                return Ok(false);
            }
        }
        let Some(publisher) = self.until_published(stop)? else {
            return Ok(false);
        };
        for (at, member) in self.indexers.iter().enumerate() {
            let role = match at == publisher {
                true => "publishes",
                false => "stands by",
            };
            terminal::line(&format!("{:<15} {} {role}", member.name, member.address));
        }
        for member in &self.searchers {
            terminal::line(&format!("{:<15} {} answers", member.name, member.address));
        }
        Ok(true)
    }

    /// Kills the indexer that publishes, and compares the answers of all searchers before and
    /// after; then a new page has to be found, which the other one publishes. False when it was
    /// interrupted before.
    ///
    /// # Errors
    /// When answers differ, or nobody publishes any more.
    pub(super) fn show(&mut self, stop: &DemoStopSignal) -> Result<bool> {
        let before = self.answers(QUERY)?;
        let found = before[0].as_array().map_or(0, Vec::len);
        if found == 0 {
            bail!("nothing is found for `{QUERY}`");
        }
        let publisher = self.publisher().context("no indexer publishes")?;
        let killed = &mut self.indexers[publisher];
        let process = killed.kill().context("the indexer does not run")?;
        let name = killed.name.clone();
        let began = Instant::now();
        terminal::line(&format!(
            "killed the indexer that publishes, {name} (process {process}, SIGKILL)"
        ));
        let meanwhile = self.answers(QUERY)?;
        let Some(next) = self.until_published(stop)? else {
            return Ok(false);
        };
        let took = began.elapsed().as_secs_f64();
        terminal::line(&format!(
            "{} publishes after {took:.1} s",
            self.indexers[next].name
        ));
        let after = self.answers(QUERY)?;
        let all: Vec<&Value> = before.iter().chain(&meanwhile).chain(&after).collect();
        if all.iter().any(|answer| *answer != all[0]) {
            bail!("the searchers' answers differ: {all:?}");
        }
        terminal::line(&format!(
            "{} answers of {} searchers before, meanwhile and after: the same {found} results, \
             places and scores",
            all.len(),
            self.searchers.len()
        ));
        self.find_new_page(next, stop)?;
        self.indexers[publisher].start(stop)
    }

    /// A page that is new reaches every searcher.
    fn find_new_page(&mut self, publisher: usize, stop: &DemoStopSignal) -> Result<()> {
        std::fs::write(
            self.docs.join(NEW_PAGE),
            format!("# {NEW_WORD}\n\n{NEW_WORD}\n"),
        )?;
        let began = Instant::now();
        let is_found = |answer: &Value| answer.as_array().is_some_and(|hits| !hits.is_empty());
        while !self.answers(NEW_WORD)?.iter().all(is_found) {
            self.check(began, "a new page is not found")?;
            if stop.wait_for(POLL_INTERVAL) {
                return Ok(());
            }
        }
        terminal::line(&format!(
            "a new page was found by all searchers {:.1} s after it was written, published by {}",
            began.elapsed().as_secs_f64(),
            self.indexers[publisher].name
        ));
        Ok(())
    }

    /// The indexer that has the source's lease.
    fn publisher(&self) -> Option<usize> {
        self.indexers.iter().position(is_ready)
    }

    /// Waits until an indexer publishes and all searchers have what it published. `None` when it
    /// was interrupted before.
    fn until_published(&mut self, stop: &DemoStopSignal) -> Result<Option<usize>> {
        let began = Instant::now();
        loop {
            let have_all = self.searchers.iter().all(|it| self.has_all(it));
            if let Some(found) = self.publisher().filter(|_| have_all) {
                return Ok(Some(found));
            }
            self.check(began, "no indexer publishes, or a searcher has nothing")?;
            if stop.wait_for(POLL_INTERVAL) {
                return Ok(None);
            }
        }
    }

    /// Whether a searcher is ready with all pages: a snapshot may be of the first of them.
    fn has_all(&self, searcher: &ClusterMember) -> bool {
        let health = http::get(searcher.health, "/health");
        let health = health.and_then(|answer| http::json(&answer, "/health"));
        let documents = health
            .ok()
            .and_then(|it| it["sources"][0]["documents"].as_u64());
        is_ready(searcher) && documents.is_some_and(|count| count >= self.pages as u64)
    }

    fn check(&mut self, began: Instant, otherwise: &str) -> Result<()> {
        self.all().try_for_each(ClusterMember::check_alive)?;
        if began.elapsed() > TIMEOUT {
            bail!("{otherwise} after {} s", TIMEOUT.as_secs());
        }
        Ok(())
    }

    /// What each searcher finds: ids and scores, in order.
    fn answers(&self, query: &str) -> Result<Vec<Value>> {
        let ask = |member: &ClusterMember| {
            let body = json!({ "search_term": query, "role": "Docs", "limit": RESULTS });
            let headers = [("Content-Type", "application/json")];
            let path = "POST /api/documents/search";
            let answer = http::send(member.address, path, &headers, &body.to_string())?;
            let answer = http::json(&answer, path)?;
            let hits = answer["results"].as_array().cloned().unwrap_or_default();
            let hits = hits.iter().map(|hit| json!([hit["id"], hit["score"]]));
            Ok(hits.collect())
        };
        self.searchers.iter().map(ask).collect()
    }
}

fn is_ready(member: &ClusterMember) -> bool {
    http::get(member.health, "/readyz").is_ok_and(|answer| answer.status == 200)
}
