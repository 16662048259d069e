//! Webhooks that are sent while a leader is killed, each until somebody acknowledges it, as a forge
//! does; and the count of what became of them.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use scripted_peers::Reply;
use serde_json::Value;

use super::super::http;
use super::super::secrets::DemoSecrets;
use super::super::stop_signal::DemoStopSignal;

/// Between two deliveries, and before one is sent again.
const INTERVAL: Duration = Duration::from_millis(250);
/// How long one may be refused.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A webhook.
#[derive(Debug, Clone)]
pub(super) struct DemoDelivery {
    /// `push` or `issue_comment`.
    pub(super) event: &'static str,
    pub(super) id: String,
    pub(super) body: String,
    /// What its run is found by: a commit, or nothing.
    pub(super) key: String,
}

/// Where webhooks are sent, and what they are signed with.
#[derive(Clone)]
pub(super) struct Sender {
    pub(super) secrets: DemoSecrets,
    pub(super) to: SocketAddr,
}

impl Sender {
    /// Sends each until it is acknowledged.
    ///
    /// # Errors
    /// When one is refused for another reason than that nobody can take it now.
    pub(super) fn send(&self, deliveries: &[DemoDelivery]) -> Result<()> {
        for delivery in deliveries {
            self.until_accepted(delivery)?;
            std::thread::park_timeout(INTERVAL);
        }
        Ok(())
    }

    fn until_accepted(&self, delivery: &DemoDelivery) -> Result<Value> {
        let started = Instant::now();
        loop {
            let (id, body) = (Some(&*delivery.id), &delivery.body);
            match self.secrets.post(self.to, delivery.event, id, body) {
                Ok(answer) if (200..300).contains(&answer.status) => {
                    return http::json(&answer, &delivery.id);
                }
                Ok(answer) if ![503, 504].contains(&answer.status) => {
                    bail!(
                        "{} was answered with {}: {}",
                        delivery.id,
                        answer.status,
                        answer.body
                    );
                }
                // Nobody, or not now: a forge sends it again.
                _ if started.elapsed() > TIMEOUT => {
                    bail!("{} was not taken for {} s", delivery.id, TIMEOUT.as_secs());
                }
                _ => std::thread::park_timeout(INTERVAL),
            }
        }
    }

    /// How many of them are known: sent again, each is a duplicate.
    ///
    /// # Errors
    /// As [`Sender::send`].
    pub(super) fn count_known(&self, deliveries: &[DemoDelivery]) -> Result<usize> {
        let mut known = 0;
        for delivery in deliveries {
            let answer = self.until_accepted(delivery)?;
            let mut words = [&answer["status"], &answer["outcome"]].into_iter();
            known += usize::from(words.any(|word| word == "duplicate"));
        }
        Ok(known)
    }
}

/// What became of accepted deliveries.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) accepted: usize,
    pub(super) known: usize,
    /// Runs that they have together.
    pub(super) runs: usize,
    /// Runs that have not ended.
    pub(super) open: usize,
    pub(super) lost: usize,
    pub(super) doubled: usize,
    /// How the runs ended, and how many did.
    pub(super) ends: BTreeMap<String, usize>,
}

impl Tally {
    /// Counts the runs (key, and how it ended) of deliveries by their keys.
    pub(super) fn of_keys(deliveries: &[DemoDelivery], runs: &[(String, Option<String>)]) -> Self {
        let mut tally = Self {
            accepted: deliveries.len(),
            ..Self::default()
        };
        for delivery in deliveries {
            let own = runs.iter().filter(|(key, _)| *key == delivery.key);
            let own: Vec<_> = own.map(|(_, end)| end.as_deref()).collect();
            tally.lost += usize::from(own.is_empty());
            tally.doubled += own.len().saturating_sub(1);
            tally.add(&own);
        }
        tally
    }

    fn add(&mut self, ends: &[Option<&str>]) {
        self.runs += ends.len();
        for end in ends {
            match end {
                Some(end) => *self.ends.entry((*end).to_owned()).or_default() += 1,
                None => self.open += 1,
            }
        }
    }

    /// Whether everything is as it should be.
    pub(super) fn is_whole(&self) -> bool {
        self.known == self.accepted
            && self.runs == self.accepted
            && [self.open, self.lost, self.doubled] == [0; 3]
    }

    /// For people.
    pub(super) fn line(&self) -> String {
        let ends = self
            .ends
            .iter()
            .map(|(end, count)| format!("{count} {end}"));
        format!(
            "{} accepted, {} known when sent again, {} runs ({}), {} open, {} lost, {} doubled",
            self.accepted,
            self.known,
            self.runs,
            ends.collect::<Vec<_>>().join(", "),
            self.open,
            self.lost,
            self.doubled
        )
    }
}

/// What an answer says; `None` when nobody can say it now.
///
/// # Errors
/// When it is another refusal.
pub(super) fn json_unless_busy(answer: &Reply, of: &str) -> Result<Option<Value>> {
    match answer.status {
        503 | 504 => Ok(None),
        _ => http::json(answer, of).map(Some),
    }
}

/// Counts until all runs have ended, or the time is over. `None` when it was interrupted before.
///
/// # Errors
/// When they cannot be counted, or nobody could say what there is.
pub(super) fn settled(
    timeout: Duration,
    stop: &DemoStopSignal,
    mut count: impl FnMut() -> Result<Option<Tally>>,
) -> Result<Option<Tally>> {
    let started = Instant::now();
    loop {
        let tally = count()?;
        let is_late = started.elapsed() > timeout;
        match tally {
            Some(tally) if is_late || (tally.open == 0 && tally.lost == 0) => {
                return Ok(Some(tally));
            }
            None if is_late => bail!("nobody answers for {} s", timeout.as_secs()),
            _ => {}
        }
        if stop.wait_for(INTERVAL) {
            return Ok(None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delivery(key: &str) -> DemoDelivery {
        DemoDelivery {
            event: "push",
            id: format!("id-{key}"),
            body: String::new(),
            key: key.to_owned(),
        }
    }

    #[test]
    fn i18_what_is_lost_doubled_or_open_is_counted() {
        let deliveries = ["a", "b", "c", "d"].map(delivery);
        let run = |key: &str, end: Option<&str>| (key.to_owned(), end.map(str::to_owned));
        let runs = [
            run("a", Some("succeeded")),
            run("b", Some("succeeded")),
            run("b", Some("lost")),
            run("c", None),
            run("other", None),
        ];
        let mut tally = Tally::of_keys(&deliveries, &runs);
        assert_eq!(
            (tally.lost, tally.doubled, tally.open, tally.runs),
            (1, 1, 1, 4)
        );
        tally.known = 4;
        assert!(!tally.is_whole());
        let runs = ["a", "b", "c", "d"].map(|key| run(key, Some("succeeded")));
        let mut whole = Tally::of_keys(&deliveries, &runs);
        assert!(!whole.is_whole(), "none was sent again yet");
        whole.known = 4;
        assert!(whole.is_whole(), "{whole:?}");
        assert!(
            whole
                .line()
                .contains("4 runs (4 succeeded), 0 open, 0 lost, 0 doubled")
        );
    }
}
