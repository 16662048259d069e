//! What the server says by itself: hints that something has changed, and that it has committed
//! without its replica. Hints are only hints, whoever waits for something looks from time to time
//! anyway.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;
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
/// cancelled that (`SyncRepWaitForLSN`), and what it answers next is committed on itself alone.
pub(super) type Unreplicated = Arc<AtomicBool>;

/// Drives a connection until it ends. Notifications, and its end, are hints.
pub(super) async fn drive<S, T>(
    mut connection: Connection<S, T>,
    hints: Option<Hints>,
    unreplicated: Unreplicated,
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
            // Statements of the store cause no warning (`client_min_messages`).
            AsyncMessage::Notice(_) => unreplicated.store(true, Ordering::SeqCst),
            _ => {}
        }
    }
    hint();
}
