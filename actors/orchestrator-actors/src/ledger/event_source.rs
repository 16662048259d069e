//! How an event reached the ledger.

use forge_core::{Delivery, ForgeEvent};
use orchestrator_core::Millis;

/// How an event reached the orchestrator.
#[derive(Debug, Clone, Copy)]
pub enum EventSource<'a> {
    /// By a webhook.
    Delivery(&'a Delivery),
    /// By asking the forge.
    Found {
        /// As a webhook would have delivered it.
        event: &'a ForgeEvent,
        /// When the forge was asked.
        asked_at: Millis,
    },
}

impl EventSource<'_> {
    pub(super) fn event(&self) -> &ForgeEvent {
        match self {
            Self::Delivery(delivery) => &delivery.event,
            Self::Found { event, .. } => event,
        }
    }

    /// A poll repeats most events; only a repeated webhook is worth a journal entry.
    pub(super) fn is_delivery(&self) -> bool {
        matches!(self, Self::Delivery(_))
    }
}
