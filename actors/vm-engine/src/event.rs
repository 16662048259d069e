//! What callers are told of what goes on by itself.

use vm_core::FailureReason;

/// Told what a long work is doing, in a sentence for people: `unpacking 120 of 178 MB`.
pub type OnProgress<'a> = &'a (dyn Fn(&str) + Send + Sync);

/// Called from a thread of the machine; must return soon and must not call the machine.
pub type OnMachineEvent = Box<dyn Fn(MachineEvent) + Send + Sync>;

/// What happens to a machine by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MachineEvent {
    /// It has ended, or its connection broke: all that ran in it was told `Lost`. What is left of
    /// it is removed by [`Machine::kill`](crate::Machine::kill).
    Terminated {
        /// The kind, for the record.
        reason: FailureReason,
        /// In words, for the log.
        detail: String,
    },
}
