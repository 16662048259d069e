//! A host of VMs, as those who ask it for VMs show it.

use std::fmt;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Isolation;

/// Since when a host takes no new jobs, and who wants it so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Cordon {
    /// In milliseconds since the Unix epoch.
    pub since: u64,
    /// Who has asked for it.
    pub by: String,
}

/// A host whose VM manager is asked for VMs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct VmHostView {
    /// Its name.
    pub name: String,
    /// The address of its VM manager.
    pub url: String,
    /// What machines can ask for.
    pub labels: Vec<String>,
    /// Since when it takes no new jobs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cordon: Option<Cordon>,
    /// Why it gives no VMs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
    /// That its token ends soon, or has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_notice: Option<String>,
    /// Jobs or agents of ours that have a VM there, or ask for one.
    pub jobs: usize,
    /// What it last said of itself; absent until it has said anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub facts: Option<VmHostFacts>,
}

/// Which hosts a list has that was put in force, in comparison with the one before, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct HostChanges {
    /// Those that are new.
    pub added: Vec<String>,
    /// Those whose address, token or labels are other ones.
    pub changed: Vec<String>,
    /// Those that are listed no more: they take no new jobs, and those there run to their ends.
    pub removed: Vec<String>,
}

impl HostChanges {
    /// Whether the lists are equal.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.changed.is_empty() && self.removed.is_empty()
    }
}

/// What a host last said of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct VmHostFacts {
    /// What separates its VMs from it: `namespace-sandbox`, `emulated-vm`, `hardware-vm`.
    #[schema(value_type = String)]
    pub isolation: Isolation,
    /// What runs them.
    pub driver: String,
    /// Its manager's version.
    pub version: String,
    /// Names and digests of its images.
    pub images: Vec<String>,
    /// Names and digests of images that it fetches when they are asked for.
    pub fetchable: Vec<String>,
    /// VMs that may be started; absent when its manager does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub free_vms: Option<u32>,
    /// Free memory in MiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub free_mem_mib: Option<u64>,
    /// Memory of all VMs together in MiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mem_mib: Option<u64>,
    /// Free virtual processors; absent when its manager does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub free_vcpus: Option<u32>,
    /// Virtual processors of all VMs together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vcpus: Option<u32>,
}

/// `east  ready  2 jobs  6144 of 8192 MiB free  6 of 8 processors free  emulated-vm  gpu  http://…`
impl fmt::Display for VmHostView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match (&self.cordon, &self.trouble, &self.facts) {
            (Some(cordon), ..) => format!("cordoned by {}", cordon.by),
            (_, Some(trouble), _) => format!("gives no VMs: {trouble}"),
            (.., None) => "not asked yet".to_owned(),
            _ => "ready".to_owned(),
        };
        // What it last said is not what is free there while it gives none.
        let facts = self.facts.as_ref().filter(|_| self.trouble.is_none());
        let room = facts.and_then(|facts| facts.free_mem_mib.zip(facts.mem_mib));
        let room = room.map(|(free, all)| format!("{free} of {all} MiB free"));
        let vcpus = facts.and_then(|facts| facts.free_vcpus.zip(facts.vcpus));
        let vcpus = vcpus.map(|(free, all)| format!("{free} of {all} processors free"));
        let parts = [
            self.name.clone(),
            state,
            self.token_notice.clone().unwrap_or_default(),
            format!("{} jobs", self.jobs),
            room.unwrap_or_else(|| "room unknown".to_owned()),
            vcpus.unwrap_or_default(),
            facts.map_or(String::new(), |facts| facts.isolation.to_string()),
            self.labels.join(","),
            self.url.clone(),
        ];
        let shown: Vec<String> = parts.into_iter().filter(|it| !it.is_empty()).collect();
        f.write_str(&shown.join("  "))
    }
}
