//! Who posts: the orchestrator's own token, and those of agents that have one.

use forge_actors::Accounts;
use outbound::forge::ForgeClient;
use outbound::http::HttpClient;

use crate::ledger::OWN_ACCOUNT;
use crate::shared::Shared;

/// The tokens of the configuration in force.
pub(crate) struct ConfiguredAccounts(pub(crate) Shared);

impl Accounts for ConfiguredAccounts {
    fn client(&self, http: &HttpClient, account: &str) -> Option<ForgeClient> {
        let config = self.0.config();
        let forge = config.forge.as_ref()?;
        let token = if account == OWN_ACCOUNT {
            forge.token.clone()
        } else {
            let agent = account.parse().ok()?;
            config.agent_tokens.get(&agent)?.clone()
        };
        Some(ForgeClient::new(
            http.clone(),
            forge.kind,
            forge.url.clone(),
            Some(token),
        ))
    }
}
