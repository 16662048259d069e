//! Whether this thread runs a request, where waiting for the writer would deadlock.

use std::cell::Cell;

thread_local! {
    static IN_REQUEST: Cell<bool> = const { Cell::new(false) };
}

/// Runs a request's work, which must not unwind.
pub(crate) fn run<T>(work: impl FnOnce() -> T) -> T {
    let before = IN_REQUEST.replace(true);
    let result = work();
    IN_REQUEST.set(before);
    result
}

/// Whether the caller is a request's work.
pub(crate) fn is_in_request() -> bool {
    IN_REQUEST.get()
}
