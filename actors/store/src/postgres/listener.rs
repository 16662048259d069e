//! What the server says by itself: hints that something has changed, and that it has committed
//! without its replica. Hints are only hints, whoever waits for something looks from time to time
//! anyway.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;
use tokio_postgres::error::SqlState;
use tokio_postgres::{AsyncMessage, Connection};

/// Makes a connection hear hints.
pub(super) const LISTEN: &str = "LISTEN orrery_store";

/// What is said where settings are to be read again.
pub(super) const SETTINGS: &str = "settings";

/// Counts what was heard; whoever holds a receiver is woken by each.
#[derive(Debug, Clone, Default)]
pub(super) struct Hints {
    any: watch::Sender<u64>,
    settings: watch::Sender<u64>,
}

impl Hints {
    /// Changes with everything that is heard.
    pub(super) fn any(&self) -> watch::Receiver<u64> {
        self.any.subscribe()
    }

    /// Changes when settings are to be read again.
    pub(super) fn settings(&self) -> watch::Receiver<u64> {
        self.settings.subscribe()
    }

    /// Something may have been said that nobody heard here.
    pub(super) fn may_have_missed(&self) {
        count(&self.settings);
    }
}

fn count(told: &watch::Sender<u64>) {
    told.send_modify(|count| *count = count.wrapping_add(1));
}

/// Set by a warning of the server: it no longer waited for a synchronous replica, as somebody
/// cancelled that ([`SYNC_REP`]), and what it answers next is committed on itself alone.
pub(super) type UnreplicatedFlag = Arc<AtomicBool>;

/// The server's routine that waits for a synchronous replica, as its warnings name it.
const SYNC_REP: &str = "SyncRepWaitForLSN";

/// Whether a warning says that a wait for a synchronous replica was cancelled. Others mean nothing
/// for what was asked: of a collation's version or a setting at each login, of an overdue vacuum
/// with each commit. Texts are translated, codes and routines are not.
fn ends_replicas_wait(code: &SqlState, routine: Option<&str>) -> bool {
    match code.code() {
        // The session ends behind its answer: of the server's own accord, or somebody has ended it.
        "57P01" => true,
        // Whoever leaves the routine out leaves no way to tell it from others.
        "01000" => routine.is_none_or(|routine| routine == SYNC_REP),
        _ => false,
    }
}

/// Drives a connection until it ends. Notifications, and its end, are hints.
pub(super) async fn drive<S, T>(
    mut connection: Connection<S, T>,
    hints: Option<Hints>,
    unreplicated: UnreplicatedFlag,
) where
    S: AsyncRead + AsyncWrite + Unpin,
    T: AsyncRead + AsyncWrite + Unpin,
{
    let hint = || {
        if let Some(hints) = &hints {
            count(&hints.any);
        }
    };
    // How it ended is told to whoever asks next.
    while let Some(Ok(message)) = poll_fn(|task| connection.poll_message(task)).await {
        match message {
            AsyncMessage::Notification(said) => {
                hint();
                if let Some(hints) = hints.as_ref().filter(|_| said.payload() == SETTINGS) {
                    count(&hints.settings);
                }
            }
            AsyncMessage::Notice(said) if ends_replicas_wait(said.code(), said.routine()) => {
                unreplicated.store(true, Ordering::SeqCst);
            }
            AsyncMessage::Notice(said) => {
                tracing::debug!(event = "store.server_warns", warning = said.message());
            }
            _ => {}
        }
    }
    hint();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i18_of_the_servers_warnings_only_that_of_a_cancelled_wait_counts() {
        for (code, routine, expected) in [
            ("57P01", Some(SYNC_REP), true),
            ("57P01", None, true),
            ("01000", Some(SYNC_REP), true),
            ("01000", None, true),
            ("01000", Some("CheckMyDatabase"), false),
            ("01000", Some("GetNewTransactionId"), false),
            ("22023", Some("parse_and_validate_value"), false),
            ("22023", None, false),
        ] {
            let found = ends_replicas_wait(&SqlState::from_code(code), routine);
            assert_eq!(found, expected, "{code} {routine:?}");
        }
    }
}
