//! Which of several servers is the primary, where more than one accepts writes: a former primary
//! that was started again has a store of its own, in which nothing counts any more.
//!
//! A process that knows the primary stays with it; one that does not uses none of them. Whatever
//! is seen, a server on an older timeline than one seen before is a former primary.

use super::fault::Fault;
use super::listener::{self, UnreplicatedFlag};
use parking_lot::Mutex;
use std::time::{Duration, Instant};
use tokio_postgres::{Client, Config, Row};

/// Longest wait for what the other servers of an address say.
pub(super) const SURVEY_LIMIT: Duration = Duration::from_secs(1);
/// How long it is believed that no other server accepts writes.
const SURVEY_INTERVAL: Duration = Duration::from_secs(2);

/// What tells servers apart that accept writes. Any role may ask it.
pub(super) const ASK: &str = "SELECT substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8), \
     (SELECT system_identifier::text FROM pg_control_system()), \
     extract(epoch FROM pg_postmaster_start_time())::text";

/// A server that accepts writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Primary {
    /// Its place in the address.
    pub(super) at: usize,
    /// Raised by each promotion; 0: not known.
    timeline: u32,
    /// The same for a server and its replicas.
    system: String,
    /// When it was started: two names with the same are one server.
    started: String,
}

impl Primary {
    /// From the answer to [`ASK`].
    pub(super) fn from_row(at: usize, row: Option<&Row>) -> Self {
        let text = |n: usize| row.and_then(|row| row.try_get::<_, String>(n).ok());
        let timeline = text(0).and_then(|digits| u32::from_str_radix(&digits, 16).ok());
        Self {
            at,
            timeline: timeline.unwrap_or_default(),
            system: text(1).unwrap_or_default(),
            started: text(2).unwrap_or_else(|| format!("server {at}")),
        }
    }

    fn is_older_than(&self, other: &Self) -> bool {
        self.system == other.system && self.timeline < other.timeline
    }
}

/// What is known of the servers of an address.
#[derive(Debug, Default)]
pub(super) struct Primaries(Mutex<ServerSurvey>);

#[derive(Debug, Default, Clone)]
struct ServerSurvey {
    /// The one that is used.
    used: Option<Primary>,
    /// The one with the highest timeline that was seen.
    newest: Option<Primary>,
    surveyed: Option<Instant>,
}

impl Primaries {
    /// Believes what another has seen, but for which one is to be used.
    pub(super) fn learn(&self, other: &Self) {
        let newest = other.0.lock().newest.clone();
        self.0.lock().newest = newest;
    }

    /// Uses the server that another does: the store was taken there.
    pub(super) fn follow(&self, other: &Self) {
        let known = other.0.lock().clone();
        *self.0.lock() = known;
    }

    /// Whether the other servers have to be asked: always where another one than before was
    /// reached.
    pub(super) fn is_survey_due(&self, reached: &Primary) -> bool {
        let mut known = self.0.lock();
        let is_another = known.used.as_ref() != Some(reached);
        let is_due = is_another
            || known
                .surveyed
                .is_none_or(|at| at.elapsed() > SURVEY_INTERVAL);
        if is_due {
            known.surveyed = Some(Instant::now());
        }
        is_due
    }

    /// Which of those that accept writes is to be used; the first is the one that was reached.
    pub(super) fn choose(
        &self,
        found: &[Primary],
        name: impl Fn(usize) -> String,
    ) -> Result<usize, Fault> {
        let mut known = self.0.lock();
        if found.len() > 1 {
            known.surveyed = None;
        }
        let (used, complaint) = decide(&known, found, name)?;
        let newest = found.iter().max_by_key(|one| one.timeline);
        if let Some(newest) = newest
            && !(known.newest.as_ref()).is_some_and(|seen| newest.is_older_than(seen))
        {
            known.newest = Some(newest.clone());
        }
        if let Some(complaint) = complaint {
            tracing::error!(event = "store.two_primaries", "{complaint}");
        }
        let at = used.at;
        known.used = Some(used);
        Ok(at)
    }
}

/// The server to be used, and what is wrong all the same.
fn decide(
    known: &ServerSurvey,
    found: &[Primary],
    name: impl Fn(usize) -> String,
) -> Result<(Primary, Option<String>), Fault> {
    let Some(first) = found.first() else {
        return Err(Fault::Lost("no server accepts writes".to_owned()));
    };
    let is_former = |one: &Primary| {
        let newest = known.newest.as_ref();
        newest.is_some_and(|newest| one.is_older_than(newest))
    };
    let Some(complaint) = complaint(found, &name) else {
        return match is_former(first) {
            false => Ok((first.clone(), None)),
            true => Err(Fault::Lost(format!(
                "{} accepts writes, but is a former primary: its timeline is {}, and a later one \
                 was seen; make it a replica (pg_rewind, pg_basebackup)",
                name(first.at),
                first.timeline,
            ))),
        };
    };
    let used = known.used.as_ref().and_then(|used| {
        let is_it = |one: &&Primary| one.at == used.at && one.timeline == used.timeline;
        let used = found.iter().find(is_it)?;
        // What was promoted since is the primary, or should not have been: nobody knows here.
        let is_passed = is_former(used) || found.iter().any(|one| used.is_older_than(one));
        (!is_passed).then_some(used)
    });
    match used {
        Some(used) => Ok((used.clone(), Some(complaint))),
        None => Err(Fault::Refused {
            state: None,
            reason: complaint,
        }),
    }
}

/// What is wrong where more than one of those that were found accepts writes.
pub(super) fn complaint(found: &[Primary], name: impl Fn(usize) -> String) -> Option<String> {
    let first = found.first()?;
    if found.iter().all(|one| one.started == first.started) {
        return None;
    }
    let names: Vec<_> = (found.iter())
        .map(|one| format!("{} (timeline {})", name(one.at), one.timeline))
        .collect();
    Some(format!(
        "{} servers of the address accept writes: {}; the one on the lower timeline is a former \
         primary: stop it, and make it a replica (pg_rewind, pg_basebackup)",
        found.len(),
        names.join(" and "),
    ))
}

/// What a server says of itself, if it accepts writes.
pub(super) async fn ask<T>(at: usize, server: Config, tls: T) -> Option<Primary>
where
    T: tokio_postgres::tls::MakeTlsConnect<tokio_postgres::Socket>,
    T::Stream: Send + 'static,
{
    let within = tokio::time::timeout(SURVEY_LIMIT, async {
        let (client, connection) = server.connect(tls).await.ok()?;
        let driven = tokio::spawn(listener::drive(
            connection,
            None,
            UnreplicatedFlag::default(),
        ));
        let answer = described(at, &client).await;
        driven.abort();
        Some(answer)
    });
    within.await.ok().flatten()
}

async fn described(at: usize, client: &Client) -> Primary {
    let row = client.query_one(ASK, &[]).await.ok();
    Primary::from_row(at, row.as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn primary(at: usize, timeline: u32) -> Primary {
        Primary {
            at,
            timeline,
            system: "one".to_owned(),
            started: format!("{at}"),
        }
    }

    fn chosen(primaries: &Primaries, found: &[Primary]) -> Result<usize, String> {
        let name = |at| format!("db-{at}");
        primaries.choose(found, name).map_err(|fault| match fault {
            Fault::Lost(reason) | Fault::Refused { reason, .. } => reason,
            other => format!("{other:?}"),
        })
    }

    #[test]
    fn i18_of_two_primaries_the_former_one_is_never_used() {
        let (former, new) = (primary(0, 1), primary(1, 2));
        let both = [former.clone(), new.clone()];
        let fresh = Primaries::default();
        let refused = chosen(&fresh, &both).expect_err("nobody knows which");
        assert!(refused.contains("db-0 (timeline 1)") && refused.contains("db-1 (timeline 2)"));
        let led = Primaries::default();
        assert_eq!(chosen(&led, &[new]), Ok(1));
        assert_eq!(chosen(&led, &both), Ok(1), "whoever knows it goes on");
        let refused = chosen(&led, std::slice::from_ref(&former)).expect_err("it is a former one");
        assert!(refused.contains("db-0"), "{refused}");
        let stood = Primaries::default();
        assert_eq!(chosen(&stood, std::slice::from_ref(&former)), Ok(0));
        assert!(chosen(&stood, &both).is_err(), "it was passed meanwhile");
        stood.follow(&led);
        assert_eq!(chosen(&stood, &both), Ok(1));
        let next = Primaries::default();
        next.learn(&led);
        assert!(chosen(&next, &[former]).is_err());
        assert!(chosen(&next, &both).is_err(), "a take-over knows none");
    }

    #[test]
    fn i18_the_others_are_asked_at_once_where_another_server_is_reached() {
        let (former, new) = (primary(0, 1), primary(1, 2));
        let led = Primaries::default();
        assert!(led.is_survey_due(&new), "nothing is known");
        assert_eq!(chosen(&led, std::slice::from_ref(&new)), Ok(1));
        assert!(!led.is_survey_due(&new), "it was surveyed just now");
        let followed = Primaries::default();
        followed.follow(&led);
        assert!(!followed.is_survey_due(&new));
        assert!(followed.is_survey_due(&former), "it is not the one in use");
    }

    #[test]
    fn i18_two_names_of_one_server_are_one() {
        let one = primary(0, 3);
        let other = Primary {
            at: 1,
            ..one.clone()
        };
        assert_eq!(chosen(&Primaries::default(), &[one.clone(), other]), Ok(0));
        let another_system = Primary {
            system: "restored".to_owned(),
            ..primary(0, 1)
        };
        let primaries = Primaries::default();
        assert_eq!(chosen(&primaries, &[one]), Ok(0));
        assert_eq!(chosen(&primaries, &[another_system]), Ok(0));
    }
}
