//! The `extra_parameters` of sources that take several.

use std::path::PathBuf;

use config_core::{ConfigItem, ObjectFields, ValueError, quoted};
use url::Url;

use super::file_parameters::{filter, max_file_size};
use super::haystack::{GitRevision, HiddenFiles, Source};
use super::source_location::Mcp;

/// A server of the Model Context Protocol.
pub(super) fn mcp_source(fields: &ObjectFields<'_>, server: Option<Mcp>) -> Option<Source> {
    const KEYS: [&str; 3] = ["api_token", "tool", "arguments"];
    let read = |fields: &ObjectFields<'_>| {
        let api_token = fields.optional("api_token", ConfigItem::secret);
        let tool = fields.optional("tool", ConfigItem::string);
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
pub(super) fn elastic_source(fields: &ObjectFields<'_>, index: Option<Url>) -> Option<Source> {
    const KEYS: [&str; 2] = ["api_token", "fields"];
    let read = |fields: &ObjectFields<'_>| {
        let api_token = fields.optional("api_token", ConfigItem::secret);
        let names = fields.optional("fields", |item| item.list(ConfigItem::string));
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

/// A branch, tag or commit of a git repository.
pub(super) fn git_repository(
    fields: &ObjectFields<'_>,
    folder: Option<PathBuf>,
) -> Option<GitRevision> {
    const KEYS: [&str; 4] = ["revision", "glob", "max_file_size", "hidden"];
    let parameters = fields.optional("extra_parameters", |item| {
        item.fields("the parameters of GitRepository", &KEYS, |fields| {
            let defaults = GitRevision::new("");
            let name = fields.optional("revision", |item| item.parsed(revision));
            let files = fields.optional("glob", filter);
            let size = fields.optional("max_file_size", max_file_size);
            Some(GitRevision {
                revision: name.unwrap_or(defaults.revision),
                filter: files.unwrap_or(defaults.filter),
                max_file_size: size.unwrap_or(defaults.max_file_size),
                hidden: HiddenFiles::from_parameter(fields.optional("hidden", ConfigItem::boolean)),
                folder: defaults.folder,
            })
        })
    });
    let defaults = parameters.unwrap_or_else(|| GitRevision::new(""));
    folder.map(|folder| GitRevision { folder, ..defaults })
}

/// What git can understand as the name of one commit (`git help check-ref-format`, `revisions`).
fn revision(name: &str) -> Result<String, ValueError> {
    const HELP: &str =
        "name a branch, a tag or a commit, for example `main`, `v1.2.0` or `refs/heads/main`";
    let wrong = |reason: &str| {
        let message = format!("{} is no name of a commit: {reason}", quoted(name));
        Err(ValueError::new(message).help(HELP))
    };
    let refused = |c: char| c.is_whitespace() || c.is_control() || "?*[\\:".contains(c);
    if name.starts_with('-') {
        return wrong("it begins with `-`");
    }
    if name.contains("..") {
        return wrong("`..` means several commits");
    }
    match name.chars().find(|c| refused(*c)) {
        Some(c) => wrong(&format!("it holds {}", quoted(&c.to_string()))),
        None => Ok(name.to_owned()),
    }
}
