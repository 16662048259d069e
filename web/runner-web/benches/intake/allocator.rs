//! The allocator of the program that a server stands for: the runner's is mimalloc, as in
//! `workflow-runner` and `platform`; the loops beside it have the system's, with which they are
//! faster.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU8, Ordering};

use mimalloc::MiMalloc;

/// In the environment of a process that is to have mimalloc.
pub(super) const ASK: &str = "ORRERY_BENCH_MIMALLOC";

const UNKNOWN: u8 = 0;
const SYSTEM: u8 = 1;
const MIMALLOC: u8 = 2;

static CHOICE: AtomicU8 = AtomicU8::new(UNKNOWN);

struct Chosen;

#[global_allocator]
static ALLOCATOR: Chosen = Chosen;

/// Asked first before there is a second thread.
fn is_mimalloc() -> bool {
    if CHOICE.load(Ordering::Relaxed) == UNKNOWN {
        // What the look-up allocates, it frees before the choice is made.
        CHOICE.store(SYSTEM, Ordering::Relaxed);
        if std::env::var_os(ASK).is_some() {
            CHOICE.store(MIMALLOC, Ordering::Relaxed);
        }
    }
    CHOICE.load(Ordering::Relaxed) == MIMALLOC
}

// SAFETY: each of the two keeps the rules, and what one gave is given back to it: the choice is
// made at the first allocation.
#[allow(unsafe_code, reason = "allocators are")]
unsafe impl GlobalAlloc for Chosen {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if is_mimalloc() {
            unsafe { MiMalloc.alloc(layout) }
        } else {
            unsafe { System.alloc(layout) }
        }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        if is_mimalloc() {
            unsafe { MiMalloc.dealloc(place, layout) }
        } else {
            unsafe { System.dealloc(place, layout) }
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if is_mimalloc() {
            unsafe { MiMalloc.alloc_zeroed(layout) }
        } else {
            unsafe { System.alloc_zeroed(layout) }
        }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if is_mimalloc() {
            unsafe { MiMalloc.realloc(place, layout, size) }
        } else {
            unsafe { System.realloc(place, layout, size) }
        }
    }
}
