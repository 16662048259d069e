//! What a program needs that only asks a server: no folder, and so no home.

use config_core::{Diagnostics, Environment, Secret, Setting};
use url::Url;

use super::settings::{CLIENT, Draft, SERVER, ServerFlags};
use super::settings_values::ListenAddress;

/// The settings of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientSettings {
    /// Where a server on this machine listens.
    pub listen: Setting<ListenAddress>,
    /// Where the server is, if that was said.
    pub api_endpoint: Option<Setting<Url>>,
    /// The bearer token requests carry.
    pub api_token: Option<Secret<String>>,
}

/// The settings of a client, in the same order of precedence as
/// [`parse_environment`](super::parse_environment).
///
/// # Errors
/// Every flag or variable of these that is wrong, by name.
pub fn parse_client_environment(
    flags: &ServerFlags,
    environment: &Environment,
) -> Result<ClientSettings, Diagnostics> {
    let (mut draft, mut wrong) = (Draft::default(), Diagnostics::default());
    let wanted = |key: &str| CLIENT.contains(&key);
    SERVER.override_some(wanted, &mut draft, &flags.values(), environment, &mut wrong);
    if !wrong.is_empty() {
        return Err(wrong);
    }
    let settings = draft.settings;
    Ok(ClientSettings {
        listen: settings.listen,
        api_endpoint: settings.api_endpoint,
        api_token: settings.api_token,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_needs_no_home() {
        let flags = ServerFlags {
            server: Some("http://127.0.0.1:9/".to_owned()),
            ..ServerFlags::default()
        };
        let settings = parse_client_environment(&flags, &Environment::default());
        let endpoint = settings.expect("nothing is wrong").api_endpoint;
        assert_eq!(endpoint.map(|found| found.value.port()), Some(Some(9)));
    }
}
