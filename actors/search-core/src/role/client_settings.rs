//! What a program needs that only asks a server: no folder, and so no home.

use config_core::{Diagnostics, Environment, Secret, Setting};
use url::Url;

use super::settings::{Reader, ServerFlags};
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
    let mut reader = Reader::new(environment);
    let listen = reader.listen(flags);
    let api_endpoint = reader.endpoint(flags);
    let api_token = reader.token();
    let errors = reader.into_errors();
    match (listen, api_endpoint) {
        (Some(listen), Some(api_endpoint)) if errors.is_empty() => Ok(ClientSettings {
            listen,
            api_endpoint,
            api_token,
        }),
        _ => Err(errors),
    }
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
