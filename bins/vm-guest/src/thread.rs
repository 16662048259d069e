//! Threads of the agent.

/// They need little stack, and stacks are memory of every clone.
pub(crate) fn thread(name: &str) -> std::thread::Builder {
    std::thread::Builder::new()
        .name(name.to_owned())
        .stack_size(192 * 1024)
}
