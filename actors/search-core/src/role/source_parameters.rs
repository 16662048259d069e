//! The `extra_parameters` of sources that take more than one secret.

use config_core::{Fields, Item};
use url::Url;

use super::haystack::Source;
use super::source_location::Mcp;

/// A server of the Model Context Protocol.
pub(super) fn mcp_source(fields: &Fields<'_>, server: Option<Mcp>) -> Option<Source> {
    const KEYS: [&str; 3] = ["api_token", "tool", "arguments"];
    let read = |fields: &Fields<'_>| {
        let api_token = fields.optional("api_token", Item::secret);
        let tool = fields.optional("tool", Item::string);
        let arguments = fields.optional("arguments", |item| {
            item.entries(|_, item| item.any_string().map(str::to_owned))
        });
        Some((api_token, tool, arguments.unwrap_or_default()))
    };
    let parameters = fields.optional("extra_parameters", |item| {
        item.fields("the parameters of MCP", &KEYS, read)
    });
    let (api_token, tool, arguments) = parameters.unwrap_or_default();
    Some(Source::Mcp {
        server: server?,
        api_token,
        tool,
        arguments,
    })
}

/// An index of an Elasticsearch-compatible engine.
pub(super) fn elastic_source(fields: &Fields<'_>, index: Option<Url>) -> Option<Source> {
    const KEYS: [&str; 2] = ["api_token", "fields"];
    let read = |fields: &Fields<'_>| {
        let api_token = fields.optional("api_token", Item::secret);
        let names = fields.optional("fields", |item| item.list(Item::string));
        Some((api_token, names.unwrap_or_default()))
    };
    let parameters = fields.optional("extra_parameters", |item| {
        item.fields("the parameters of Elastic", &KEYS, read)
    });
    let (api_token, names) = parameters.unwrap_or_default();
    Some(Source::Elastic {
        index: index?,
        fields: names,
        api_token,
    })
}
