//! Agent processes: started apart from the daemon, watched, and ended with everything they started.
//!
//! ```text
//! AgentSpec ── start ──> RunningAgent ── run (blocks) ──> Ended
//!                          │    └── Stopper (any thread): cancelled, superseded, shutdown
//!                          └── Pen: cgroup v2 where it is writable, and a scan of /proc everywhere
//! ```
//!
//! An agent leads its own session and process group. It is ended by SIGTERM to all of its
//! processes, and after the grace time by SIGKILL, again and again until none is left. With a
//! cgroup nothing can slip away but a process that may write to cgroups itself. Without one,
//! processes are found by session, group, parentage and the run id in their environment: one that
//! leaves all four within the quarter of a second between two scans is missed
//! ([`Confinement::is_complete`] says so beforehand). With [`adopt_orphans`] orphans become children
//! of this process, so that they are reaped.

mod cgroup;
mod environment;
mod launch;
mod leftover;
mod limits;
mod orphans;
mod pen;
mod proc_table;
mod run;
mod spec;
mod watched;

pub use cgroup::CgroupBase;
pub use environment::{ChildEnvironment, EnvironmentError, RunVariables};
pub use leftover::{Leftover, ProcessMark, end_leftover};
pub use limits::{Limits, Resource};
pub use orphans::adopt_orphans;
pub use pen::Confinement;
pub use run::{RunningAgent, Stopper};
pub use spec::{AgentInput, AgentSpec, EndCause, Ended, ProcessEnd, StartError, StopCause};
