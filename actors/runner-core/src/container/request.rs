//! `container` and `services` of a job, with their expressions evaluated, as checked values.

use super::image::ImageReference;
use super::options::{self, ContainerOptions};
use super::ports::{self, PortRequest};
use super::words;
use crate::expr::ExprValue;

/// The keys of `container`.
pub const CONTAINER_KEYS: [&str; 6] =
    ["image", "credentials", "env", "ports", "volumes", "options"];
/// Those of a service beside them.
pub const SERVICE_KEYS: [&str; 2] = ["command", "entrypoint"];

/// Forgejo's words for the arguments of a service: a list, or a text.
pub const COMMAND_KEY: &str = "cmd";

/// A container that a job asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContainerRequest {
    /// Its image.
    pub image: ImageReference,
    /// Variables in it.
    pub env: Vec<(String, String)>,
    /// Its ports, those of `options` included.
    pub ports: Vec<PortRequest>,
    /// Volumes and folders of the machine: `name:/path`, `/path:/path:ro`, `/path`.
    pub volumes: Vec<String>,
    /// The other options.
    pub options: ContainerOptions,
    /// For a registry.
    pub credentials: Option<Credentials>,
    /// What runs in place of the image's command.
    pub command: Vec<String>,
    /// What runs in place of the image's entry point.
    pub entrypoint: Option<String>,
}

/// A name and a password for a registry.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    /// The name.
    pub username: String,
    /// The password.
    pub password: String,
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Credentials")
            .field("username", &self.username)
            .finish_non_exhaustive()
    }
}

/// Reads the value of `jobs.<id>.container`; nothing where no image is named.
///
/// # Errors
/// What is wrong, for people.
pub fn container(value: &ExprValue) -> Result<Option<ContainerRequest>, String> {
    read(value, &CONTAINER_KEYS).map_err(|error| format!("container: {error}"))
}

/// Reads the value of `jobs.<id>.services`, by name and in order. Those without an image are left
/// out, as on GitHub.
///
/// # Errors
/// What is wrong, for people.
pub fn services(value: &ExprValue) -> Result<Vec<(String, ContainerRequest)>, String> {
    let entries = match value {
        ExprValue::Null => return Ok(Vec::new()),
        ExprValue::Text(text) if text.is_empty() => return Ok(Vec::new()),
        ExprValue::Object(entries) => entries,
        _ => return Err("services: they are a mapping of names to containers".to_owned()),
    };
    let keys = [&CONTAINER_KEYS[..], &SERVICE_KEYS, &[COMMAND_KEY]].concat();
    let mut services = Vec::new();
    for (name, value) in entries.iter() {
        let wrong = |error| format!("services.{name}: {error}");
        if !is_name(name) {
            let what = "a name has letters, digits, `-` and `_`, and begins with a letter or `_`";
            return Err(wrong(what.to_owned()));
        }
        if let Some(request) = read(value, &keys).map_err(wrong)? {
            services.push((name.to_owned(), request));
        }
    }
    Ok(services)
}

fn is_name(name: &str) -> bool {
    let first = name.bytes().next();
    first.is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_')
        && name.len() <= 100
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
}

fn read(value: &ExprValue, keys: &[&str]) -> Result<Option<ContainerRequest>, String> {
    let object = match value {
        ExprValue::Null => return Ok(None),
        ExprValue::Object(object) => object,
        ExprValue::List(_) => {
            return Err("it is a list, not an image or a mapping".to_owned());
        }
        image => return of_image(&image.as_text()),
    };
    if let Some((unknown, _)) = object.iter().find(|(key, _)| !keys.contains(key)) {
        return Err(format!("it has no key {}", config_core::quoted(unknown)));
    }
    let text = |key: &str| object.get(key).map(ExprValue::as_text).unwrap_or_default();
    let Some(mut request) = of_image(&text("image"))? else {
        return Ok(None);
    };
    request.options = options::parse(&text("options"))?;
    request.env = pairs("env", object.get("env"))?;
    for port in list("ports", object.get("ports"))? {
        request.ports.extend(ports::parse(&port)?);
    }
    request.ports.append(&mut request.options.ports);
    request.volumes = list("volumes", object.get("volumes"))?;
    if let Some(wrong) = request.volumes.iter().find(|volume| !is_volume(volume)) {
        let wrong = config_core::quoted(wrong);
        return Err(format!(
            "{wrong} is no volume: write `name:/path`, `/path/of/machine:/path` or `/path`"
        ));
    }
    request.credentials = credentials(object.get("credentials"))?;
    request.command = match object.get(COMMAND_KEY) {
        Some(words @ ExprValue::List(_)) => list(COMMAND_KEY, Some(words))?,
        Some(words) => words::split(&words.as_text())?,
        None => words::split(&text("command"))?,
    };
    let entrypoint = text("entrypoint");
    request.entrypoint = (!entrypoint.is_empty()).then(|| entrypoint.to_string());
    Ok(Some(request))
}

fn of_image(image: &str) -> Result<Option<ContainerRequest>, String> {
    if image.trim().is_empty() {
        return Ok(None);
    }
    Ok(Some(ContainerRequest {
        image: image
            .parse::<ImageReference>()
            .map_err(|error| error.to_string())?,
        env: Vec::new(),
        ports: Vec::new(),
        volumes: Vec::new(),
        options: ContainerOptions::default(),
        credentials: None,
        command: Vec::new(),
        entrypoint: None,
    }))
}

fn pairs(key: &str, value: Option<&ExprValue>) -> Result<Vec<(String, String)>, String> {
    match value {
        None | Some(ExprValue::Null) => Ok(Vec::new()),
        Some(ExprValue::Object(object)) => Ok(object
            .iter()
            .map(|(name, value)| (name.to_owned(), value.as_text().to_string()))
            .collect()),
        Some(_) => Err(format!("`{key}` is no mapping")),
    }
}

fn list(key: &str, value: Option<&ExprValue>) -> Result<Vec<String>, String> {
    match value {
        None | Some(ExprValue::Null) => Ok(Vec::new()),
        Some(ExprValue::List(values)) => Ok(values
            .iter()
            .map(|value| value.as_text().to_string())
            .filter(|text| !text.is_empty())
            .collect()),
        Some(_) => Err(format!("`{key}` is no list")),
    }
}

/// A path in the container, with a name or a folder of the machine before it.
fn is_volume(text: &str) -> bool {
    let parts: Vec<&str> = text.split(':').collect();
    match parts.as_slice() {
        [target] => target.starts_with('/'),
        [source, target] | [source, target, _] => !source.is_empty() && target.starts_with('/'),
        _ => false,
    }
}

fn credentials(value: Option<&ExprValue>) -> Result<Option<Credentials>, String> {
    let Some(value) = value.filter(|value| !matches!(value, ExprValue::Null)) else {
        return Ok(None);
    };
    let text = |key: &str| value.get(key).map(ExprValue::as_text).unwrap_or_default();
    let (username, password) = (text("username"), text("password"));
    if username.is_empty() || password.is_empty() {
        // A secret that is not there: GitHub fails such a job too.
        return Err("`credentials` needs `username` and `password`, and one is empty".to_owned());
    }
    Ok(Some(Credentials {
        username: username.to_string(),
        password: password.to_string(),
    }))
}
