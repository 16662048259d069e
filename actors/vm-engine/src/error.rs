//! Why a VM could not be made, or did not do what it was asked.

use std::path::PathBuf;
use std::time::Duration;

use vm_core::guest::GuestFailure;
use vm_core::{DriverName, FailureReason};

/// Why a VM or a template could not be made.
#[derive(Debug, thiserror::Error)]
pub enum DriverError {
    /// The program is missing or cannot be started.
    #[error("{program} cannot be started: {source}; {hint}")]
    Program {
        /// Which.
        program: String,
        /// What would help.
        hint: &'static str,
        /// What the system said.
        source: std::io::Error,
    },
    /// This driver does not do what the request asks for.
    #[error("the {driver} driver cannot: {what}")]
    Unsupported {
        /// Which.
        driver: DriverName,
        /// What was asked for.
        what: String,
    },
    /// The process ended before the agent was ready.
    #[error("the VM ended while it booted: {detail}")]
    Died {
        /// The last of what it said.
        detail: String,
    },
    /// The agent was not ready in time.
    #[error("the VM was not ready within {} ms: {detail}", .deadline.as_millis())]
    Deadline {
        /// How long was waited.
        deadline: Duration,
        /// What it was doing.
        detail: String,
    },
    /// The agent is of another build.
    #[error("the agent in the VM speaks protocol {found}, not {wanted}: build the initramfs anew")]
    Version {
        /// What it speaks.
        found: u16,
        /// What this manager speaks.
        wanted: u16,
    },
    /// Files of the VM cannot be made.
    #[error("{what} {}: {source}", .path.display())]
    Files {
        /// What was tried.
        what: &'static str,
        /// On which.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The monitor refused a command.
    #[error("the monitor refused `{command}`: {detail}")]
    Monitor {
        /// Which.
        command: String,
        /// What it said.
        detail: String,
    },
    /// The agent could not be spoken to.
    #[error(transparent)]
    Machine(#[from] MachineError),
}

impl DriverError {
    /// Whether this machine has too little of something at the moment (descriptors, processes,
    /// memory, disk): nothing is wrong with the image, the template or the request, and it may work
    /// later.
    #[must_use]
    pub fn is_shortage(&self) -> bool {
        match self {
            Self::Program { source, .. } | Self::Files { source, .. } => is_shortage(source),
            // What a monitor says that cannot have what it asks for.
            Self::Died { detail } | Self::Monitor { detail, .. } => {
                SHORTAGES.iter().any(|text| detail.contains(text))
            }
            _ => false,
        }
    }

    /// The kind, for the VM's record.
    pub fn reason(&self) -> FailureReason {
        match self {
            Self::Deadline { .. } => FailureReason::BootDeadline,
            Self::Died { .. } => FailureReason::ProcessGone,
            Self::Version { .. } => FailureReason::BadProtocol,
            Self::Machine(error) => error.reason(),
            _ => FailureReason::NotStarted,
        }
    }
}

/// What the system says of a shortage, as programs print it.
const SHORTAGES: [&str; 5] = [
    "Cannot allocate memory",
    "Too many open files",
    "Resource temporarily unavailable",
    "No space left on device",
    "Disk quota exceeded",
];

/// Whether the system had too little of something.
fn is_shortage(error: &std::io::Error) -> bool {
    use rustix::io::Errno;
    let shortages = [
        Errno::MFILE,
        Errno::NFILE,
        Errno::NOMEM,
        Errno::AGAIN,
        Errno::NOBUFS,
        Errno::NOSPC,
        Errno::DQUOT,
    ];
    Errno::from_io_error(error).is_some_and(|errno| shortages.contains(&errno))
}

/// Why something did not work in a VM that is there.
#[derive(Debug, thiserror::Error)]
pub enum MachineError {
    /// It has ended, or was killed.
    #[error("the VM is gone: {0}")]
    Terminated(String),
    /// It does not answer in time.
    #[error("the VM did not answer within {} ms", .0.as_millis())]
    Silent(Duration),
    /// Its agent said no.
    #[error("the agent in the VM refused: {0}")]
    Guest(#[from] GuestFailure),
    /// Reading what to send, or writing what came, failed on the host's side.
    #[error("the tar cannot be passed on: {0}")]
    Tar(#[source] std::io::Error),
    /// The request is larger than the protocol carries.
    #[error("the order does not fit into a message to the agent")]
    TooLarge,
    /// As many things run in it as may at once.
    #[error("{0} things run in this VM already")]
    Busy(usize),
    /// It cannot be kept as it is, or go back, while something is under way.
    #[error("{0}")]
    InUse(&'static str),
    /// The disk has no room for a snapshot.
    #[error("a snapshot may take {needed} MiB, and the disk of the VMs has {free} MiB left")]
    NoDisk {
        /// MiB that it may take.
        needed: u64,
        /// MiB that are free.
        free: u64,
    },
    /// Its clock is not the host's.
    #[error("the clock of the VM is wrong: {0}")]
    Clock(String),
    /// All VMs together hold as much for their guests as they may.
    #[error("the manager has no memory left to pass a tar on; try again later")]
    NoMemory,
    /// This driver cannot do that.
    #[error("this driver cannot {0}")]
    Unsupported(&'static str),
    /// Something of it is still there after it was killed.
    #[error("not all of the VM is gone: {0}")]
    NotRemoved(String),
}

impl MachineError {
    /// The kind, for the VM's record.
    pub fn reason(&self) -> FailureReason {
        match self {
            Self::Silent(_) => FailureReason::GuestSilent,
            Self::Clock(_) => FailureReason::ClockWrong,
            _ => FailureReason::ProcessGone,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t8_a_shortage_is_told_from_what_is_broken() {
        let program = |code| DriverError::Program {
            program: "qemu".to_owned(),
            hint: "",
            source: std::io::Error::from_raw_os_error(code),
        };
        let files = |code| DriverError::Files {
            what: "making",
            path: "/x".into(),
            source: std::io::Error::from_raw_os_error(code),
        };
        let died = |detail: &str| DriverError::Died {
            detail: detail.to_owned(),
        };
        // EAGAIN, ENOMEM, ENFILE, EMFILE, ENOSPC, EDQUOT.
        for code in [11, 12, 23, 24, 28, 122] {
            assert!(
                program(code).is_shortage() && files(code).is_shortage(),
                "{code}"
            );
        }
        // EPERM, ENOENT, EACCES, ENOEXEC.
        for code in [1, 2, 13, 8] {
            assert!(
                !program(code).is_shortage() && !files(code).is_shortage(),
                "{code}"
            );
        }
        let memory =
            "exit status: 1: qemu: cannot set up guest memory 'ram': Cannot allocate memory";
        assert!(died(memory).is_shortage());
        assert!(!died("exit status: 1: qemu: could not load kernel").is_shortage());
        assert!(!DriverError::from(MachineError::Terminated(String::new())).is_shortage());
    }
}
