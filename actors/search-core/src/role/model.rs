//! A role and its language model.

use std::path::{Path, PathBuf};

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
    #[serde(skip_serializing_if = "RoleOptions::is_empty")]
    pub extra: RoleOptions,
}

/// The optional settings of a role: its models, as the file has them, its thesaurus, and what files
/// count.
/// What the chosen provider needs is present: see [`RoleOptions::language_model`].
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct RoleOptions {
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
    /// Words that mean the same: a JSON thesaurus, or a folder of Markdown concept files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thesaurus: Option<PathBuf>,
    /// A folder with an embedding model (`config.json`, `tokenizer.json`, `model.safetensors`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub embedding_model: Option<PathBuf>,
    /// The language-model server that embeds; the local language model's where it is absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub embedding_server_url: Option<Url>,
    /// The embedding model of that server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub embedding_server_model: Option<String>,
    /// A folder with a cross-encoder (`config.json`, `tokenizer.json`, `model.safetensors`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rerank_model: Option<PathBuf>,
    /// The server that reranks; the local language model's where it is absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rerank_server_url: Option<Url>,
    /// The reranking model of that server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rerank_server_model: Option<String>,
    /// How many of the best results are reranked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rerank_top: Option<u32>,
    /// Whether files count by what they are for; they do when it is absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file_roles: Option<bool>,
}

/// Results that are reranked where nothing else is set.
const DEFAULT_RERANK_TOP: u32 = 20;

/// Where a model of a role is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelSource {
    /// A model folder, run here.
    Folder(PathBuf),
    /// A model of a language-model server.
    Server {
        /// The server's address.
        base_url: Url,
        /// The model's name.
        model: String,
    },
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

impl RoleOptions {
    /// Whether nothing is set.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Makes a relative path one from `folder`.
    pub(super) fn resolve(&mut self, folder: &Path) {
        if let Some(thesaurus) = &mut self.thesaurus {
            *thesaurus = folder.join(&*thesaurus);
        }
        let models = [&mut self.embedding_model, &mut self.rerank_model];
        for model in models.into_iter().flatten() {
            *model = folder.join(&*model);
        }
    }

    /// What embeds; `None` when the role has no embedding model.
    pub fn embeddings(&self) -> Option<ModelSource> {
        self.model(
            self.embedding_model.as_ref(),
            self.embedding_server_url.as_ref(),
            self.embedding_server_model.as_ref(),
        )
    }

    /// What reads the best results once more; `None` when the role has no such model.
    pub fn reranking(&self) -> Option<ModelSource> {
        self.model(
            self.rerank_model.as_ref(),
            self.rerank_server_url.as_ref(),
            self.rerank_server_model.as_ref(),
        )
    }

    /// How many of the best results it reads.
    pub fn rerank_top(&self) -> usize {
        self.rerank_top.unwrap_or(DEFAULT_RERANK_TOP) as usize
    }

    /// Whether tests, examples, copies and the like count less than what a folder is about.
    pub fn weighs_file_roles(&self) -> bool {
        self.file_roles.unwrap_or(true)
    }

    fn model(
        &self,
        folder: Option<&PathBuf>,
        base_url: Option<&Url>,
        name: Option<&String>,
    ) -> Option<ModelSource> {
        if let Some(folder) = folder {
            return Some(ModelSource::Folder(folder.clone()));
        }
        Some(ModelSource::Server {
            base_url: base_url.or(self.localllm_base_url.as_ref())?.clone(),
            model: name.cloned()?,
        })
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
