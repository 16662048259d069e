//! The settings of the search server: flags, environment variables, defaults.

use std::num::NonZeroU32;
use std::path::PathBuf;

use config_core::{
    ByteSize, Diagnostic, Diagnostics, Environment, Layered, Secret, Setting, ValueError,
    parse_http_url, quoted, suggestion,
};
use url::Url;

use super::paths::{Os, with_home};
use super::settings_values::{ListenAddress, LogLevel, StorageBackend, websocket_url};
use super::settings_variables::*;

const DEFAULT_CACHE: ByteSize = ByteSize::new(16_000_000);
const DEFAULT_SEARCHES: NonZeroU32 = NonZeroU32::new(64).expect("64 is not zero");

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

/// Cloud object storage for backups. The pair of keys is complete.
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
    /// Where clients find the server.
    pub api_endpoint: Option<Setting<Url>>,
    /// The bound of the result cache, in bytes; 0 is off.
    pub cache_size: Setting<ByteSize>,
    /// How many searches may run at the same time.
    pub max_concurrent_searches: Setting<NonZeroU32>,
    /// Where local state is kept.
    pub storage: Setting<StorageBackend>,
    /// The server that `/ws` leads to.
    pub ws_upstream: Option<Setting<Url>>,
    /// The bearer token requests must carry.
    pub api_token: Option<Secret<String>>,
    /// Cloud object storage.
    pub object_store: Option<ObjectStore>,
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
    let mut reader = Reader::new(environment);
    let settings = reader.settings(flags, os);
    match settings {
        Some(settings) if reader.errors.is_empty() => Ok(settings),
        _ => Err(reader.errors),
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
        let diagnostic = Diagnostic::of_setting(&origin.to_string(), error);
        if unauthenticated {
            Ok(Some(diagnostic.into_warning()))
        } else {
            Err(Box::new(diagnostic))
        }
    }
}

/// Collects what is wrong while reading on.
pub(super) struct Reader<'e> {
    environment: &'e Environment,
    errors: Diagnostics,
}

impl<'e> Reader<'e> {
    pub(super) fn new(environment: &'e Environment) -> Self {
        Self {
            environment,
            errors: Diagnostics::default(),
        }
    }

    pub(super) fn into_errors(self) -> Diagnostics {
        self.errors
    }

    pub(super) fn listen(&mut self, flags: &ServerFlags) -> Option<Setting<ListenAddress>> {
        let listen = self
            .layer(HOSTNAME)
            .flag(LISTEN_FLAG, flags.listen.as_deref());
        self.keep(listen.resolve_or(ListenAddress::default(), ListenAddress::parse))
    }

    pub(super) fn endpoint(&mut self, flags: &ServerFlags) -> Option<Option<Setting<Url>>> {
        let endpoint = self
            .layer(API_ENDPOINT)
            .flag(SERVER_FLAG, flags.server.as_deref());
        self.keep(endpoint.resolve(parse_http_url))
    }

    pub(super) fn token(&mut self) -> Option<Secret<String>> {
        self.secret(API_TOKEN)
    }

    fn settings(&mut self, flags: &ServerFlags, os: Os) -> Option<ServerSettings> {
        let environment = self.environment;
        let settings_path = self.path(SETTINGS_PATH, CONFIG_FLAG, flags.config.as_deref(), || {
            os.settings_path(environment)
        });
        let data_path = self.path(DATA_PATH, DATA_FLAG, flags.data.as_deref(), || {
            os.data_path(environment)
        });
        let log_level = self
            .layer(LOG_LEVEL)
            .flag(LOG_FLAG, flags.log_level.as_deref());
        let log_level = self.keep(log_level.resolve_or(LogLevel::default(), LogLevel::parse));
        let listen = self.listen(flags);
        let api_endpoint = self.endpoint(flags);
        let cache_size = self.keep(
            self.layer(CACHE_SIZE)
                .resolve_or(DEFAULT_CACHE, ByteSize::parse),
        );
        let max_concurrent_searches = self.keep(
            self.layer(MAX_SEARCHES)
                .resolve_or(DEFAULT_SEARCHES, searches),
        );
        let storage = self
            .layer(STORAGE)
            .flag(STORAGE_FLAG, flags.storage.as_deref());
        let storage =
            self.keep(storage.resolve_or(StorageBackend::default(), StorageBackend::parse));
        let ws_upstream = self.keep(self.layer(WS_UPSTREAM).resolve(websocket_url));
        let api_token = self.token();
        let object_store = self.object_store();
        Some(ServerSettings {
            settings_path: settings_path?,
            data_path: data_path?,
            log_level: log_level?,
            listen: listen?,
            api_endpoint: api_endpoint?,
            cache_size: cache_size?,
            max_concurrent_searches: max_concurrent_searches?,
            storage: storage?,
            ws_upstream: ws_upstream?,
            api_token,
            object_store,
            warnings: misspelt(environment),
        })
    }

    fn layer<T>(&self, name: &'static str) -> Layered<'e, T> {
        Layered::default().variable(name, self.environment)
    }

    /// The value, or `None` after its error was kept.
    fn keep<T>(&mut self, result: Result<T, Diagnostic>) -> Option<T> {
        result.map_err(|error| self.errors.push(error)).ok()
    }

    fn path(
        &mut self,
        name: &'static str,
        flag: &'static str,
        given: Option<&str>,
        default: impl FnOnce() -> Result<PathBuf, ValueError>,
    ) -> Option<Setting<PathBuf>> {
        let environment = self.environment;
        let read = |text: &str| non_empty(text).and_then(|text| with_home(text, environment));
        let set = Layered::default()
            .flag(flag, given)
            .variable(name, environment)
            .resolve(read);
        if let Some(setting) = self.keep(set)? {
            return Some(setting);
        }
        let default = default()
            .map_err(|error| Diagnostic::of_setting(name, error.help(format!("set {name}"))));
        let value = self.keep(default)?;
        Some(Setting {
            value,
            origin: config_core::Origin::Default,
        })
    }

    /// A secret; blanks around it are a mistake of copying, and are refused without showing it.
    fn secret(&mut self, name: &'static str) -> Option<Secret<String>> {
        let read = |text: &str| {
            if text.chars().any(|c| c.is_control() || c.is_whitespace()) {
                return Err(ValueError::new(
                    "the value holds a blank or a control character",
                ));
            }
            Ok(Secret::new(text.to_owned()))
        };
        let resolved = self.layer(name).resolve(read);
        self.keep(resolved)?.map(|setting| setting.value)
    }

    fn object_store(&mut self) -> Option<ObjectStore> {
        let access_key_id = self.secret(ACCESS_KEY);
        let secret_access_key = self.secret(SECRET_KEY);
        let region = self
            .layer(REGION)
            .resolve(|text| non_empty(text).map(str::to_owned));
        let region = self.keep(region).flatten().map(|setting| setting.value);
        let endpoint = self.keep(self.layer(ENDPOINT).resolve(parse_http_url));
        let endpoint = endpoint.flatten().map(|setting| setting.value);
        match (access_key_id, secret_access_key) {
            (Some(access_key_id), Some(secret_access_key)) => Some(ObjectStore {
                access_key_id,
                secret_access_key,
                region,
                endpoint,
            }),
            (None, None) => None,
            (present, _) => {
                let (have, lack) = if present.is_some() {
                    (ACCESS_KEY, SECRET_KEY)
                } else {
                    (SECRET_KEY, ACCESS_KEY)
                };
                if !self.errors.iter().any(|error| *error.file == *lack) {
                    let error = ValueError::new(format!("it is set without {lack}"));
                    self.errors.push(Diagnostic::of_setting(have, error));
                }
                None
            }
        }
    }
}

fn non_empty(text: &str) -> Result<&str, ValueError> {
    if text.trim().is_empty() {
        Err(ValueError::new("the value is empty"))
    } else {
        Ok(text)
    }
}

fn searches(text: &str) -> Result<NonZeroU32, ValueError> {
    const MAX: u32 = 100_000;
    let number = text
        .trim()
        .parse::<NonZeroU32>()
        .ok()
        .filter(|number| number.get() <= MAX);
    number
        .ok_or_else(|| ValueError::new(format!("{} is not a number from 1 to {MAX}", quoted(text))))
}

/// Variables of this family that nobody reads but that look like one that is read.
fn misspelt(environment: &Environment) -> Diagnostics {
    let known = || VARIABLES.iter().map(|variable| variable.name);
    let ours = |name: &&str| name.starts_with("SERVICE_") || name.starts_with("CLOUDSTORE_");
    let unknown = environment
        .names()
        .filter(ours)
        .filter(|name| known().all(|known| known != *name));
    let warning = |name: &str| {
        let near = suggestion(name, known())?;
        let error = ValueError::new("unknown environment variable");
        let error = error.help(format!("did you mean `{near}`?"));
        Some(Diagnostic::of_setting(name, error).into_warning())
    };
    unknown.filter_map(warning).collect()
}
