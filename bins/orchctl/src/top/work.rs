//! Asks the admin bridge beside the screen.

use std::rc::Rc;

use actix_rt::task::JoinHandle;
use futures_util::future::try_join3;
use orchestrator_core::admin::{CancelReply, RetryReply, RunList, RunView, StatusView};
use serde_json::Value;
use tokio::sync::mpsc::UnboundedSender;

use super::model::{RunAction, StatusSnapshot, TopEffect, TopEvent, actor_lines};
use crate::bridge::OrchestratorClient;
use crate::failure::CommandFailure;
use crate::{human, stream};

/// Runs that are looked at.
const RUNS: usize = 100;

/// Lines of a run's output that are read.
const LOG_LINES: usize = 500;

/// Requests under way.
pub(super) struct TopRequests {
    bridge: Rc<OrchestratorClient>,
    events: UnboundedSender<TopEvent>,
    fetch: Option<JoinHandle<()>>,
}

impl Drop for TopRequests {
    fn drop(&mut self) {
        if let Some(fetch) = self.fetch.take() {
            fetch.abort();
        }
    }
}

impl TopRequests {
    pub(super) fn new(bridge: Rc<OrchestratorClient>, events: UnboundedSender<TopEvent>) -> Self {
        Self {
            bridge,
            events,
            fetch: None,
        }
    }

    /// Begins what is to be done; quitting and suspending are the screen's.
    pub(super) fn start(&mut self, effect: TopEffect) {
        let (bridge, events) = (Rc::clone(&self.bridge), self.events.clone());
        match effect {
            TopEffect::Quit | TopEffect::Suspend => {}
            TopEffect::Fetch => {
                let fetch = actix_rt::spawn(async move {
                    let snapshot = fetch(&bridge).await;
                    let snapshot = snapshot.map(Box::new).map_err(|error| error.to_string());
                    let _ = events.send(TopEvent::Fetched(snapshot));
                });
                if let Some(before) = self.fetch.replace(fetch) {
                    before.abort();
                }
            }
            TopEffect::Read(id) => drop(actix_rt::spawn(async move {
                let text = read(&bridge, &id).await.map_err(|error| error.to_string());
                let _ = events.send(TopEvent::Read(id, text));
            })),
            TopEffect::Do(action, id) => drop(actix_rt::spawn(async move {
                let done = act(&bridge, action, &id).await;
                let done = done.map_err(|error| error.to_string());
                let _ = events.send(TopEvent::Done(action, id, done));
            })),
        }
    }
}

/// What the orchestrator says of itself now.
pub(super) async fn fetch(bridge: &OrchestratorClient) -> Result<StatusSnapshot, CommandFailure> {
    let path = format!("admin/runs?limit={RUNS}");
    let (status, runs, tree): (StatusView, RunList, Value) = try_join3(
        bridge.get("admin/status"),
        bridge.get(&path),
        bridge.get("admin/actors"),
    )
    .await?;
    let mut runs = runs.runs;
    // A long run may be older than all that are listed.
    for running in &status.running {
        if runs.iter().all(|run| run.id != running.id) {
            runs.push(running.clone());
        }
    }
    runs.sort_by_key(order);
    Ok(StatusSnapshot {
        status,
        runs,
        actors: actor_lines(&tree),
    })
}

/// Running ones, then those that wait, then the others; the rest of the order stays.
fn order(run: &RunView) -> u8 {
    match (run.ended, run.started_at.is_some()) {
        (false, true) => 0,
        (false, false) => 1,
        (true, _) => 2,
    }
}

async fn read(bridge: &OrchestratorClient, id: &str) -> Result<String, CommandFailure> {
    let run: RunView = bridge.get(&format!("admin/runs/{id}")).await?;
    let path = format!("admin/runs/{id}/log?follow=0&tail={LOG_LINES}");
    let log = match stream::text(bridge, &path).await {
        Ok(text) => text,
        Err(CommandFailure::NotFound(_)) => "it has printed nothing".to_owned(),
        Err(failure) => return Err(failure),
    };
    Ok(format!("{}\n\n{log}", human::run(&run)))
}

async fn act(
    bridge: &OrchestratorClient,
    action: RunAction,
    id: &str,
) -> Result<String, CommandFailure> {
    let path = format!("admin/runs/{id}/{}", action.verb());
    match action {
        RunAction::Cancel => {
            let reply: CancelReply = bridge.post(&path).await?;
            Ok(human::cancelled(&reply))
        }
        RunAction::Retry => {
            let reply: RetryReply = bridge.post(&path).await?;
            Ok(format!("{} does the same again", reply.run))
        }
    }
}
