//! A role's language model, and which protocol its server speaks.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use config_core::Secret;
use http_clients::http::{AddressPolicy, HttpClient, HttpOptions};
use http_clients::llm::{
    ChatRequest, ChatRole, LlmClient, LlmError, LlmMessage, LlmProtocol, OPENROUTER,
};
use search_core::passages::{ChatTurn, TurnRole};
use search_core::role::{LanguageModel, RoleOptions};
use url::Url;

use super::settings::ChatLimits;

/// Servers whose protocol is remembered; configurations hold a handful.
const MAX_SERVERS: usize = 64;

/// A role's model as configured; owned, so that it outlives a look at the role set.
#[derive(Debug, Clone)]
pub(crate) struct ModelChoice {
    /// `localllm` or `cloudllm`.
    pub(crate) provider: &'static str,
    /// The model's name.
    pub(crate) name: String,
    place: ModelLocation,
}

#[derive(Debug, Clone)]
enum ModelLocation {
    Local(Url),
    Cloud(Secret<String>),
}

impl ModelChoice {
    /// The model of a role, if it has one.
    pub(crate) fn from_extra(extra: &RoleOptions) -> Option<Self> {
        Some(match extra.language_model()? {
            LanguageModel::Local { base_url, model } => Self {
                provider: "localllm",
                name: model.to_owned(),
                place: ModelLocation::Local(base_url.clone()),
            },
            LanguageModel::Cloud { api_key, model } => Self {
                provider: "cloudllm",
                name: model.to_owned(),
                place: ModelLocation::Cloud(api_key.clone()),
            },
        })
    }

    /// The question of these turns.
    pub(crate) fn request(&self, turns: Vec<ChatTurn>) -> ChatRequest {
        let message = |turn: ChatTurn| {
            let role = match turn.role {
                TurnRole::System => ChatRole::System,
                TurnRole::User => ChatRole::User,
                TurnRole::Assistant => ChatRole::Assistant,
            };
            LlmMessage::new(role, turn.text)
        };
        ChatRequest {
            model: self.name.clone(),
            messages: turns.into_iter().map(message).collect(),
            ..ChatRequest::default()
        }
    }
}

/// The models' clients of one thread.
#[derive(Clone)]
pub(crate) struct Models {
    /// For addresses the configuration names.
    configured: HttpClient,
    /// For the hosted provider.
    public: HttpClient,
    cloud: Option<Url>,
    protocols: Rc<RefCell<BTreeMap<String, LlmProtocol>>>,
}

impl Models {
    pub(crate) fn new(limits: &ChatLimits) -> Self {
        let options = HttpOptions {
            connect: limits.connect,
            deadline: limits.first,
            idle: limits.idle,
            connections: limits.at_once.max(1),
            ..HttpOptions::default()
        };
        let public = HttpOptions {
            addresses: AddressPolicy::PublicOnly,
            ..options.clone()
        };
        Self {
            configured: HttpClient::new(options),
            public: HttpClient::new(public),
            cloud: limits.cloud.clone(),
            protocols: Rc::default(),
        }
    }

    /// A client for the chosen model's server.
    pub(crate) async fn client(&self, choice: &ModelChoice) -> Result<LlmClient, LlmError> {
        Ok(match &choice.place {
            ModelLocation::Local(base) => {
                let protocol = self.protocol(base).await?;
                LlmClient::new(self.configured.clone(), protocol, base.clone(), None)
            }
            ModelLocation::Cloud(key) => {
                let (http, base) = match &self.cloud {
                    Some(base) => (&self.configured, base.clone()),
                    None => (
                        &self.public,
                        Url::parse(OPENROUTER).expect("a constant that is a URL"),
                    ),
                };
                LlmClient::new(http.clone(), LlmProtocol::OpenAi, base, Some(key.clone()))
            }
        })
    }

    /// Another server may answer at this address next time.
    pub(crate) fn remove(&self, choice: &ModelChoice) {
        if let ModelLocation::Local(base) = &choice.place {
            self.protocols.borrow_mut().remove(base.as_str());
        }
    }

    async fn protocol(&self, base: &Url) -> Result<LlmProtocol, LlmError> {
        let known = self.protocols.borrow().get(base.as_str()).copied();
        if let Some(protocol) = known {
            return Ok(protocol);
        }
        let protocol = LlmProtocol::detect(&self.configured, base).await?;
        let mut protocols = self.protocols.borrow_mut();
        if protocols.len() >= MAX_SERVERS {
            protocols.clear();
        }
        protocols.insert(base.to_string(), protocol);
        Ok(protocol)
    }
}
