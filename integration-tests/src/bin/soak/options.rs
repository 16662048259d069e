//! What a run is started with.

use std::path::PathBuf;

use clap::Parser;

const EXAMPLES: &str = "\
Examples:
  soak --programs target/release --agent vm-guest --images ~/.cache/orrery/vm --kills 40
  soak --programs target/release --agent vm-guest --images ~/.cache/orrery/vm --seed 7 --keep
  soak --programs target/release --agent vm-guest --images ~/.cache/orrery/vm --cluster";

/// What to run.
#[derive(Debug, Parser)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// Several processes of each kind on one PostgreSQL, with pauses, partitions and a fail-over
    #[arg(long)]
    pub(crate) cluster: bool,
    /// SIGKILLs in all, spread over the four programs; of a cluster, faults of every kind
    #[arg(long, default_value_t = 1000)]
    pub(crate) kills: u32,
    /// Where kills, faults and load fall; printed, so that a run can be repeated
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// Gives up on further kills after this many minutes; 15 of a cluster, unless said
    #[arg(long, default_value = "60", default_value_if("cluster", "true", "15"))]
    pub(crate) minutes: u64,
    /// Folder with the built programs
    #[arg(long, value_name = "DIR")]
    pub(crate) programs: PathBuf,
    /// The static agent of VMs
    #[arg(long, value_name = "FILE")]
    pub(crate) agent: PathBuf,
    /// Folder with VM images and kernels that may be reused
    #[arg(long, value_name = "DIR")]
    pub(crate) images: PathBuf,
    /// Keeps the folder of the run, with all logs
    #[arg(long)]
    pub(crate) keep: bool,
}
