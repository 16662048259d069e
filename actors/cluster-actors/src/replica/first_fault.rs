//! A round of work in which one thing that fails holds up no other.

use std::io;

/// What went wrong first in a round that goes on.
#[derive(Debug)]
pub struct FirstFault(io::Result<()>);

impl Default for FirstFault {
    fn default() -> Self {
        Self(Ok(()))
    }
}

impl FirstFault {
    /// What was done, if it was; keeps a fault if it is the first.
    pub fn record<T>(&mut self, done: io::Result<T>) -> Option<T> {
        match done {
            Ok(done) => Some(done),
            Err(fault) => {
                if self.0.is_ok() {
                    self.0 = Err(fault);
                }
                None
            }
        }
    }

    /// The end of the round.
    ///
    /// # Errors
    /// The first fault.
    pub fn end(self) -> io::Result<()> {
        self.0
    }
}
