//! A role and its language model.

use config_core::Secret;
use serde::Serialize;
use url::Url;

use super::enumerations::{LanguageModelProvider, RelevanceFunction, Theme};
use super::haystack::Haystack;

/// What is searched, and how its results are ranked and shown.
///
/// Serialised, it has the shape of the role file with secrets as `***`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Role {
    /// The name requests use; unique in the file, never empty.
    pub name: String,
    /// How results are ranked.
    pub relevance_function: RelevanceFunction,
    /// The look of the web interface.
    pub theme: Theme,
    /// Where is searched: at least one, with unique names.
    pub haystacks: Vec<Haystack>,
    /// Language-model settings.
    #[serde(skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

/// The optional language-model settings of a role, as the file has them. What the chosen provider
/// needs is present: see [`Extra::language_model`].
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Extra {
    /// Which of both is used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub llm_provider: Option<LanguageModelProvider>,
    /// The address of the local language-model server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub localllm_base_url: Option<Url>,
    /// The model of the local server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub localllm_model: Option<String>,
    /// The key of the hosted provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cloudllm_api_key: Option<Secret<String>>,
    /// The model of the hosted provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cloudllm_model: Option<String>,
}

/// The language model a role uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LanguageModel<'a> {
    /// On a server of one's own.
    Local {
        /// The server's address.
        base_url: &'a Url,
        /// The model's name.
        model: &'a str,
    },
    /// At a hosted provider.
    Cloud {
        /// The provider's key.
        api_key: &'a Secret<String>,
        /// The model's name.
        model: &'a str,
    },
}

impl Extra {
    /// Whether nothing is set.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The model of the chosen provider; `None` when the role has no language model.
    pub fn language_model(&self) -> Option<LanguageModel<'_>> {
        Some(match self.llm_provider? {
            LanguageModelProvider::LocalLlm => LanguageModel::Local {
                base_url: self.localllm_base_url.as_ref()?,
                model: self.localllm_model.as_deref()?,
            },
            LanguageModelProvider::CloudLlm => LanguageModel::Cloud {
                api_key: self.cloudllm_api_key.as_ref()?,
                model: self.cloudllm_model.as_deref()?,
            },
        })
    }
}
