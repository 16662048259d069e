//! What is to be done now: a pure function of everything that is stored, and of the time.
//!
//! It is level-triggered: it decides by the state, not by events. Called twice without anything
//! having been carried out it decides the same; called after everything was carried out it decides
//! nothing. Its cost grows linearly with the runs that are open.

mod housekeeping;
mod queue;
mod snapshot;

use crate::Millis;
use crate::action::ReconcileAction;

pub use snapshot::{ReconcileSnapshot, ScheduleMark};

/// Decides what is to be done at `now`.
pub fn reconcile(snapshot: &ReconcileSnapshot<'_>, now: Millis) -> Vec<ReconcileAction> {
    let mut actions = Vec::new();
    housekeeping::lost_and_ending(snapshot, &mut actions);
    queue::start(snapshot, now, &mut actions);
    housekeeping::schedules(snapshot, now, &mut actions);
    housekeeping::statuses(snapshot, &mut actions);
    if snapshot.tick > 0 {
        housekeeping::polls(snapshot, &mut actions);
    }
    actions
}
