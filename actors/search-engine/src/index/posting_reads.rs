//! For tests: what is read of posting lists.

use std::cell::Cell;

thread_local! {
    /// Documents of posting lists that were looked at.
    static DOCUMENTS: Cell<usize> = const { Cell::new(0) };
}

/// Notes that so many documents of a posting list are looked at.
pub(super) fn record(documents: usize) {
    DOCUMENTS.set(DOCUMENTS.get() + documents);
}

/// The documents that were looked at since this was last asked.
pub(super) fn take() -> usize {
    DOCUMENTS.take()
}
