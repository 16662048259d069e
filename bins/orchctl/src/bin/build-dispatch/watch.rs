//! Waiting for programs, and ending them when somebody interrupts.

use std::io;
use std::process::{Child, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::error::DispatchError;

/// Between two checks for signals.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Knows whether this process was asked to end.
#[derive(Debug, Clone, Default)]
pub(crate) struct StopSignals(Arc<AtomicUsize>);

impl StopSignals {
    /// Watches for SIGINT, SIGTERM and SIGHUP.
    pub(crate) fn watch() -> io::Result<Self> {
        let signals = Self::default();
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            let number = usize::try_from(signal).unwrap_or_default();
            signal_hook::flag::register_usize(signal, Arc::clone(&signals.0), number)?;
        }
        Ok(signals)
    }

    /// An error once a signal has come.
    pub(crate) fn check(&self) -> Result<(), DispatchError> {
        match self.0.load(Ordering::SeqCst) {
            0 => Ok(()),
            number => Err(DispatchError::Interrupted(
                u8::try_from(number).unwrap_or(15),
            )),
        }
    }

    /// Waits for the end of a program; a signal ends the wait.
    pub(crate) fn wait(&self, child: &mut Child) -> Result<ExitStatus, DispatchError> {
        loop {
            if let Some(status) = child.try_wait().map_err(DispatchError::Wait)? {
                return Ok(status);
            }
            self.check()?;
            self.pause();
        }
    }

    /// A moment in which signals are looked for again.
    pub(crate) fn pause(&self) {
        std::thread::park_timeout(POLL_INTERVAL);
    }
}

/// A program that is ended when this is dropped.
#[derive(Debug)]
pub(crate) struct ChildGuard(pub(crate) Child);

impl Drop for ChildGuard {
    fn drop(&mut self) {
        // Its input ends first, by which a session knows that it has to clean up.
        drop(self.0.stdin.take());
        if matches!(self.0.try_wait(), Ok(None)) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }
}
