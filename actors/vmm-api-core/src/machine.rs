//! Which hosts there are, and what machines ask of them.

use config_core::Secret;
use url::Url;

use crate::NewVm;

/// The host that stands in the environment (`VMM_API_URL`), or for itself.
pub const DEFAULT_HOST: &str = "default";

/// A host whose VM manager may be asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VmHostSettings {
    /// What it is called.
    pub name: String,
    /// Its VM manager.
    pub url: Url,
    /// The manager's token.
    pub token: Option<Secret<String>>,
    /// What machines can ask for.
    pub labels: Vec<String>,
}

impl VmHostSettings {
    /// The only host.
    #[must_use]
    pub fn single(url: Url, token: Option<Secret<String>>) -> Self {
        Self {
            name: DEFAULT_HOST.to_owned(),
            url,
            token,
            labels: Vec::new(),
        }
    }
}

/// What jobs of a label run on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MachineType {
    /// What the VM manager is asked for.
    pub vm: NewVm,
    /// Labels that its host must have.
    pub host_labels: Vec<String>,
    /// Groups (`runs-on.group`) that it is in.
    pub groups: Vec<String>,
    /// Who the steps of jobs are there: a user of the image; root unless given.
    pub user: Option<String>,
    /// The image of the container that the steps of jobs run in which name none.
    pub container: Option<String>,
}

impl From<NewVm> for MachineType {
    fn from(vm: NewVm) -> Self {
        Self {
            vm,
            host_labels: Vec::new(),
            groups: Vec::new(),
            user: None,
            container: None,
        }
    }
}
