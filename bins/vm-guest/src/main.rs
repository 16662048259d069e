//! The agent in a VM: first process of the initramfs, runs what the manager sends.
//!
//! ```text
//! kernel ─▶ boot: modules, root disk, mounts ─▶ handover ─▶ agent: one port, one reader
//!                                                 ├─ spawner: a thread apart, from which jobs start
//!                                                 ├─ exec: a process group, two pumps, one waiter
//!                                                 ├─ tty: a terminal for one of them, and what is typed
//!                                                 ├─ transfer: tar in, tar out
//!                                                 ├─ network: connections to the proxy, if there is one
//!                                                 └─ system: clock, randomness, host name
//! ```
//!
//! Threads and blocking calls only: it has a few dozen things to do at most, and its size is memory
//! that every clone pays for. When the host closes the port, the machine ends: nobody is left who
//! could want it.

mod agent;
mod boot;
mod cgroup;
mod confine;
mod emulators;
mod environment;
mod error;
mod exec;
mod extraction_root;
mod gate;
mod handover;
mod kernel_settings;
mod network;
mod pack;
mod port;
mod pump;
mod reaper;
mod system;
mod thread;
mod transfer;
mod tty;

use std::process::ExitCode;

use crate::agent::GuestAgent;
use crate::confine::Spawner;
use crate::error::AgentError;
use crate::port::Port;

/// How the agent was started.
enum Mode {
    /// As the first process of a VM.
    Vm,
    /// In a sandbox that somebody else has made, with the host at its standard input.
    Sandbox,
}

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let mode = match (arguments.as_slice(), std::process::id()) {
        ([flag], _) if flag == "--version" => {
            system::log_line(concat!("vm-guest ", env!("CARGO_PKG_VERSION")));
            return ExitCode::SUCCESS;
        }
        ([flag], 1) if flag == confine::NAMESPACE_HOLDER => confine::reap_orphans(),
        ([flag], _) if flag == "--sandbox" => Mode::Sandbox,
        // The kernel hands on words of its command line that it does not know.
        (_, 1) => Mode::Vm,
        _ => {
            system::log_line(
                "vm-guest is the first process of a VM; there is nothing to start by hand",
            );
            return ExitCode::from(2);
        }
    };
    match run(&mode) {
        Ok(()) => {}
        Err(error) => system::log_line(&format!("vm-guest: {error}")),
    }
    if matches!(mode, Mode::Vm) {
        system::power_off();
    }
    ExitCode::FAILURE
}

/// Serves until the host closes the port.
fn run(mode: &Mode) -> Result<(), AgentError> {
    confine::close_memory();
    let mut apart = false;
    let port = match mode {
        Mode::Vm => {
            boot::prepare()?;
            system::raise_open_files();
            apart = !handover::to_own_init()?;
            let port = match boot::vsock_port() {
                Some(port) => Port::connect_vsock(port)?,
                None => Port::open_virtio()?,
            };
            confine::hide_devices();
            port
        }
        Mode::Sandbox => Port::standard_input()?,
    };
    let spawner = Spawner::start(apart)?;
    GuestAgent::start(port, spawner)?.serve()
}
