//! What separates a job from the host, labelled honestly.

use std::fmt;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// How strongly a job is separated from the host, weakest first. It is shown in `/health`, run
/// records, logs and statuses, and is never lowered in silence.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Isolation {
    /// Linux namespaces: the host's kernel runs the job. Not a VM.
    NamespaceSandbox,
    /// A virtual machine whose processor is emulated in software (QEMU's TCG).
    EmulatedVm,
    /// A virtual machine on the processor's own virtualisation (KVM).
    HardwareVm,
}

/// Less isolation than asked for is all there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "isolation {wanted} was asked for, but this manager offers {offered}: ask for less with `isolation_min`, or use a host that offers it"
)]
pub struct IsolationUnmet {
    /// What the caller insists on.
    pub wanted: Isolation,
    /// The best there is.
    pub offered: Isolation,
}

impl Isolation {
    /// The label in JSON and on the command line.
    pub fn label(self) -> &'static str {
        match self {
            Self::NamespaceSandbox => "namespace-sandbox",
            Self::EmulatedVm => "emulated-vm",
            Self::HardwareVm => "hardware-vm",
        }
    }

    /// Whether this is at least `wanted`.
    ///
    /// # Errors
    /// [`IsolationUnmet`] when it is weaker; the caller gets 409.
    pub fn satisfies(self, wanted: Self) -> Result<(), IsolationUnmet> {
        if self >= wanted {
            Ok(())
        } else {
            Err(IsolationUnmet {
                wanted,
                offered: self,
            })
        }
    }
}

impl Default for Isolation {
    /// What applies when a caller does not say: a VM, be it emulated.
    fn default() -> Self {
        Self::EmulatedVm
    }
}

impl fmt::Display for Isolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.label())
    }
}

/// What runs the VMs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DriverName {
    /// QEMU, with KVM where the canary boots on it, else TCG.
    Qemu,
    /// Firecracker over its API socket; KVM only.
    Firecracker,
    /// bubblewrap: namespaces, not a VM; only when configured by name.
    Bubblewrap,
    /// A driver written for a test.
    Scripted,
}

impl DriverName {
    /// The name in JSON and in the configuration.
    pub fn label(self) -> &'static str {
        match self {
            Self::Qemu => "qemu",
            Self::Firecracker => "firecracker",
            Self::Bubblewrap => "bubblewrap",
            Self::Scripted => "scripted",
        }
    }
}

impl fmt::Display for DriverName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.label())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn less_than_asked_for_is_refused_never_given_instead() {
        use Isolation::{EmulatedVm, HardwareVm, NamespaceSandbox};
        let table = [
            (HardwareVm, HardwareVm, true),
            (HardwareVm, EmulatedVm, true),
            (EmulatedVm, HardwareVm, false),
            (EmulatedVm, EmulatedVm, true),
            (NamespaceSandbox, EmulatedVm, false),
            (NamespaceSandbox, NamespaceSandbox, true),
        ];
        for (offered, wanted, fine) in table {
            assert_eq!(
                offered.satisfies(wanted).is_ok(),
                fine,
                "{offered} for {wanted}"
            );
        }
        assert_eq!(
            NamespaceSandbox
                .satisfies(Isolation::default())
                .unwrap_err()
                .wanted,
            EmulatedVm
        );
    }

    #[test]
    fn labels_are_the_ones_in_json() {
        for isolation in [
            Isolation::NamespaceSandbox,
            Isolation::EmulatedVm,
            Isolation::HardwareVm,
        ] {
            assert_eq!(
                serde_json::to_string(&isolation).unwrap(),
                format!("\"{isolation}\"")
            );
        }
        for driver in [
            DriverName::Qemu,
            DriverName::Firecracker,
            DriverName::Bubblewrap,
            DriverName::Scripted,
        ] {
            assert_eq!(
                serde_json::to_string(&driver).unwrap(),
                format!("\"{driver}\"")
            );
        }
    }
}
