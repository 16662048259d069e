//! Clients of the forge: the orchestrator's own account, and those of agents that have a token.

use std::time::Duration;

use forge_actors::Accounts;
use http_clients::forge::ForgeClient;
use http_clients::http::{HttpClient, HttpOptions};
use orchestrator_core::config::Config;

use crate::ledger::OWN_ACCOUNT;
use crate::live_config::LiveConfig;

/// The longest a question to the forge takes.
const FORGE_TIMEOUT: Duration = Duration::from_secs(20);

/// The tokens of the configuration in force.
pub(crate) struct ConfiguredAccounts(pub(crate) LiveConfig);

impl Accounts for ConfiguredAccounts {
    fn client(&self, http: &HttpClient, account: &str) -> Option<ForgeClient> {
        let config = self.0.current();
        let own = forge_client(&config, http.clone())?;
        if account == OWN_ACCOUNT {
            return Some(own);
        }
        let agent = account.parse().ok()?;
        Some(own.with_token(config.agent_tokens.get(&agent)?.clone()))
    }
}

/// A client for questions to the forge; bound to the thread it is made on.
pub(crate) fn http_client() -> HttpClient {
    HttpClient::new(HttpOptions {
        deadline: FORGE_TIMEOUT,
        ..HttpOptions::default()
    })
}

/// The forge with the orchestrator's own token; `None` without a forge.
pub(crate) fn forge_client(config: &Config, http: HttpClient) -> Option<ForgeClient> {
    let forge = config.forge.as_ref()?;
    Some(ForgeClient::new(
        http,
        forge.kind,
        forge.url.clone(),
        Some(forge.token.clone()),
    ))
}
