//! The wish to stop: Ctrl-C, SIGTERM, or the terminal going away.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use anyhow::{Context, Result};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// Tells when somebody wants this to end.
#[derive(Debug)]
pub(super) struct Stop {
    wanted: Receiver<()>,
    /// Kept for [`Stop::never`], whose channel must stay open.
    _open: Option<Sender<()>>,
}

impl Stop {
    /// Takes the signals over; from here on they no longer end this process.
    ///
    /// # Errors
    /// When the system refuses the handlers.
    pub(super) fn listen() -> Result<Self> {
        let mut signals =
            Signals::new([SIGINT, SIGTERM, SIGHUP]).context("signals cannot be handled")?;
        let (tell, wanted) = mpsc::channel();
        std::thread::spawn(move || {
            for _ in signals.forever() {
                if tell.send(()).is_err() {
                    break;
                }
            }
        });
        Ok(Self {
            wanted,
            _open: None,
        })
    }

    /// Nobody ever wants it; signals end the process as usual.
    pub(super) fn never() -> Self {
        let (open, wanted) = mpsc::channel();
        Self {
            wanted,
            _open: Some(open),
        }
    }

    /// Waits that long at most; true when a signal came.
    pub(super) fn within(&self, time: Duration) -> bool {
        self.wanted.recv_timeout(time) != Err(RecvTimeoutError::Timeout)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_is_a_wish_to_stop() {
        assert!(!Stop::never().within(Duration::from_millis(1)));
        let stop = Stop::listen().expect("handlers can be set");
        signal_hook::low_level::raise(SIGTERM).expect("a signal to this process");
        assert!(stop.within(Duration::from_secs(30)));
    }
}
