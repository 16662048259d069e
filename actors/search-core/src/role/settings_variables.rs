//! The environment variables of the search server, and the flags that override them.

/// An environment variable of the search server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: &'static str,
    /// The flag that overrides it, if there is one.
    pub flag: Option<&'static str>,
    /// What it sets.
    pub meaning: &'static str,
    /// What holds without it.
    pub default: &'static str,
}

const fn variable(
    name: &'static str,
    flag: Option<&'static str>,
    meaning: &'static str,
    default: &'static str,
) -> Variable {
    Variable {
        name,
        flag,
        meaning,
        default,
    }
}

/// All environment variables of the search server, for `--help` and docs/CONFIG.md.
pub const VARIABLES: [Variable; 14] = [
    variable(
        SETTINGS_PATH,
        Some(CONFIG_FLAG),
        "path of the role file",
        "see below",
    ),
    variable(DATA_PATH, Some(DATA_FLAG), "data folder", "see below"),
    variable(
        LOG_LEVEL,
        Some(LOG_FLAG),
        "`debug`, `info`, `warn` or `error`",
        "`info`",
    ),
    variable(
        HOSTNAME,
        Some(LISTEN_FLAG),
        "listen address, `<host>:<port>`",
        "`127.0.0.1:8000`",
    ),
    variable(
        API_ENDPOINT,
        Some(SERVER_FLAG),
        "URL of the server, used by clients",
        "none",
    ),
    variable(
        CACHE_SIZE,
        None,
        "memory for cached results, for example `64MB`; `0B` is off",
        "`16MB`",
    ),
    variable(
        MAX_SEARCHES,
        None,
        "searches at the same time; further ones are answered 503",
        "`64`",
    ),
    variable(
        STORAGE,
        Some(STORAGE_FLAG),
        "where conversations and summaries are kept: `redb`, `sqlite`, `memory` or `concurrent-map` (the last two forget them at the end)",
        "`redb`",
    ),
    variable(
        WS_UPSTREAM,
        None,
        "`ws` or `wss` URL of the server that `/ws` leads to",
        "none: this server",
    ),
    variable(
        API_TOKEN,
        None,
        "bearer token that every request must carry",
        "none",
    ),
    variable(
        ACCESS_KEY,
        None,
        "access key of the cloud object storage",
        "none",
    ),
    variable(
        SECRET_KEY,
        None,
        "secret key of the cloud object storage",
        "none",
    ),
    variable(REGION, None, "region of the cloud object storage", "none"),
    variable(ENDPOINT, None, "URL of the cloud object storage", "none"),
];

pub(super) const SETTINGS_PATH: &str = "SERVICE_SETTINGS_PATH";
pub(super) const DATA_PATH: &str = "SERVICE_DATA_PATH";
pub(super) const LOG_LEVEL: &str = "LOG_LEVEL";
pub(super) const HOSTNAME: &str = "SERVICE_SERVER_HOSTNAME";
pub(super) const API_ENDPOINT: &str = "SERVICE_SERVER_API_ENDPOINT";
pub(super) const CACHE_SIZE: &str = "SERVICE_CACHE_SIZE";
pub(super) const MAX_SEARCHES: &str = "SERVICE_MAX_CONCURRENT_SEARCHES";
pub(super) const API_TOKEN: &str = "SERVICE_API_TOKEN";
pub(super) const ACCESS_KEY: &str = "CLOUDSTORE_ACCESS_KEY_ID";
pub(super) const SECRET_KEY: &str = "CLOUDSTORE_SECRET_ACCESS_KEY";
pub(super) const REGION: &str = "SERVICE_PROFILE_OBJSTORE_REGION";
pub(super) const ENDPOINT: &str = "SERVICE_PROFILE_OBJSTORE_ENDPOINT";

pub(super) const CONFIG_FLAG: &str = "--config";
pub(super) const DATA_FLAG: &str = "--data";
pub(super) const LOG_FLAG: &str = "--log-level";
pub(super) const LISTEN_FLAG: &str = "--listen";
pub(super) const SERVER_FLAG: &str = "--server";
pub(super) const STORAGE: &str = "SERVICE_STORAGE";
pub(super) const WS_UPSTREAM: &str = "SERVICE_WS_UPSTREAM";
pub(super) const STORAGE_FLAG: &str = "--storage";
