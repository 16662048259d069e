//! The clock: starts runs whose workflows say `schedule`.

use std::sync::Arc;

use actix::{Actor, AsyncContext, Context, WrapFuture};
use store::StoreError;

use crate::desk::received;
use crate::rows::{self, NewRun};
use crate::service::Shared;

/// Looks at the schedules of all repositories that are known.
pub(crate) struct ScheduleClock {
    shared: Arc<Shared>,
}

impl ScheduleClock {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }
}

impl Actor for ScheduleClock {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        let shared = Arc::clone(&self.shared);
        let looks = async move {
            let time = shared.settings.schedules;
            loop {
                if let Err(error) = look(&shared, (time.now_ms)()).await {
                    tracing::warn!(event = "run.store_failed", %error, "the schedules cannot be looked at now");
                }
                tokio::time::sleep(time.every).await;
            }
        };
        ctx.spawn(looks.into_actor(self));
    }
}

/// Stores what is due, together with how far was looked, and starts it.
async fn look(shared: &Arc<Shared>, now: u64) -> Result<(), StoreError> {
    let known = shared.store.read(|rows| rows::all_known(rows)).await?;
    for known in known
        .into_iter()
        .filter(|known| !known.schedules.is_empty())
    {
        let repository = known.repository;
        let started = shared.store.write(move |rows| {
            // Read again: a push may have changed it since.
            let Some(mut known) = rows::known(rows, &repository)? else {
                return Ok::<_, StoreError>(Vec::new());
            };
            let mut ids = Vec::new();
            for due in known.due(now) {
                let mut record = received(&due.event, "schedule".to_owned());
                record.workflow_file = Some(due.file);
                NewRun::of(&record, &due.event).put(rows)?;
                ids.push(record.id);
            }
            rows::put_known(rows, &known)?;
            Ok(ids)
        });
        for id in started.await? {
            tracing::info!(event = "run.scheduled", run = %id, "the clock starts a run");
            shared.start(id);
        }
    }
    Ok(())
}
