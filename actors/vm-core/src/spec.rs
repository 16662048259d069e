//! What a VM is made of, checked against the manager's limits.

use std::time::Duration;

use vmm_api_core::network::{AllowList, NetworkTarget};
use vmm_api_core::{ImageRef, Isolation, Network, NewVm, Owner};

/// A checked request for one VM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VmSpec {
    /// What its disk holds.
    pub image: ImageRef,
    /// Virtual processors.
    pub vcpus: u8,
    /// Memory in MiB.
    pub mem_mib: u32,
    /// Size of the disk in MiB, the image's content included.
    pub disk_mib: u32,
    /// What it can reach.
    pub network: Network,
    /// With [`Network::User`]: of what the manager allows, only this; all of it without.
    pub allow: Option<AllowList>,
    /// Where the services are that its owner gives it.
    pub services: Option<NetworkTarget>,
    /// What is led to them beside requests to the proxy itself.
    pub services_for: Vec<NetworkTarget>,
    /// How long it may live without its lease being extended.
    pub lease: Duration,
    /// Who asked.
    pub owner: Owner,
    /// The least isolation that will do.
    pub isolation_min: Isolation,
}

impl From<NewVm> for VmSpec {
    fn from(request: NewVm) -> Self {
        Self {
            image: request.image.unwrap_or_default(),
            vcpus: request.vcpus.unwrap_or(NewVm::VCPUS),
            mem_mib: request.mem_mib.unwrap_or(NewVm::MEM_MIB),
            disk_mib: request.disk_mib.unwrap_or(NewVm::DISK_MIB),
            network: request.network.unwrap_or_default(),
            allow: request.allow,
            services: request.services,
            services_for: request.services_for,
            lease: Duration::from_secs(request.lease_s.unwrap_or(NewVm::LEASE_S)),
            owner: request.owner.unwrap_or_default(),
            isolation_min: request.isolation_min.unwrap_or_default(),
        }
    }
}

/// With every default written out: equal requests are equal texts.
impl From<&VmSpec> for NewVm {
    fn from(spec: &VmSpec) -> Self {
        Self {
            image: Some(spec.image.clone()),
            vcpus: Some(spec.vcpus),
            mem_mib: Some(spec.mem_mib),
            disk_mib: Some(spec.disk_mib),
            network: Some(spec.network),
            allow: spec.allow.clone(),
            services: spec.services.clone(),
            services_for: spec.services_for.clone(),
            lease_s: Some(spec.lease.as_secs()),
            owner: Some(spec.owner.clone()),
            isolation_min: Some(spec.isolation_min),
        }
    }
}

impl VmSpec {
    /// VMs with an equal key can be cloned from one template.
    pub fn template_key(&self) -> TemplateKey {
        TemplateKey {
            image: self.image.clone(),
            vcpus: self.vcpus,
            mem_mib: self.mem_mib,
            disk_mib: self.disk_mib,
        }
    }
}

/// What two VMs must have in common to be clones of one template. A network is no part of it: it is
/// given to a VM that runs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TemplateKey {
    /// What the disk holds.
    pub image: ImageRef,
    /// Virtual processors.
    pub vcpus: u8,
    /// Memory in MiB.
    pub mem_mib: u32,
    /// Size of the disk in MiB.
    pub disk_mib: u32,
}

impl Default for TemplateKey {
    /// That of a request which says nothing.
    fn default() -> Self {
        Self {
            image: ImageRef::default(),
            vcpus: 1,
            mem_mib: 256,
            disk_mib: 2048,
        }
    }
}

/// The bounds of what one VM may be given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VmLimits {
    /// Most virtual processors of one VM.
    pub max_vcpus: u8,
    /// Least memory in MiB; below it the guest's kernel does not start.
    pub min_mem_mib: u32,
    /// Most memory in MiB.
    pub max_mem_mib: u32,
    /// Least disk in MiB.
    pub min_disk_mib: u32,
    /// Most disk in MiB.
    pub max_disk_mib: u32,
    /// Longest lease.
    pub max_lease: Duration,
}

impl Default for VmLimits {
    fn default() -> Self {
        Self {
            max_vcpus: 4,
            min_mem_mib: 128,
            max_mem_mib: 8192,
            min_disk_mib: 256,
            max_disk_mib: 65_536,
            max_lease: Duration::from_secs(6 * 3600),
        }
    }
}

/// A value outside the manager's limits; the caller gets 422.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field} is {value}, but must lie between {least} and {most}")]
pub struct SpecError {
    /// The JSON field.
    pub field: &'static str,
    /// What was asked for.
    pub value: u64,
    /// The least allowed.
    pub least: u64,
    /// The most allowed.
    pub most: u64,
}

impl VmLimits {
    /// All that is out of bounds in `spec`, in the order of its fields.
    ///
    /// # Errors
    /// Every [`SpecError`] at once.
    pub fn check(&self, spec: &VmSpec) -> Result<(), Vec<SpecError>> {
        let rows: [(&'static str, u64, u64, u64); 4] = [
            ("vcpus", spec.vcpus.into(), 1, self.max_vcpus.into()),
            (
                "mem_mib",
                spec.mem_mib.into(),
                self.min_mem_mib.into(),
                self.max_mem_mib.into(),
            ),
            (
                "disk_mib",
                spec.disk_mib.into(),
                self.min_disk_mib.into(),
                self.max_disk_mib.into(),
            ),
            ("lease_s", spec.lease.as_secs(), 1, self.max_lease.as_secs()),
        ];
        let errors: Vec<SpecError> = rows
            .into_iter()
            .filter(|(_, value, least, most)| value < least || value > most)
            .map(|(field, value, least, most)| SpecError {
                field,
                value,
                least,
                most,
            })
            .collect();
        if errors.is_empty() {
            Ok(())
        } else {
            Err(errors)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec() -> VmSpec {
        VmSpec {
            image: ImageRef::default(),
            vcpus: 1,
            mem_mib: 256,
            disk_mib: 1024,
            network: Network::None,
            allow: None,
            services: None,
            services_for: Vec::new(),
            lease: Duration::from_secs(60),
            owner: "test".parse().unwrap(),
            isolation_min: Isolation::default(),
        }
    }

    #[test]
    fn bounds_are_inclusive_and_all_mistakes_come_at_once() {
        let limits = VmLimits::default();
        assert_eq!(limits.check(&spec()), Ok(()));
        let most = VmSpec {
            vcpus: 4,
            mem_mib: 8192,
            disk_mib: 65_536,
            lease: limits.max_lease,
            ..spec()
        };
        assert_eq!(limits.check(&most), Ok(()));
        let wrong = VmSpec {
            vcpus: 0,
            mem_mib: 127,
            disk_mib: 65_537,
            lease: Duration::ZERO,
            ..spec()
        };
        let errors = limits.check(&wrong).unwrap_err();
        let fields: Vec<_> = errors.iter().map(|error| error.field).collect();
        assert_eq!(fields, ["vcpus", "mem_mib", "disk_mib", "lease_s"]);
        assert_eq!(
            errors[1].to_string(),
            "mem_mib is 127, but must lie between 128 and 8192"
        );
    }

    #[test]
    fn the_template_key_leaves_out_what_clones_may_differ_in() {
        let other = VmSpec {
            owner: "somebody-else".parse().unwrap(),
            lease: Duration::from_secs(9),
            ..spec()
        };
        assert_eq!(spec().template_key(), other.template_key());
        let bigger = VmSpec {
            mem_mib: 512,
            ..spec()
        };
        assert_ne!(spec().template_key(), bigger.template_key());
    }
}
