//! Agent processes: started apart from the daemon, watched, and ended with everything they started.
//!
//! ```text
//! ProcessSpec ── start ──> RunningAgent ── run (blocks) ──> Ended
//!                          │    └── Stopper (any thread): cancelled, superseded, shutdown
//!                          └── ProcessGroup: namespace, cgroup v2 where it is writable, and a scan of /proc everywhere
//! ```
//!
//! An agent leads its own session and process group, in a process table of its own where the host
//! allows that ([`Sandbox`]). It is ended by SIGTERM to all of its processes, and after the grace
//! time by SIGKILL to the first process of its namespace, with which the kernel ends all others. A
//! process belongs to a run by descent: inside a namespace every orphan becomes a child of its
//! first process, so descent cannot be left.
//!
//! Without a namespace, and without a cgroup, processes are found by session, group and parentage;
//! one that leaves all three within the quarter of a second between two scans is known only by the
//! run id in its environment, which anybody can copy: such a process is ended with the run, and
//! never counts against it. With [`adopt_orphans`] orphans become children of this process, so that
//! they are reaped.

mod agent_process;
mod cgroup;
mod environment;
mod launch;
mod limits;
mod monitor;
mod previous_run;
mod proc_table;
mod process_group;
mod reaper;
mod run;
mod sandbox;
mod sandbox_status;
mod spec;

pub use agent_process::{StopSignal, Stopper};
pub use cgroup::CgroupBase;
pub use environment::{ChildEnvironment, EnvironmentError, RunVariables};
pub use limits::{ProcessLimits, Resource};
pub use previous_run::{PreviousRun, ProcessKey, end_previous_run};
pub use process_group::Confinement;
pub use reaper::adopt_orphans;
pub use run::RunningAgent;
pub use sandbox::{Sandbox, View, is_vanished_path};
pub use spec::{
    AgentInput, EndCause, ProcessEnd, ProcessReport, ProcessSpec, StartError, StopCause,
};
