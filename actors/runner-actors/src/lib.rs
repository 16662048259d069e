//! Actors of the workflow runner.
//!
//! ```text
//! webhook ─▶ RunnerIntake ──one transaction──▶ delivery + run "received" ──▶ 202
//!               ▼
//!            RunDesk starts
//!               ▼
//!          WorkflowRun ── fetch (git-engine) ── parse, plan (runner-core) ── Board
//!               │ a copy of a job may start                    ▲ finished
//!               ▼                                              │
//!           JobRun ── VM (outbound::vmm) ── steps ── Logs ─────┘
//!               each change: record + commit status in one transaction ──▶ ForgePoster
//! ```
//!
//! # What always holds
//!
//! - **Accepted means durable.** The intake answers after the delivery and its run are stored together.
//! - **Every run ends in a record.** A run whose actor, machine or manager goes away is `lost`, with the reason; after a restart of the
//!   runner jobs that never had a machine are run, jobs that had one are `lost` and their VMs given back, and ended ones keep their ends.
//! - **Every status ends.** A commit status that was begun gets exactly one terminal state, through the outbox.
//! - **The token stays here.** It is in no VM, no URL and no argument list.

mod caches;
mod caretaker;
mod catch_up;
mod checkouts;
mod clock;
mod desk;
mod dispatch;
mod event;
mod figures;
mod groups;
mod heads;
mod intake;
mod job;
mod json_row;
mod known;
mod log;
pub mod messages;
mod parser;
mod payload;
mod records;
mod repeat;
mod rows;
mod run;
mod schedule_clock;
mod service;
mod settings;
mod source;
mod takeup;
mod view;

pub use desk::RunDesk;
pub use event::StoredEvent;
pub use figures::{BUCKETS, Durations, Figures};
pub use intake::{Accepted, NewDelivery, NotAccepted, RunnerIntake};
pub use job::{Stored, Stores};
pub use log::{LineKind, LogLine, Logs};
pub use records::{JobEnd, JobRecord, RunRecord, StepRecord};
pub use service::RunnerService;
pub use settings::{CheckoutLimits, ModelServer, RunnerSettings, ScheduleTime};
pub use view::RunnerView;
