//! What VMs are made of: `GET /images`, `GET /pool`.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::UnixMs;

/// An image: what the disk of a VM holds when it begins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ImageView {
    /// The hash of its content, in hexadecimal.
    pub digest: String,
    /// What it is called; an image may have several names, or none.
    #[serde(default)]
    #[schema(required = true)]
    pub names: Vec<String>,
    /// Bytes on the host; of an image that is not here, bytes that would be fetched.
    #[serde(default)]
    #[schema(required = true)]
    pub bytes: u64,
    /// Bytes of the disk as a VM sees it; 0 where it is not known before it was fetched.
    #[serde(default)]
    #[schema(required = true)]
    pub virtual_bytes: u64,
    /// Whether it is on the host; one that is not is fetched from object storage when a VM is asked
    /// for with it. Earlier managers do not say it: theirs are.
    #[serde(default = "default_here")]
    #[schema(required = true)]
    pub here: bool,
}

fn default_here() -> bool {
    true
}

/// What there is of one kind of VM: its template, and clones of it that wait.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PoolStock {
    /// The image.
    pub image: String,
    /// Virtual processors.
    pub vcpus: u32,
    /// Memory in MiB.
    pub mem_mib: u32,
    /// Disk in MiB.
    pub disk_mib: u32,
    /// Whether there is a template.
    pub template: TemplateView,
    /// When a template that could not be made is tried again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_at: Option<UnixMs>,
    /// Clones that wait.
    #[serde(default)]
    #[schema(required = true)]
    pub ready: usize,
    /// Clones that are being made.
    #[serde(default)]
    #[schema(required = true)]
    pub making: usize,
    /// Whether the configuration names it; others are kept while they are used.
    #[serde(default)]
    #[schema(required = true)]
    pub configured: bool,
    /// When one was last asked for.
    #[serde(default)]
    pub last_used: Option<UnixMs>,
}

/// Whether there is a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TemplateView {
    /// None: VMs of this kind are booted.
    Absent,
    /// It is being made.
    Preparing,
    /// VMs of this kind are cloned.
    Ready,
    /// It could not be made.
    Failed,
}
