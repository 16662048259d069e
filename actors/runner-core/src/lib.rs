//! The workflow language without I/O: read, evaluate, plan, and say what is not done.
//!
//! ```text
//! bytes ──yaml──▶ tree ──workflow::parse──▶ Workflow ──event::decide──▶ start, skip, or ask git for the paths
//!                   └── mistakes: line, caret, did you mean      │
//!                                          plan::plan (event, files of the commit)
//!                                                               ▼
//!                     Plan { jobs, needs, copies, steps, refusals } ──▶ report::check (for people and programs)
//!                                                               │
//!                plan::PlanState ◀── finished(job, copy, outputs) ── the actors ── machine: prepare::run, env_file,
//!                     └── advance ──▶ Start, Cancel, Ended ──────────┘          command, mask
//! ```
//!
//! Nothing here reads a file, a clock or the environment, but for the machine's list of time zones;
//! files of the commit come through a function.

pub mod actions;
pub mod cache_scope;
pub mod checkout;
pub mod command;
pub mod container;
pub mod context;
mod debian_packages;
pub mod env_file;
pub mod event;
mod event_kind;
mod event_trigger;
pub mod expr;
pub mod fair_share;
pub mod forge_address;
pub mod forge_runner;
pub mod gateway;
pub mod glob;
pub mod hashed;
pub mod hosted_label;
mod hosted_programs;
pub mod id_token;
pub mod image_notes;
pub mod inject;
pub mod job_folders;
mod job_notes;
pub mod job_outputs;
pub mod label_notes;
pub mod limits;
pub mod lock_file;
pub mod lost_jobs;
pub mod mask;
pub mod model;
pub mod name_pattern;
pub mod node;
pub mod plan;
pub mod prepare;
pub mod problem_matcher;
pub mod protection;
pub mod report;
mod report_triggers;
pub mod retention;
pub mod schedule;
mod script_notes;
pub mod setup;
pub mod shell;
pub mod source_location;
pub mod state;
pub mod summary;
pub mod test_report;
pub mod truncation;
pub mod workflow;
mod yaml;
