//! Panics that become errors: redb panics over some damaged pages, and says so in an error of ours,
//! not in a backtrace.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

static HOOK: Once = Once::new();

/// Runs `work`; a panic in it comes back and is not printed.
pub(crate) fn catch_silently<T>(work: impl FnOnce() -> T) -> Result<T, Box<dyn Any + Send>> {
    HOOK.call_once(|| {
        let former = take_hook();
        set_hook(Box::new(move |panic| {
            if !QUIET.get() {
                former(panic);
            }
        }));
    });
    let former = QUIET.replace(true);
    let result = catch_unwind(AssertUnwindSafe(work));
    QUIET.set(former);
    result
}
