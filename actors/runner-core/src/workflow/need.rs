//! What would have to be there for a refused file to be accepted: refusals, grouped.

use serde::Serialize;

/// What a refusal is about, so that many of them can be counted together.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind", content = "name")]
pub enum Need {
    /// The feature that the refusal names: `services`, `container`.
    #[default]
    Feature,
    /// An action of another repository: `owner/name[/path]`.
    Action(String),
    /// An image of a container, by its name.
    Image(String),
    /// An input of an action that the runner does itself, as `input of owner/name`.
    NativeInput(String),
    /// A version that no image can be held to, of the action named.
    Version(String),
    /// A machine with another operating system: the label.
    OtherSystem(String),
    /// A machine with another architecture: the label.
    OtherArchitecture(String),
    /// The forge's token.
    ForgeToken,
    /// A workflow of another repository.
    RemoteWorkflow(String),
    /// Nothing: the files of the repository do not fit each other.
    OwnFiles,
}

impl Need {
    /// The group of refusals it belongs to, for people; `feature` is the refusal's.
    #[must_use]
    pub fn group(&self, feature: &str) -> String {
        match self {
            Self::Feature => feature.to_owned(),
            Self::Action(_) => "actions of other repositories".to_owned(),
            Self::Image(_) => "images of containers".to_owned(),
            Self::NativeInput(_) => "inputs of native actions".to_owned(),
            Self::Version(_) => "versions that are not fixed".to_owned(),
            Self::OtherSystem(_) => "macOS or Windows".to_owned(),
            Self::OtherArchitecture(_) => "machines of another architecture".to_owned(),
            Self::ForgeToken => "a token of the forge".to_owned(),
            Self::RemoteWorkflow(_) => "workflows of other repositories".to_owned(),
            Self::OwnFiles => "files of the repository that are not there".to_owned(),
        }
    }

    /// The one thing that is missing, within its group.
    #[must_use]
    pub fn detail(&self, feature: &str) -> String {
        match self {
            Self::Action(name)
            | Self::NativeInput(name)
            | Self::Version(name)
            | Self::OtherSystem(name)
            | Self::OtherArchitecture(name)
            | Self::RemoteWorkflow(name)
            | Self::Image(name) => name.clone(),
            Self::OwnFiles | Self::Feature | Self::ForgeToken => feature.to_owned(),
        }
    }
}
