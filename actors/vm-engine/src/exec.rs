//! Commands in a machine: their names, their output and its flow control.

use vm_core::{ExecEnd, OutputStream};

/// Names something that runs in a machine; numbers are not used again within it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ExecTicket(pub u32);

/// Whether more output may come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputFlow {
    /// Yes.
    Continue,
    /// Not until [`Machine::resume_output`](crate::Machine::resume_output); up to
    /// [`vm_core::guest::WINDOW`] bytes still come.
    Hold,
}

/// Takes what something writes, and its end. Called from one thread, which serves the whole
/// machine: it must return soon, and must not call the machine.
pub trait ExecSink: Send {
    /// What it wrote, in the order of each stream.
    fn output(&mut self, stream: OutputStream, bytes: &[u8]) -> OutputFlow;

    /// How it ended; the last call.
    fn ended(&mut self, end: ExecEnd);
}
