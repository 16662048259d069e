//! The optional settings of a role: language model, thesaurus, embeddings.

use std::ops::RangeInclusive;

use config_core::{ConfigItem, ObjectFields, ValueError};

use super::Decoder;
use crate::role::enumerations::LanguageModelProvider;
use crate::role::model::RoleOptions;

impl Decoder<'_> {
    pub(super) fn extra(&self, item: &ConfigItem<'_>) -> Option<RoleOptions> {
        const KEYS: [&str; 14] = [
            "llm_provider",
            "localllm_base_url",
            "localllm_model",
            "cloudllm_api_key",
            "cloudllm_model",
            "thesaurus",
            "embedding_model",
            "embedding_server_url",
            "embedding_server_model",
            "rerank_model",
            "rerank_server_url",
            "rerank_server_model",
            "rerank_top",
            "file_roles",
        ];
        item.fields("extra", &KEYS, |fields| {
            let extra = RoleOptions {
                llm_provider: optional_value(fields, "llm_provider", |item| {
                    item.choice("language-model provider", LanguageModelProvider::CHOICES)
                }),
                localllm_base_url: optional_value(
                    fields,
                    "localllm_base_url",
                    ConfigItem::http_url,
                ),
                localllm_model: optional_value(fields, "localllm_model", ConfigItem::string),
                cloudllm_api_key: optional_value(fields, "cloudllm_api_key", ConfigItem::secret),
                cloudllm_model: optional_value(fields, "cloudllm_model", ConfigItem::string),
                thesaurus: optional_value(fields, "thesaurus", |item| self.folder(item)),
                embedding_model: optional_value(fields, "embedding_model", |item| {
                    self.folder(item)
                }),
                embedding_server_url: optional_value(
                    fields,
                    "embedding_server_url",
                    ConfigItem::http_url,
                ),
                embedding_server_model: optional_value(
                    fields,
                    "embedding_server_model",
                    ConfigItem::string,
                ),
                rerank_model: optional_value(fields, "rerank_model", |item| self.folder(item)),
                rerank_server_url: optional_value(
                    fields,
                    "rerank_server_url",
                    ConfigItem::http_url,
                ),
                rerank_server_model: optional_value(
                    fields,
                    "rerank_server_model",
                    ConfigItem::string,
                ),
                rerank_top: optional_value(fields, "rerank_top", |item| {
                    u32::try_from(item.integer(RERANK_TOP)?).ok()
                }),
                file_roles: optional_value(fields, "file_roles", ConfigItem::boolean),
            };
            check_provider(fields, &KEYS[..5]);
            check_model(fields, EMBEDDINGS);
            check_model(fields, RERANKING);
            check_rerank_top(fields);
            Some(extra)
        })
    }
}

/// A key that may be absent; an empty text is absent, as in a form that was not filled in.
fn optional_value<'d, T>(
    fields: &ObjectFields<'d>,
    key: &str,
    read: impl FnOnce(&ConfigItem<'d>) -> Option<T>,
) -> Option<T> {
    fields.optional(key, |item| (item.peek() != Some("")).then(|| read(item))?)
}

fn is_empty(fields: &ObjectFields<'_>, key: &str) -> bool {
    let text = fields.optional(key, |item| item.peek().map(str::to_owned));
    text.is_some_and(|text| text.is_empty())
}

fn contains(fields: &ObjectFields<'_>, key: &str) -> bool {
    fields.contains(key) && !is_empty(fields, key)
}

fn is_absent(fields: &ObjectFields<'_>, key: &str) -> bool {
    fields.is_absent(key) || is_empty(fields, key)
}

/// A provider needs its address or key and its model; without a provider they have no effect,
/// which nobody who wrote them meant.
fn check_provider(fields: &ObjectFields<'_>, keys: &[&str]) {
    let provider = fields.optional("llm_provider", |item| item.peek().map(str::to_owned));
    let needed: &[&str] = match provider.as_deref() {
        Some("localllm") => &["localllm_base_url", "localllm_model"],
        Some("cloudllm") => &["cloudllm_api_key", "cloudllm_model"],
        _ => &[],
    };
    for key in needed.iter().filter(|key| is_absent(fields, key)) {
        let provider = provider.as_deref().unwrap_or_default();
        fields.error_at(
            "llm_provider",
            format!("provider `{provider}` needs the key `{key}`"),
        );
    }
    let without_effect = keys.iter().find(|key| contains(fields, key));
    if let (false, Some(key)) = (contains(fields, "llm_provider"), without_effect) {
        let error = ValueError::new(format!("`{key}` has no effect without `llm_provider`"));
        fields.error_at(
            key,
            error.help("add `\"llm_provider\": \"localllm\"` or `\"cloudllm\"`"),
        );
    }
}

/// The keys of a model: a folder, a server's address, its model's name; and what it does.
type ModelKeys = ([&'static str; 3], &'static str);

const EMBEDDINGS: ModelKeys = (
    [
        "embedding_model",
        "embedding_server_url",
        "embedding_server_model",
    ],
    "embeds",
);
const RERANKING: ModelKeys = (
    ["rerank_model", "rerank_server_url", "rerank_server_model"],
    "reranks",
);
/// What `rerank_top` may be.
const RERANK_TOP: RangeInclusive<i64> = 2..=100;

/// A folder or a server has the model, not both; a server needs its model, and a model its server.
fn check_model(fields: &ObjectFields<'_>, ([folder, url, model], does): ModelKeys) {
    if contains(fields, folder) {
        for key in [url, model].into_iter().filter(|key| contains(fields, key)) {
            let error = ValueError::new(format!("`{key}` has no effect beside `{folder}`"));
            fields.error_at(
                key,
                error.help(format!("a folder or a server {does}: remove one of both")),
            );
        }
    } else if contains(fields, url) && is_absent(fields, model) {
        fields.error_at(url, format!("`{url}` needs the key `{model}`"));
    } else if contains(fields, model)
        && is_absent(fields, url)
        && is_absent(fields, "localllm_base_url")
    {
        let error = ValueError::new(format!("`{model}` needs the address of its server"));
        fields.error_at(
            model,
            error.help(format!("add `{url}`, for example `http://127.0.0.1:11434`")),
        );
    }
}

/// A number of results without a model that reads them has no effect.
fn check_rerank_top(fields: &ObjectFields<'_>) {
    let ([folder, _, model], _) = RERANKING;
    if contains(fields, "rerank_top") && is_absent(fields, folder) && is_absent(fields, model) {
        let error = ValueError::new("`rerank_top` has no effect without a reranking model");
        fields.error_at(
            "rerank_top",
            error.help(format!("add `{folder}` or `{model}`")),
        );
    }
}
