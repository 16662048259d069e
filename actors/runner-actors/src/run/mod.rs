//! One run: fetched, planned, its jobs started as they may, its record and statuses kept.

mod active_run;
mod approval;
mod arrivals;
mod calls;
mod concurrency_turns;
mod contexts;
mod defaults;
mod drive;
mod gates;
mod group_line;
mod group_turn;
mod handles;
mod head;
mod job_actor;
mod job_launcher;
mod lost_jobs;
mod machine;
mod own_activity;
mod parked;
mod plan;
mod run_end;
mod services;
mod signals;
mod workflow_run;

pub(crate) use arrivals::RunArrivals;
pub(crate) use handles::{RunHandle, RunHandles};
pub(crate) use job_launcher::JobLauncher;
pub use machine::{label_image, label_machine};
pub(crate) use parked::ParkedRuns;
pub(crate) use services::RunServices;
pub(crate) use workflow_run::{EndRun, RecheckRun, WorkflowRun};
