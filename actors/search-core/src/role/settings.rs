//! The settings of the search server: flags, environment variables, defaults.

use std::num::NonZeroU32;
use std::path::PathBuf;

use config_core::{
    BOOLEAN, ByteSize, Diagnostic, Diagnostics, Environment, FILE_PATH, PlainKind, SECRET, Secret,
    Setting, SettingOrigin, TableInfo, TextKind, ValueError, opt, parse_http_url, quoted, set,
    suggestion, table,
};
use url::Url;

use super::paths::{Os, with_home};
use super::server_mode::{ServerMode, snapshots_url};
use super::settings_values::{ListenAddress, LogLevel, StorageBackend, websocket_url};

const SETTINGS_PATH: &str = "SERVICE_SETTINGS_PATH";
const DATA_PATH: &str = "SERVICE_DATA_PATH";
const HOSTNAME: &str = "SERVICE_SERVER_HOSTNAME";
const API_ENDPOINT: &str = "SERVICE_SERVER_API_ENDPOINT";
const API_TOKEN: &str = "SERVICE_API_TOKEN";
const ACCESS_KEY: &str = "CLOUDSTORE_ACCESS_KEY_ID";
const SECRET_KEY: &str = "CLOUDSTORE_SECRET_ACCESS_KEY";
const DEFAULT_SEARCHES: NonZeroU32 = NonZeroU32::new(64).expect("64 is not zero");
const DEFAULT_FOLDERS: NonZeroU32 = NonZeroU32::new(100_000).expect("it is not zero");
const DEFAULT_LEARNT: NonZeroU32 = NonZeroU32::new(4_000_000).expect("it is not zero");
const DEFAULT_GRAPH: NonZeroU32 = NonZeroU32::new(1_000_000).expect("it is not zero");

/// The flags that override variables, as they were typed. A program that lacks one leaves it empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerFlags {
    /// `--config <path>`.
    pub config: Option<String>,
    /// `--data <folder>`.
    pub data: Option<String>,
    /// `--log-level <level>`.
    pub log_level: Option<String>,
    /// `--listen <host>:<port>`.
    pub listen: Option<String>,
    /// `--server <url>`.
    pub server: Option<String>,
    /// `--storage <backend>`.
    pub storage: Option<String>,
}

/// Cloud object storage for snapshots and backups. The pair of keys is complete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectStore {
    /// The access key.
    pub access_key_id: Secret<String>,
    /// The secret key.
    pub secret_access_key: Secret<String>,
    /// The region.
    pub region: Option<String>,
    /// The address; nothing for the provider's own.
    pub endpoint: Option<Url>,
    /// Whether it may be without TLS where it is not this machine.
    pub allow_http: bool,
}

/// The settings in force; each knows where it came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerSettings {
    /// The role file.
    pub settings_path: Setting<PathBuf>,
    /// The data folder.
    pub data_path: Setting<PathBuf>,
    /// How much is logged.
    pub log_level: Setting<LogLevel>,
    /// Where the server listens.
    pub listen: Setting<ListenAddress>,
    /// Further names it answers for.
    pub hosts: Option<Vec<String>>,
    /// Where clients find the server.
    pub api_endpoint: Option<Setting<Url>>,
    /// The bound of the result cache, in bytes; 0 is off.
    pub cache_size: Setting<ByteSize>,
    /// How many searches may run at the same time.
    pub max_concurrent_searches: Setting<NonZeroU32>,
    /// Folders of a source that are watched; one with more is compared at intervals.
    pub max_watched_folders: Setting<NonZeroU32>,
    /// Documents of a source that are learnt from; nothing is learnt of one with more.
    pub max_learnt_documents: Setting<NonZeroU32>,
    /// Documents of a source in its concept graph; those past it are left out.
    pub max_graph_documents: Setting<NonZeroU32>,
    /// Where local state is kept.
    pub storage: Setting<StorageBackend>,
    /// The server that `/ws` leads to.
    pub ws_upstream: Option<Setting<Url>>,
    /// The bearer token requests must carry.
    pub api_token: Option<Secret<String>>,
    /// Cloud object storage.
    pub object_store: Option<ObjectStore>,
    /// What the server does of indexing and searching.
    pub mode: Setting<ServerMode>,
    /// Where indexers publish, and searchers fetch.
    pub snapshots: Option<Setting<Url>>,
    /// Into how many parts each source is split.
    pub index_parts: Setting<NonZeroU32>,
    /// Which of them an indexer indexes.
    pub index_part: Setting<NonZeroU32>,
    /// Variables that look like a misspelt one.
    pub warnings: Diagnostics,
}

/// The settings from flags, environment and defaults, in this order of precedence.
///
/// # Errors
/// Every flag or variable that is wrong, by name.
pub fn parse_environment(
    flags: &ServerFlags,
    environment: &Environment,
    os: Os,
) -> Result<ServerSettings, Diagnostics> {
    let (mut draft, mut wrong) = (Draft::default(), Diagnostics::default());
    SERVER.override_with(&mut draft, &flags.values(), environment, &mut wrong);
    let settings = draft.finish(environment, os, &mut wrong);
    if wrong.is_empty() {
        Ok(settings)
    } else {
        Err(wrong)
    }
}

impl ServerFlags {
    /// The values by flag.
    pub fn values(&self) -> [(&'static str, Option<&str>); 6] {
        [
            ("--config", self.config.as_deref()),
            ("--data", self.data.as_deref()),
            ("--log-level", self.log_level.as_deref()),
            ("--listen", self.listen.as_deref()),
            ("--server", self.server.as_deref()),
            ("--storage", self.storage.as_deref()),
        ]
    }
}

impl ServerSettings {
    /// Whether the server may listen where it is told to: other machines reach it only with a
    /// token, or when `unauthenticated` was asked for explicitly (attack case S15).
    ///
    /// # Errors
    /// The address is open and nothing protects it. The warning, if any, is for the log.
    pub fn check_exposure(
        &self,
        unauthenticated: bool,
    ) -> Result<Option<Diagnostic>, Box<Diagnostic>> {
        let Setting {
            value: listen,
            origin,
        } = &self.listen;
        if listen.is_loopback() || self.api_token.is_some() {
            return Ok(None);
        }
        let message = format!(
            "other machines can reach {} without a token",
            quoted(&listen.to_string())
        );
        let error = ValueError::new(message).help("set SERVICE_API_TOKEN, or listen on 127.0.0.1");
        let diagnostic = Diagnostic::for_setting(&origin.to_string(), error);
        if unauthenticated {
            Ok(Some(diagnostic.into_warning()))
        } else {
            Err(Box::new(diagnostic))
        }
    }
}

/// What a client needs of them.
pub(super) const CLIENT: [&str; 3] = [HOSTNAME, API_ENDPOINT, API_TOKEN];

/// The settings while they are read: the object storage is put together at the end.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) settings: ServerSettings,
    access_key: Option<Secret<String>>,
    secret_key: Option<Secret<String>>,
    region: Option<String>,
    endpoint: Option<Url>,
    allow_http: bool,
}

impl Default for Draft {
    fn default() -> Self {
        Self {
            settings: ServerSettings {
                settings_path: unset(PathBuf::new()),
                data_path: unset(PathBuf::new()),
                log_level: unset(LogLevel::default()),
                listen: unset(ListenAddress::default()),
                hosts: None,
                api_endpoint: None,
                cache_size: unset(ByteSize::new(16_000_000)),
                max_concurrent_searches: unset(DEFAULT_SEARCHES),
                max_watched_folders: unset(DEFAULT_FOLDERS),
                max_learnt_documents: unset(DEFAULT_LEARNT),
                max_graph_documents: unset(DEFAULT_GRAPH),
                storage: unset(StorageBackend::default()),
                ws_upstream: None,
                api_token: None,
                object_store: None,
                mode: unset(ServerMode::default()),
                snapshots: None,
                index_parts: unset(NonZeroU32::MIN),
                index_part: unset(NonZeroU32::MIN),
                warnings: Diagnostics::default(),
            },
            access_key: None,
            secret_key: None,
            region: None,
            endpoint: None,
            allow_http: false,
        }
    }
}

const fn unset<T>(value: T) -> Setting<T> {
    let origin = SettingOrigin::Default;
    Setting { value, origin }
}

const LEVEL: TextKind<LogLevel> =
    TextKind::new("level", LogLevel::parse, |level| level.as_str().to_owned());
const ADDRESS: TextKind<ListenAddress> =
    TextKind::new("address", ListenAddress::parse, ListenAddress::to_string);
const SEARCHES: TextKind<NonZeroU32> = TextKind::new("number", searches, NonZeroU32::to_string);
const LIMIT: TextKind<NonZeroU32> = TextKind::new("number", limit, NonZeroU32::to_string);
const BACKEND: TextKind<StorageBackend> = TextKind::new("backend", StorageBackend::parse, |it| {
    it.as_str().to_owned()
});
const MODE: TextKind<ServerMode> =
    TextKind::new("mode", ServerMode::parse, |it| it.as_str().to_owned());
const SNAPSHOTS: TextKind<Url> = TextKind::new("uri", snapshots_url, Url::to_string);
const PARTS: TextKind<NonZeroU32> = TextKind::new("", parse_parts, NonZeroU32::to_string);
const CACHE: TextKind<ByteSize> = TextKind::new("size", cache_size, ByteSize::to_string);
const ENDPOINT: TextKind<Url> = TextKind::new("uri", endpoint, Url::to_string);
const HOSTS: TextKind<Vec<String>> = TextKind::new("", hosts, |all| all.join(","));
const WEBSOCKET: TextKind<Url> = TextKind::new("uri", websocket_url, Url::to_string);
const REGION: TextKind<String> =
    TextKind::new("", |text| non_empty(text).map(str::to_owned), String::clone);

table! {
    /// The search server.
    pub(super) static SERVER: Draft = "the server's settings" {
        /// path of the role file
        "SERVICE_SETTINGS_PATH" (variable "SERVICE_SETTINGS_PATH", flag "--config", no_key, documented_default "see below") = set(HOME_PATH) => settings.settings_path;
        /// data folder
        "SERVICE_DATA_PATH" (variable "SERVICE_DATA_PATH", flag "--data", no_key, documented_default "see below") = set(HOME_PATH) => settings.data_path;
        /// `debug`, `info`, `warn` or `error`
        "LOG_LEVEL" (variable "LOG_LEVEL", flag "--log-level", no_key) = set(LEVEL) => settings.log_level;
        /// listen address, `<host>:<port>`
        "SERVICE_SERVER_HOSTNAME" (variable "SERVICE_SERVER_HOSTNAME", flag "--listen", no_key) = set(ADDRESS) => settings.listen;
        /// further names it answers for, with commas between them, for example
        /// `search.example.org,search`
        "SERVICE_HOSTS" (variable "SERVICE_HOSTS", no_key) = opt(HOSTS) => settings.hosts;
        /// URL of the server, used by clients; a final `/api` may stand there
        "SERVICE_SERVER_API_ENDPOINT" (variable "SERVICE_SERVER_API_ENDPOINT", flag "--server", no_key) = opt(set(ENDPOINT)) => settings.api_endpoint;
        /// memory for cached results, for example `64MB`; `64M`, `1G` are powers of 1024, a bare
        /// number is bytes; `0` is off
        "SERVICE_CACHE_SIZE" (variable "SERVICE_CACHE_SIZE", no_key) = set(CACHE) => settings.cache_size;
        /// searches at the same time; further ones are answered 503
        "SERVICE_MAX_CONCURRENT_SEARCHES" (variable "SERVICE_MAX_CONCURRENT_SEARCHES", no_key) = set(SEARCHES) => settings.max_concurrent_searches;
        /// folders of a source that are watched; a source with more is compared every 30 s, more
        /// rarely where that takes long
        "SERVICE_MAX_WATCHED_FOLDERS" (variable "SERVICE_MAX_WATCHED_FOLDERS", no_key) = set(LIMIT) => settings.max_watched_folders;
        /// documents of a source that ServiceGraph learns from; a source with more is ranked by
        /// its words
        "SERVICE_MAX_LEARNT_DOCUMENTS" (variable "SERVICE_MAX_LEARNT_DOCUMENTS", no_key) = set(LIMIT) => settings.max_learnt_documents;
        /// documents of a source in its concept graph; those past it are found, but not in it
        "SERVICE_MAX_GRAPH_DOCUMENTS" (variable "SERVICE_MAX_GRAPH_DOCUMENTS", no_key) = set(LIMIT) => settings.max_graph_documents;
        /// where conversations and summaries are kept: `redb`, `sqlite`, `memory` or
        /// `concurrent-map` (the last two forget them at the end)
        "SERVICE_STORAGE" (variable "SERVICE_STORAGE", flag "--storage", no_key) = set(BACKEND) => settings.storage;
        /// `local`: index and search; `indexer`: index and publish to SERVICE_SNAPSHOTS;
        /// `searcher`: search what indexers have published there
        "SERVICE_SEARCH_MODE" (variable "SERVICE_SEARCH_MODE", no_key) = set(MODE) => settings.mode;
        /// where index snapshots are: `s3://bucket/prefix` or `file:///folder`
        "SERVICE_SNAPSHOTS" (variable "SERVICE_SNAPSHOTS", no_key) = opt(set(SNAPSHOTS)) => settings.snapshots;
        /// indexers that each source is split over, by its documents; the same for all processes
        "SERVICE_INDEX_PARTS" (variable "SERVICE_INDEX_PARTS", no_key) = set(PARTS) => settings.index_parts;
        /// which part this indexer indexes, from 1
        "SERVICE_INDEX_PART" (variable "SERVICE_INDEX_PART", no_key) = set(PARTS) => settings.index_part;
        /// `ws` or `wss` URL of the server that `/ws` leads to
        "SERVICE_WS_UPSTREAM" (variable "SERVICE_WS_UPSTREAM", no_key, documented_default "none: this server") = opt(set(WEBSOCKET)) => settings.ws_upstream;
        /// bearer token that every request must carry
        "SERVICE_API_TOKEN" (variable "SERVICE_API_TOKEN", no_key) = opt(BARE_SECRET) => settings.api_token;
        /// access key of the cloud object storage
        "CLOUDSTORE_ACCESS_KEY_ID" (variable "CLOUDSTORE_ACCESS_KEY_ID", no_key) = opt(BARE_SECRET) => access_key;
        /// secret key of the cloud object storage
        "CLOUDSTORE_SECRET_ACCESS_KEY" (variable "CLOUDSTORE_SECRET_ACCESS_KEY", no_key) = opt(BARE_SECRET) => secret_key;
        /// region of the cloud object storage
        "SERVICE_PROFILE_OBJSTORE_REGION" (variable "SERVICE_PROFILE_OBJSTORE_REGION", no_key) = opt(REGION) => region;
        /// URL of the cloud object storage
        "SERVICE_PROFILE_OBJSTORE_ENDPOINT" (variable "SERVICE_PROFILE_OBJSTORE_ENDPOINT", no_key) = opt(TextKind::HTTP_URL) => endpoint;
        /// whether that storage may be without TLS where it is not this machine: the texts of all
        /// documents cross the network then
        "SERVICE_PROFILE_OBJSTORE_ALLOW_HTTP" (variable "SERVICE_PROFILE_OBJSTORE_ALLOW_HTTP", no_key) = BOOLEAN => allow_http;
    }
}

/// All environment variables of the search server, for documents.
pub fn keys() -> TableInfo {
    SERVER.describe(&Draft::default())
}

impl Draft {
    fn finish(
        mut self,
        environment: &Environment,
        os: Os,
        wrong: &mut Diagnostics,
    ) -> ServerSettings {
        let settings = &mut self.settings;
        let paths = [
            (
                SETTINGS_PATH,
                &mut settings.settings_path,
                os.settings_path(environment),
            ),
            (
                DATA_PATH,
                &mut settings.data_path,
                os.data_path(environment),
            ),
        ];
        for (name, setting, default) in paths {
            if setting.origin == SettingOrigin::Default
                && wrong.iter().all(|one| !is_about(one, name))
            {
                match default {
                    Ok(path) => setting.value = path,
                    Err(error) => {
                        let error = error.help(format!("set {name}"));
                        wrong.push(Diagnostic::for_setting(name, error));
                    }
                }
            }
        }
        settings.object_store = match (self.access_key, self.secret_key) {
            (Some(access_key_id), Some(secret_access_key)) => Some(ObjectStore {
                access_key_id,
                secret_access_key,
                region: self.region,
                endpoint: self.endpoint,
                allow_http: self.allow_http,
            }),
            (None, None) => None,
            (present, _) => {
                let (have, lack) = if present.is_some() {
                    (ACCESS_KEY, SECRET_KEY)
                } else {
                    (SECRET_KEY, ACCESS_KEY)
                };
                if !wrong.iter().any(|error| *error.file == *lack) {
                    let error = ValueError::new(format!("it is set without {lack}"));
                    wrong.push(Diagnostic::for_setting(have, error));
                }
                None
            }
        };
        wrong.extend(settings.snapshot_faults());
        settings.warnings = misspelt(environment);
        self.settings
    }
}

/// Whether a mistake is about this path: its variable or its flag.
fn is_about(wrong: &Diagnostic, name: &str) -> bool {
    let flag = if name == SETTINGS_PATH {
        "--config"
    } else {
        "--data"
    };
    *wrong.file == *name || *wrong.file == *flag
}

/// A path; `~` is the home folder.
const HOME_PATH: PlainKind<PathBuf> = PlainKind {
    parse: |text, given| non_empty(text).and_then(|text| with_home(text, given.environment)),
    ..FILE_PATH
};

/// A secret; blanks around it are a mistake of copying, and are refused without showing it.
const BARE_SECRET: PlainKind<Secret<String>> = PlainKind {
    parse: |text, _| {
        if text.chars().any(|c| c.is_control() || c.is_whitespace()) {
            let message = "the value holds a blank or a control character";
            return Err(ValueError::new(message));
        }
        Ok(Secret::new(text.to_owned()))
    },
    ..SECRET
};

fn non_empty(text: &str) -> Result<&str, ValueError> {
    if text.trim().is_empty() {
        Err(ValueError::new("the value is empty"))
    } else {
        Ok(text)
    }
}

/// As all sizes, and as many programs write them: a bare number of bytes, `64M`, `1G`.
fn cache_size(text: &str) -> Result<ByteSize, ValueError> {
    let bare = text.trim();
    let (digits, unit) = match bare.as_bytes().last().map(u8::to_ascii_uppercase) {
        Some(last @ (b'K' | b'M' | b'G' | b'T')) => (&bare[..bare.len() - 1], char::from(last)),
        _ => (bare, ' '),
    };
    let digits = digits.trim_end();
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return ByteSize::parse(text);
    }
    match unit {
        ' ' => ByteSize::parse(&format!("{digits}B")),
        unit => ByteSize::parse(&format!("{digits}{unit}iB")),
    }
}

/// The server's address: clients put the paths of the API, which begin with `api`, behind it
/// themselves.
fn endpoint(text: &str) -> Result<Url, ValueError> {
    let mut url = parse_http_url(text)?;
    let path = url.path().trim_end_matches('/');
    let base = path.strip_suffix("/api").unwrap_or(path);
    let base = format!("{}/", base.trim_end_matches('/'));
    url.set_path(&base);
    Ok(url)
}

fn hosts(text: &str) -> Result<Vec<String>, ValueError> {
    let names = text
        .split(',')
        .map(str::trim)
        .filter(|name| !name.is_empty());
    names
        .map(|name| {
            let authority = format!("http://{name}/");
            let plain = !name.contains(['/', '@', '?', '#', '*']) && Url::parse(&authority).is_ok();
            plain.then(|| name.to_owned()).ok_or_else(|| {
                ValueError::new(format!("{} is not a host name", quoted(name)))
                    .help("write names with commas between them: `search.example.org,search`")
            })
        })
        .collect()
}

fn searches(text: &str) -> Result<NonZeroU32, ValueError> {
    parse_integer(text, 100_000)
}

/// A number of folders or documents; more do not fit the numbers they are counted with.
fn limit(text: &str) -> Result<NonZeroU32, ValueError> {
    parse_integer(text, 500_000_000)
}

/// So many indexers of one source are enough.
fn parse_parts(text: &str) -> Result<NonZeroU32, ValueError> {
    parse_integer(text, 1_000)
}

fn parse_integer(text: &str, most: u32) -> Result<NonZeroU32, ValueError> {
    let number = text.trim().parse::<NonZeroU32>().ok();
    let number = number.filter(|number| number.get() <= most);
    let wrong = || format!("{} is not a number from 1 to {most}", quoted(text));
    number.ok_or_else(|| ValueError::new(wrong()))
}

/// Variables of this family that nobody reads but that look like one that is read.
fn misspelt(environment: &Environment) -> Diagnostics {
    let keys = keys();
    let known = || keys.rows.iter().map(|variable| variable.key);
    let ours = |name: &&str| name.starts_with("SERVICE_") || name.starts_with("CLOUDSTORE_");
    let unknown = environment
        .names()
        .filter(ours)
        .filter(|name| known().all(|known| known != *name));
    let warning = |name: &str| {
        let near = suggestion(name, known())?;
        let error = ValueError::new("unknown environment variable");
        let error = error.help(format!("did you mean `{near}`?"));
        Some(Diagnostic::for_setting(name, error).into_warning())
    };
    unknown.filter_map(warning).collect()
}
