//! A terminal whose keys go elsewhere: raw while the guard lives, given back whatever happens.

use std::io;

use crossterm::terminal::{disable_raw_mode, enable_raw_mode};

use crate::terminal::screen::restore_on_panic;

/// The terminal with raw keys. Given back when dropped, and when the program panics.
#[derive(Debug)]
pub struct RawTerminal(());

impl RawTerminal {
    /// Takes the keys as they are typed: Ctrl-C is one of them.
    ///
    /// # Errors
    /// When standard input is no terminal.
    pub fn enable() -> io::Result<Self> {
        restore_on_panic();
        enable_raw_mode()?;
        Ok(Self(()))
    }
}

impl Drop for RawTerminal {
    fn drop(&mut self) {
        // A terminal that is gone is no reason to fail.
        let _ = disable_raw_mode();
    }
}

/// Columns and rows of the terminal; `None` when there is none.
#[must_use]
pub fn size() -> Option<(u16, u16)> {
    crossterm::terminal::size().ok()
}
