//! The optional settings of a role: language model, thesaurus, embeddings.

use config_core::{Fields, Item, ValueError};

use super::Decoder;
use crate::role::enumerations::LanguageModelProvider;
use crate::role::model::Extra;

impl Decoder<'_> {
    pub(super) fn extra(&self, item: &Item<'_>) -> Option<Extra> {
        const KEYS: [&str; 9] = [
            "llm_provider",
            "localllm_base_url",
            "localllm_model",
            "cloudllm_api_key",
            "cloudllm_model",
            "thesaurus",
            "embedding_model",
            "embedding_server_url",
            "embedding_server_model",
        ];
        item.fields("extra", &KEYS, |fields| {
            let extra = Extra {
                llm_provider: fields.optional("llm_provider", |item| {
                    item.choice("language-model provider", LanguageModelProvider::CHOICES)
                }),
                localllm_base_url: fields.optional("localllm_base_url", Item::http_url),
                localllm_model: fields.optional("localllm_model", Item::string),
                cloudllm_api_key: fields.optional("cloudllm_api_key", Item::secret),
                cloudllm_model: fields.optional("cloudllm_model", Item::string),
                thesaurus: fields.optional("thesaurus", |item| self.folder(item)),
                embedding_model: fields.optional("embedding_model", |item| self.folder(item)),
                embedding_server_url: fields.optional("embedding_server_url", Item::http_url),
                embedding_server_model: fields.optional("embedding_server_model", Item::string),
            };
            check_provider(fields, &KEYS[..5]);
            check_embeddings(fields);
            Some(extra)
        })
    }
}

/// A provider needs its address or key and its model; without a provider they have no effect,
/// which nobody who wrote them meant.
fn check_provider(fields: &Fields<'_>, keys: &[&str]) {
    let provider = fields.optional("llm_provider", |item| item.peek().map(str::to_owned));
    let needed: &[&str] = match provider.as_deref() {
        Some("localllm") => &["localllm_base_url", "localllm_model"],
        Some("cloudllm") => &["cloudllm_api_key", "cloudllm_model"],
        _ => &[],
    };
    for key in needed.iter().filter(|key| fields.lacks(key)) {
        let provider = provider.as_deref().unwrap_or_default();
        fields.error_at(
            "llm_provider",
            format!("provider `{provider}` needs the key `{key}`"),
        );
    }
    let without_effect = keys.iter().find(|key| fields.has(key));
    if let (false, Some(key)) = (fields.has("llm_provider"), without_effect) {
        let error = ValueError::new(format!("`{key}` has no effect without `llm_provider`"));
        fields.error_at(
            key,
            error.help("add `\"llm_provider\": \"localllm\"` or `\"cloudllm\"`"),
        );
    }
}

/// A folder or a server embeds, not both; a server needs its model, and a model its server.
fn check_embeddings(fields: &Fields<'_>) {
    const MODEL: &str = "embedding_server_model";
    const URL: &str = "embedding_server_url";
    if fields.has("embedding_model") {
        for key in [URL, MODEL].into_iter().filter(|key| fields.has(key)) {
            let error = ValueError::new(format!("`{key}` has no effect beside `embedding_model`"));
            fields.error_at(
                key,
                error.help("a folder or a server embeds: remove one of both"),
            );
        }
    } else if fields.has(URL) && fields.lacks(MODEL) {
        fields.error_at(URL, format!("`{URL}` needs the key `{MODEL}`"));
    } else if fields.has(MODEL) && fields.lacks(URL) && fields.lacks("localllm_base_url") {
        let error = ValueError::new(format!("`{MODEL}` needs the address of its server"));
        fields.error_at(
            MODEL,
            error.help(format!("add `{URL}`, for example `http://127.0.0.1:11434`")),
        );
    }
}
