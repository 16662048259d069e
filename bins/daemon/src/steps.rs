//! How far a transfer is, for people.

use std::sync::{Mutex, PoisonError};

use crate::store::PrintText;

const MIB: u64 = 1 << 20;

/// Says each tenth of a transfer in a line.
#[derive(Debug)]
pub struct TransferPrinter {
    what: &'static str,
    print_note: PrintText,
    shown: Mutex<StepProgress>,
}

#[derive(Debug, Default)]
struct StepProgress {
    first: Option<(u64, u64)>,
    tenths: u64,
}

impl TransferPrinter {
    /// Of a transfer after which bytes are `what`, in a word; `print_note` writes to the standard
    /// error.
    #[must_use]
    pub fn new(what: &'static str, print_note: PrintText) -> Self {
        let shown = Mutex::default();
        Self {
            what,
            print_note,
            shown,
        }
    }

    /// How many bytes were done at the beginning, and how many there are.
    #[must_use]
    pub fn first(&self) -> (u64, u64) {
        let shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        shown.first.unwrap_or_default()
    }

    /// So many bytes of so many are done.
    pub fn show(&self, done: u64, total: u64) {
        let tenths = done.saturating_mul(10) / total.max(1);
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        shown.first.get_or_insert((done, total));
        if tenths > shown.tenths {
            shown.tenths = tenths;
            let (done, total) = (done / MIB, total.div_ceil(MIB));
            (self.print_note)(&format!("{done} of {total} MiB {}", self.what));
        }
    }
}
