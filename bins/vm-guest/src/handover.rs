//! Images with a first process of their own, such as systemd: the agent leaves that place to it.
//!
//! ```text
//! kernel ─▶ agent (first process): boot ─┬─ becomes what /etc/vm-guest/init leads to
//!                                        └─ child: the agent, from here on
//! ```
//!
//! The kernel gives the number 1 to one process only, and a service manager wants it. Jobs of such
//! an image are not kept apart from the agent: whoever may command the service manager may have
//! anything run as root, and in a namespace of their own they could not command it. What isolates
//! from the host is the VM, as ever.
#![allow(
    unsafe_code,
    reason = "the standard library cannot fork; there is one thread, so the child may do anything"
)]

use std::convert::Infallible;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use nix::unistd::{ForkResult, fork, setsid};

use crate::error::{AgentError, ErrorContext as _};

/// A program, or a link to one, in the image.
const OWN_INIT: &str = "/etc/vm-guest/init";
/// What service managers are called when the kernel starts them.
const NAME: &str = "/sbin/init";

/// Whether the image has a first process of its own.
pub(crate) fn is_wanted() -> bool {
    own_init(Path::new(OWN_INIT)).is_some()
}

/// Where the image has a first process of its own, this process becomes it, and `true` is returned
/// in a child of it; otherwise `false` is returned at once. To be called while there is one thread.
///
/// # Errors
/// When no process can be made, or the image's program cannot be run.
pub(crate) fn to_own_init() -> Result<bool, AgentError> {
    let Some(program) = own_init(Path::new(OWN_INIT)) else {
        return Ok(false);
    };
    // SAFETY: no other thread runs that could hold a lock in the child.
    match unsafe { fork() }.context("making the agent's process")? {
        ForkResult::Child => setsid().map(|_| true).context("leaving the session"),
        ForkResult::Parent { .. } => become_init(&program).map(|never| match never {}),
    }
}

/// The program that the link leads to. A link that leads nowhere is no program: the VM is better
/// off with the agent than without a first process.
fn own_init(link: &Path) -> Option<PathBuf> {
    let program = link.canonicalize().ok()?;
    program.is_file().then_some(program)
}

fn become_init(program: &Path) -> Result<Infallible, AgentError> {
    let mut command = Command::new(program);
    command.arg0(NAME).env_clear().current_dir("/");
    command.env(
        "PATH",
        "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    );
    Err(command.exec()).context(format!("running {}", program.display()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn an_image_names_its_first_process_by_a_link_that_leads_to_a_program() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("init");
        assert_eq!(own_init(&link), None, "none is named");
        symlink("missing", &link).unwrap();
        assert_eq!(own_init(&link), None, "it leads nowhere");
        let program = folder.path().join("missing");
        std::fs::create_dir(&program).unwrap();
        assert_eq!(own_init(&link), None, "a folder");
        std::fs::remove_dir(&program).unwrap();
        std::fs::write(&program, "#!/bin/sh\n").unwrap();
        assert_eq!(own_init(&link), Some(program.canonicalize().unwrap()));
    }

    #[test]
    fn what_cannot_be_run_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("init");
        std::fs::write(&program, "").unwrap();
        let error = become_init(&program).unwrap_err().to_string();
        assert!(error.starts_with("running "), "{error}");
    }
}
