//! Actors of the workflow runner.
//!
//! ```text
//! webhook ─▶ RunnerIntake ──one transaction──▶ delivery + run "received" ──▶ 202
//!               ▼
//!         RunCoordinator starts
//!               ▼
//!          WorkflowRun ── fetch (git-engine) ── parse, plan (runner-core) ── PlanState
//!               │ a copy of a job may start                    ▲ finished
//!               ▼                                              │
//!           JobRun ── VM (http_clients::vmm) ── steps ── Logs ─────┘
//!               each change: record + commit status in one transaction ──▶ OutboxWorker
//! ```
//!
//! # What always holds
//!
//! - **Accepted means durable.** The intake answers after the delivery and its run are stored
//!   together.
//! - **Every run ends in a record.** A run whose actor, machine or manager goes away is `lost`,
//!   with the reason; after a restart of the runner jobs that never had a machine are run, jobs
//!   that had one are `lost` and their VMs given back, and ended ones keep their ends.
//! - **Every status ends.** A commit status that was begun gets exactly one terminal state, through
//!   the outbox.
//! - **The token stays here.** It is in no VM, no URL and no argument list.

mod action_store;
mod api_changes;
mod artifact_room;
mod artifact_zip;
mod artifacts;
mod caches;
mod catch_up;
mod checkout_key;
mod checkout_lfs;
mod checkout_source;
mod checkout_ssh;
mod checkout_submodules;
mod checkouts;
mod clock;
mod coordinator;
mod counters;
mod dispatch;
mod event;
mod followers;
mod garbage_collector;
mod groups;
mod hand_over;
mod hand_over_note;
mod heads;
mod image_store;
mod intake;
mod job;
mod job_admission;
mod job_graph;
mod job_services;
mod kept;
mod known_repository;
mod ledger;
mod leftovers;
mod lfs_fetcher;
mod log;
mod log_reader;
pub mod messages;
mod model_check;
mod orphans;
mod oversized;
mod own_forge;
mod packed;
mod permits;
mod records;
mod recovery;
mod repeat;
mod repositories;
mod review;
mod reviews;
mod rows;
mod run;
mod run_control;
mod run_files;
mod run_finder;
mod run_list;
mod run_queue;
mod run_shape;
mod schedule_clock;
mod scopes;
mod service;
mod settings;
mod settings_reload;
mod shared_logs;
mod source;
mod step_headings;
mod store_retry;
mod stored_tar;
mod summary_rows;
mod tar_guard;
mod tar_store;
mod test_rows;
mod test_view;
mod token_pushes;
mod view;
mod vm_owner;

pub use action_store::{
    ActionFault, ActionStore, ActionStoreError, ImportedAction, StoredLock, VerifiedAction,
};
pub use artifact_room::ArtifactLimits;
pub use artifacts::{Artifact, ArtifactMaker, ArtifactStore};
pub use cluster_actors::vm_hosts::{
    Cordon, DEFAULT_HOST, HostChanges, MachineType, VmHostFacts, VmHostSettings, VmHostView,
    VmHosts,
};
pub use coordinator::RunCoordinator;
pub use counters::{BUCKETS, Durations, RunCounters};
pub use dispatch::{DispatchInput, SeenRepository, StartableWorkflow, StartableWorkflows};
pub use event::StoredEvent;
pub use hand_over::{DrainNow, DrainWhenIdle, HandOver};
pub use hand_over_note::HandOverNote;
pub use image_store::{AddedImage, ContainerImageStore, ImageStoreError};
pub use intake::{DeliveryResult, IntakeError, NewDelivery, RunnerIntake};
pub use job_admission::JobAdmission;
pub use job_graph::{GraphCopy, GraphJob, GraphState, JobGraph};
pub use job_services::{
    AdmittedGit, BlobDownload, BlockWriter, ForwardedRequest, GatewayAnswer, GatewayBody,
    GatewayRefusal, GatewayRequest, GitAnswer, GitFolder, GitRequest, HostIdentity, JobGrant,
    JobServices, JobSession, LargeFileTurn, ListedArtifact, PackageTurn, ServiceFault, SignedBlob,
    TokenGuard,
};
pub use kept::{
    ClosingShell, KeepSettings, KeptVmView, KeptVms, OpenShell, ShellOpenError, ShellRequest,
};
pub use log::{LineKind, LogLine, Logs};
pub use log_reader::{
    LogMatch, LogMatches, LogNote, LogOverview, LogRange, LogReader, LogSection, MAX_FOUND,
    MAX_RANGE, NumberedLine, SectionName, WrongQuery,
};
pub use records::{
    EnvironmentGate, JobEnd, JobEnvironmentRecord, JobRecord, LostAttempt, PlannedJobRecord,
    RunApproval, RunRecord, StepRecord,
};
pub use review::Review;
pub use rows::extents::EXTENT_TABLES;
pub use run::{label_image, label_machine};
pub use run_files::file_migration;
pub use run_list::{RunFilter, RunListPage, short_reference};
pub use scopes::{EnvironmentSettings, RepositorySettings, ScopeSettings, ScopedValues};
pub use service::RunnerService;
pub use settings::{
    ActionSettings, CheckoutLimits, ImageSettings, ModelServer, RunnerSettings, ScheduleTime,
};
pub use settings_reload::{
    ReloadError, ReloadSettings, SettingsNow, SettingsReloader, SettingsReport, SettingsSource,
    log_reload,
};
pub use step_headings::StepHeadings;
pub use summary_rows::{StepSummary, SummaryPage, SummaryPlace};
pub use test_view::{
    MAX_RUNS, RunTest, RunTestFilter, RunTests, TestFilter, TestKind, TestedJob, USUAL_RUNS,
};
pub use view::RunnerView;
