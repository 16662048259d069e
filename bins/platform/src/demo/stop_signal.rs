//! The request to stop: Ctrl-C, SIGTERM, or the terminal going away.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

use anyhow::{Context, Result};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// How often a state is polled while a stop may be asked for.
pub(super) const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// Tells when somebody wants this to end.
#[derive(Debug)]
pub(super) struct DemoStopSignal {
    received: Receiver<()>,
}

impl DemoStopSignal {
    /// Takes the signals over; from here on they no longer end this process.
    ///
    /// # Errors
    /// When the system refuses the handlers.
    pub(super) fn listen() -> Result<Self> {
        let mut signals =
            Signals::new([SIGINT, SIGTERM, SIGHUP]).context("signals cannot be handled")?;
        let (sender, received) = mpsc::channel();
        std::thread::spawn(move || {
            for _ in signals.forever() {
                if sender.send(()).is_err() {
                    break;
                }
            }
        });
        Ok(Self { received })
    }

    /// Waits that long at most; true when a signal came.
    pub(super) fn wait_for(&self, time: Duration) -> bool {
        self.received.recv_timeout(time) != Err(RecvTimeoutError::Timeout)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_asks_to_stop() {
        let stop = DemoStopSignal::listen().expect("handlers can be set");
        assert!(!stop.wait_for(Duration::from_millis(1)));
        signal_hook::low_level::raise(SIGTERM).expect("a signal to this process");
        assert!(stop.wait_for(Duration::from_secs(30)));
    }
}
