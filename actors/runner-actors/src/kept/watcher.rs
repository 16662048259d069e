//! Gives kept VMs back at their deadlines, and notices those that the manager has ended.

use actix::{Actor, AsyncContext, Context, WrapFuture};

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
        let looks = async move {
            let mut looks: u32 = 0;
            loop {
                tokio::time::sleep(kept.settings.keep.every).await;
                kept.give_back_overdue().await;
                looks = looks.wrapping_add(1);
                if looks.is_multiple_of(LOOKS_PER_QUESTION) {
                    kept.notice_gone().await;
                }
            }
        };
        ctx.spawn(looks.into_actor(self));
    }
}
