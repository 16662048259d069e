//! The signals that end a program which holds a terminal.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// SIGINT, SIGTERM and SIGHUP, caught from now on.
pub struct TerminationSignals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

/// A signal that ends the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Termination {
    /// SIGINT.
    Interrupt,
    /// SIGTERM.
    Terminate,
    /// SIGHUP: the terminal is gone.
    Hangup,
}

impl Termination {
    /// 128 and the signal's number, as shells count.
    #[must_use]
    pub fn code(self) -> u8 {
        match self {
            Self::Interrupt => 130,
            Self::Terminate => 143,
            Self::Hangup => 129,
        }
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Interrupt => "SIGINT",
            Self::Terminate => "SIGTERM",
            Self::Hangup => "SIGHUP",
        }
    }
}

impl TerminationSignals {
    /// Begins to catch them. Needs a tokio runtime.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn listen() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    /// Waits for the next one.
    pub async fn next(&mut self) -> Termination {
        tokio::select! {
            _ = self.interrupt.recv() => Termination::Interrupt,
            _ = self.terminate.recv() => Termination::Terminate,
            _ = self.hangup.recv() => Termination::Hangup,
        }
    }
}

/// Changes of the terminal's size, noticed from now on.
pub struct WindowChanges(Signal);

impl WindowChanges {
    /// Begins to notice them. Needs a tokio runtime.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn watch() -> io::Result<Self> {
        signal(SignalKind::window_change()).map(Self)
    }

    /// Waits for the next one.
    pub async fn next(&mut self) {
        self.0.recv().await;
    }
}
