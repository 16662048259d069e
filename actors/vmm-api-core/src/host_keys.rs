//! A host of VMs in configuration files, for all who ask hosts for VMs.

use config_core::{SECRET, Secret, TextKind, ValueError, list, opt, quoted, table};
use url::Url;

use crate::machine::VmHostSettings;

/// Longest label, in bytes.
const LONGEST_LABEL: usize = 100;

/// A label of a VM host.
pub const LABEL: TextKind<String> = TextKind::new("label", label, String::clone);

/// What a file says of a host of VMs.
#[derive(Debug, Clone, Default)]
pub struct VmHostTable {
    url: Option<Url>,
    token: Option<Secret<String>>,
    labels: Vec<String>,
}

impl VmHostTable {
    /// With its name; none without an address, which is a mistake of its own.
    #[must_use]
    pub fn with_name(self, name: String) -> Option<VmHostSettings> {
        Some(VmHostSettings {
            name,
            url: self.url?,
            token: self.token,
            labels: self.labels,
        })
    }
}

table! {
    /// A host whose VM manager gives VMs.
    pub static VM_HOST: VmHostTable = "a VM host" {
        /// the address of its VM manager
        "url" (required) = opt(TextKind::HTTP_URL) => url;
        /// a token of its VM manager
        "token" = opt(SECRET) => token;
        /// what machines can ask for by `host_labels`
        "labels" = list(LABEL) => labels;
    }
}

/// Whether something can be a label or a name: 1 to 100 bytes without blanks and commas.
#[must_use]
pub fn is_label(text: &str) -> bool {
    let wrong = |c: char| c.is_whitespace() || c.is_control() || c == ',';
    !text.is_empty() && text.len() <= LONGEST_LABEL && !text.contains(wrong)
}

fn label(text: &str) -> Result<String, ValueError> {
    if is_label(text) {
        return Ok(text.to_owned());
    }
    let error = ValueError::new(format!("{} is no label", quoted(text)));
    Err(error.help(format!(
        "use 1 to {LONGEST_LABEL} characters without blanks and commas"
    )))
}
