//! Sizes and times of the runner's settings, with their bounds; where actions come from.

use std::time::Duration;

use config_core::{TextKind, ValueError, parse_http_url, size, span};
use url::Url;

pub(super) use config_core::format_size;

pub(super) const SIZE: TextKind<u64> = size::<0>();
/// At least 1 MiB.
pub(super) const BYTES: TextKind<u64> = size::<{ 1 << 20 }>();
/// At least 64 MiB: the least that git runs in.
pub(super) const GIT_MEMORY: TextKind<u64> = size::<{ 64 << 20 }>();
/// 1 s to a day.
pub(super) const SPAN: TextKind<Duration> = span::<1>();
/// 10 s to a day.
pub(super) const LONG_SPAN: TextKind<Duration> = span::<10>();

/// Where actions come from that name no forge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ActionsUrl {
    /// The configured forge, as Gitea's `DEFAULT_ACTIONS_URL = self` has it.
    Own,
    At(Url),
}

pub(super) const ACTIONS_URL: TextKind<ActionsUrl> =
    TextKind::new("", actions_url, |url| match url {
        ActionsUrl::Own => "self".to_owned(),
        ActionsUrl::At(url) => url.to_string(),
    });

fn actions_url(text: &str) -> Result<ActionsUrl, ValueError> {
    match text {
        "self" => Ok(ActionsUrl::Own),
        text => parse_http_url(text).map(ActionsUrl::At),
    }
}
