//! Gives kept VMs back at their deadlines, and notices those that the manager has ended.

use actix::{Actor, Context};
use supervision::{FirstRound, start_rounds};

use super::KeptVms;

/// Each so many looks the manager is asked which are there.
const LOOKS_PER_QUESTION: u32 = 10;

/// Looks at the deadlines of kept VMs.
#[derive(Clone)]
pub(crate) struct KeptVmWatcher {
    kept: KeptVms,
}

impl KeptVmWatcher {
    pub(crate) fn new(kept: KeptVms) -> Self {
        Self { kept }
    }
}

impl Actor for KeptVmWatcher {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        let kept = self.kept.clone();
        let every = kept.settings.keep.every;
        let mut looks: u32 = 0;
        start_rounds(ctx, (FirstRound::AfterInterval, every), async move || {
            kept.release_overdue().await;
            looks = looks.wrapping_add(1);
            if looks.is_multiple_of(LOOKS_PER_QUESTION) {
                kept.notice_gone().await;
            }
        });
    }
}
