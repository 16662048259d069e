//! The clock: starts runs whose workflows say `schedule`.

use actix::{Actor, Context};
use store::{Store, StoreError};
use supervision::{FirstRound, start_rounds};

use crate::records::RunRecord;
use crate::rows::{self, NewRunRows};
use crate::run_queue::RunQueue;
use crate::settings::ScheduleTime;

/// Looks at the schedules of all repositories that are known.
#[derive(Clone)]
pub(crate) struct ScheduleClock {
    pub(crate) store: Store,
    pub(crate) queue: RunQueue,
    pub(crate) time: ScheduleTime,
}

impl Actor for ScheduleClock {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        let clock = self.clone();
        start_rounds(
            ctx,
            (FirstRound::AtOnce, self.time.every),
            async move || {
                if let Err(error) = clock.check((clock.time.now_ms)()).await {
                    tracing::warn!(event = "run.store_failed", %error, "the schedules cannot be looked at now");
                }
            },
        );
    }
}

impl ScheduleClock {
    /// Stores what is due, together with how far was looked, and starts it.
    async fn check(&self, now: u64) -> Result<(), StoreError> {
        let known = self.store.read(|rows| rows::all_known(rows)).await?;
        for known in known
            .into_iter()
            .filter(|known| !known.schedules.is_empty())
        {
            let repository = known.repository;
            let started = self.store.write(move |rows| {
                // Read again: a push may have changed it since.
                let Some(mut known) = rows::load_repository(rows, &repository)? else {
                    return Ok::<_, StoreError>(Vec::new());
                };
                let mut ids = Vec::new();
                for due in known.due(now) {
                    let mut record = RunRecord::received(&due.event, "schedule".to_owned());
                    record.workflow_file = Some(due.file);
                    NewRunRows::new(&record, &due.event).put(rows)?;
                    ids.push(record.id);
                }
                rows::put_known(rows, &known)?;
                Ok(ids)
            });
            for id in started.await? {
                tracing::info!(event = "run.scheduled", run = %id, "the clock starts a run");
                self.queue.push(id);
            }
        }
        Ok(())
    }
}
