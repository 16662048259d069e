//! Where the agent is that VMs run.

use std::path::PathBuf;

use anyhow::Context;
use vm_engine::image::agent;
use vm_web::config::ManagerConfig;

use crate::arguments::Common;

/// The agent's program: as the flag says, else the configuration, else beside this program, where
/// packages put it, or where cargo builds it for VMs.
pub(crate) fn find(common: &Common, config: &ManagerConfig) -> anyhow::Result<PathBuf> {
    let told = common.agent.clone().or_else(|| config.agent.clone());
    let told = told.map(std::path::absolute).transpose();
    let told = told.context("the path of the agent")?;
    let own = std::env::current_exe().context("where this program is")?;
    agent::find(told.as_deref(), &own).with_context(|| {
        format!(
            "there is no static agent for VMs beside {}: install vm-guest there, or name it with --agent",
            own.display()
        )
    })
}
