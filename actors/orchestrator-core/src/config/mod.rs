//! The configuration: one value that cannot be wrong, from `orchestrator.toml` and all files beside it.
//!
//! ```text
//! orchestrator.toml ─locate─▶ where the other files are ─(the program reads them)─▶ Files ─check─▶ Config
//! ```
//!
//! References between files are judged where they stand: what all files declare is gathered first.

mod agent;
mod check;
mod declared;
mod decode_agent;
mod decode_top;
mod decoder;
mod input;
mod model;
mod persona;
mod routes;
mod routing;
mod schedule;
mod secrets;
mod skill;
mod values;

pub use agent::{
    AgentCli, AgentSpec, Budget, Isolation, Layer, Limits, OnRestart, PromptBy, Schedule,
    WorktreeMode,
};
pub use check::{Checked, check, locate};
pub use input::{AnyHost, ConfigFile, FileProblem, Files, Folder, Host};
pub use model::{
    Config, Directories, ForgeConfig, Listeners, MentionLimits, Mentions, PrAgent, PrDispatch,
    Project, ProjectSecrets, Provider, Retention, WebhookConfig,
};
pub use persona::{Persona, PersonaFacts};
pub use routes::{routes, table};
pub use routing::{Route, RoutingTable, RoutingTables};
pub use schedule::DueTimes;
