//! The configuration: one value that cannot be wrong, from `orchestrator.toml` and all files beside
//! it.
//!
//! ```text
//! orchestrator.toml ─locate─▶ where the other files are ─(the program reads them)─▶ Files ─check─▶ Config
//! ```
//!
//! References between files are judged where they stand: what all files declare is gathered first.

mod agent;
mod agent_keys;
mod check;
mod declared;
mod decode_agent;
mod decode_top;
mod decoder;
mod input;
mod machines;
mod model;
mod persona;
mod post_kind;
mod routes;
mod routing;
mod schedule;
mod secrets;
mod skill;
mod top_keys;
mod values;

pub use agent::{
    AgentBudget, AgentCli, AgentIsolation, AgentLayer, AgentLimits, AgentSchedule, AgentSpec,
    DEFAULT_MACHINE, OnRestart, PromptBy, WorktreeMode,
};
pub use check::{CheckedConfig, check, locate};
pub use input::{AnyHost, ConfigFile, ConfigFiles, ConfigHost, FileProblem, Folder};
pub use model::{
    Config, Directories, ForgeConfig, Listeners, MentionLimits, MentionSettings, PrAgent,
    PrDispatch, Project, ProjectSecrets, Provider, RunRetention, WebhookConfig,
};
pub use persona::{Persona, PersonaFacts};
pub use post_kind::PostKind;
pub use routes::{routes, table};
pub use routing::{Route, RoutingTable, RoutingTables};
pub use schedule::DueTimes;
pub use top_keys::{fragment_keys, keys};
