//! The allocator of programs that live long.

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// mimalloc's option for the milliseconds before freed memory goes back to the system
/// (`mi_option_purge_delay` of `mimalloc.h`; the bindings have no name for it).
const PURGE_DELAY: libmimalloc_sys::mi_option_t = 15;

/// Has freed memory go back at once: what indexing a large folder needed (35 MB on 78,000 files),
/// or a burst of webhooks (half of the memory with 10,000 runs in the queue), would otherwise be
/// kept for as long as the program's threads are idle. To be called first in `main`.
#[allow(
    unsafe_code,
    reason = "setting an option before any other thread runs is sound"
)]
pub fn trim_memory() {
    // SAFETY: called first in `main`, with an option of the bundled allocator and a valid value.
    unsafe { libmimalloc_sys::mi_option_set(PURGE_DELAY, 0) }
}

/// Has the kernel give memory in small pages: huge ones are handed out whole where a few kilobytes
/// are used (24 of 83 MB of a search server after 30,000 searches over 93,000 files; searches were
/// as fast without them). For programs whose children need no huge pages, for they inherit it
/// (`PR_SET_THP_DISABLE`, prctl(2)). To be called early in `main`.
pub fn use_small_pages() {
    // A kernel that refuses takes more memory, and nothing else is different.
    let _ = rustix::thread::disable_transparent_huge_pages(true);
}
