//! What VMs need of this machine: looked for, nothing made and nothing started.

use std::path::Path;

use config_core::{Diagnostic, Diagnostics, ValueError};
use vm_core::DriverName;
use vm_engine::image::agent;

use crate::config::ManagerConfig;

/// What is not there: the driver's program, and the agent that VMs run, where it was found. Each
/// with what to do.
#[must_use]
pub fn missing(config: &ManagerConfig, agent: Option<&Path>) -> Diagnostics {
    let mut missing = Diagnostics::default();
    if let Some(error) = program(config) {
        missing.push(error);
    }
    if let Some(error) = wrong_agent(config.driver, agent) {
        missing.push(Diagnostic::for_setting("agent", error));
    }
    missing
}

fn program(config: &ManagerConfig) -> Option<Diagnostic> {
    let (setting, program, help) = match config.driver {
        DriverName::Qemu => (
            "qemu.program",
            config.qemu.program.as_path(),
            "install Debian's qemu-system-x86, or name the program here",
        ),
        DriverName::Firecracker => (
            "firecracker.program",
            config.firecracker.program.as_path(),
            "install it, or name the program here",
        ),
        DriverName::Bubblewrap => (
            "driver",
            Path::new(super::drivers::BUBBLEWRAP),
            "install Debian's bubblewrap",
        ),
        DriverName::Scripted => return None,
    };
    if vm_engine::installed(program).is_some() {
        return None;
    }
    let message = format!("there is no program {}", program.display());
    let error = ValueError::new(message).help(help);
    Some(Diagnostic::for_setting(setting, error))
}

fn wrong_agent(driver: DriverName, path: Option<&Path>) -> Option<ValueError> {
    let help = "install vm-guest beside this program, or name it here or with --agent";
    let Some(path) = path else {
        return Some(ValueError::new("there is no static agent for VMs").help(help));
    };
    let shown = path.display();
    let message = if vm_engine::installed(path).is_none() {
        format!("there is no program {shown}")
    } else if driver != DriverName::Bubblewrap && !agent::is_static(path) {
        format!("{shown} is not a static program, so it does not run in a VM")
    } else {
        return None;
    };
    Some(ValueError::new(message).help(help))
}
