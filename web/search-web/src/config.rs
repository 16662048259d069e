//! Handlers for the configuration: shown without secrets, replaced as a whole, described by a
//! schema.

use actix_web::http::header::{self, ContentType, HeaderMap, HeaderValue};
use actix_web::{HttpRequest, HttpResponse, web};
use config_core::{Diagnostic, Diagnostics};
use edge_web::guard::ApiToken;
use edge_web::{FieldError, JsonText, Problem, SignIn};
use search_actors::messages::{Precondition, SaveError, SaveRoles};
use search_actors::{ActiveConfig, ConfigManager, ConfigView};
use search_core::role;
use supervision::{AskError, ChildRef};

/// The configuration of a server that has a role file.
#[derive(Debug, Clone)]
pub(crate) struct ConfigState {
    /// What is in force.
    pub(crate) config: ConfigView,
    /// Who changes it.
    pub(crate) manager: ChildRef<ConfigManager>,
    /// Who may change it.
    pub(crate) writers: Writers,
}

/// Who may change the configuration.
#[derive(Debug, Clone)]
pub(crate) enum Writers {
    /// All who reach the handlers: the edge wants a token of every request.
    Authenticated,
    /// Those who send this token, or have signed in where one can.
    Holders(ApiToken, Option<SignIn>),
    /// Nobody: the server has no token.
    Nobody,
}

impl Writers {
    fn check(&self, request: &HttpRequest) -> Result<(), Problem> {
        let token = match self {
            Self::Authenticated => return Ok(()),
            Self::Holders(_, Some(sign_in)) if sign_in.admits(request.head()) => return Ok(()),
            Self::Holders(token, _) => token,
            Self::Nobody => {
                return Err(Problem::forbidden(
                    "this server was started without a token: its configuration is changed in the file only",
                ));
            }
        };
        let sent = request.headers().get(header::AUTHORIZATION);
        if sent.is_some_and(|sent| token.matches(sent.as_bytes())) {
            return Ok(());
        }
        Err(Problem::unauthorized(
            "changing the configuration needs a token: send Authorization: Bearer with the content of the file configuration-token in the server's data folder",
        ))
    }
}

type Config = web::Data<Option<ConfigState>>;

/// Shows the role file as it is in force. A secret is `***` where it is set.
#[utoipa::path(
    get, path = "/api/config", tag = "configuration",
    responses(
        (status = 200, description = "The role file, with its version as ETag.", body = Object),
        (status = 404, description = "This server was started without a role file."),
    )
)]
pub(crate) async fn show(config: Config, request: HttpRequest) -> Result<HttpResponse, Problem> {
    let now = config_state(&config)?.config.now();
    let tag = tag(&now.version);
    let known = request.headers().get_all(header::IF_NONE_MATCH);
    if tags(known).is_some_and(|tags| tags.any || tags.versions.contains(&now.version)) {
        return Ok(HttpResponse::NotModified()
            .insert_header((header::ETAG, tag))
            .finish());
    }
    Ok(document(&now))
}

/// Replaces the role file, and puts it in force without a restart.
///
/// Sources that stay keep their index; searches go on meanwhile. `***` in the place of a secret
/// keeps the secret of the same place.
#[utoipa::path(
    put, path = "/api/config", tag = "configuration", request_body = Object,
    params(("If-Match" = String, Header, description = "The ETag of the version that is replaced; * replaces any")),
    responses(
        (status = 200, description = "The role file in force now, without secrets.", body = Object),
        (status = 401, description = "The token of the configuration is missing."),
        (status = 403, description = "A variable is new or has moved, or a location, program or server is new and lies outside of `allowed_roots`."),
        (status = 412, description = "Another version is in force, or the file was changed on disk."),
        (status = 422, description = "The file has mistakes: `errors` has each with its place."),
        (status = 428, description = "If-Match is missing."),
    )
)]
pub(crate) async fn replace(
    config: Config,
    request: HttpRequest,
    body: JsonText,
) -> Result<HttpResponse, Problem> {
    let state = config_state(&config)?;
    state.writers.check(&request)?;
    let condition = condition(request.headers())?;
    let text = body.0.to_vec();
    let saved = state.manager.ask(SaveRoles { text, condition }).await;
    let saved = saved.map_err(|error| match error {
        AskError::Full { .. } | AskError::Unavailable { .. } => {
            Problem::unavailable("the configuration is being changed by somebody else", 1)
        }
        AskError::TimedOut { .. } => {
            Problem::gateway_timeout("the configuration was not saved in time")
        }
        AskError::NoReply { .. } => Problem::internal(),
    })?;
    saved.map(|now| document(&now)).map_err(refused)
}

/// Describes the role file as a JSON schema.
#[utoipa::path(
    get, path = "/api/config/schema", tag = "configuration",
    responses((status = 200, description = "JSON Schema 2020-12.", body = Object))
)]
pub(crate) async fn schema() -> HttpResponse {
    HttpResponse::Ok()
        .content_type("application/schema+json")
        .body(role::schema().to_string())
}

fn config_state(config: &Config) -> Result<&ConfigState, Problem> {
    let state = config.as_ref().as_ref();
    state.ok_or_else(|| Problem::not_found("this server was started without a role file"))
}

fn document(now: &ActiveConfig) -> HttpResponse {
    HttpResponse::Ok()
        .insert_header(ContentType::json())
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .insert_header((header::ETAG, tag(&now.version)))
        .body(now.document.redacted())
}

fn tag(version: &str) -> HeaderValue {
    HeaderValue::from_str(&format!("\"{version}\"")).expect("hex digits are a header's value")
}

/// The entity tags of a header.
struct Tags {
    any: bool,
    versions: Vec<String>,
}

/// `None` without such a header. Weak tags never match: texts are compared byte by byte.
fn tags<'h>(values: impl Iterator<Item = &'h HeaderValue>) -> Option<Tags> {
    let mut tags: Option<Tags> = None;
    for value in values {
        let tags = tags.get_or_insert(Tags {
            any: false,
            versions: Vec::new(),
        });
        for one in value.to_str().unwrap_or_default().split(',').map(str::trim) {
            let inner = one
                .strip_prefix('"')
                .and_then(|rest| rest.strip_suffix('"'));
            tags.any |= one == "*";
            tags.versions.extend(inner.map(str::to_owned));
        }
    }
    tags
}

fn condition(headers: &HeaderMap) -> Result<Precondition, Problem> {
    match tags(headers.get_all(header::IF_MATCH)) {
        None => Err(Problem::precondition_required(
            "send If-Match with the ETag of GET /api/config, so that no change of somebody else is lost",
        )),
        Some(tags) if tags.any => Ok(Precondition::Any),
        Some(tags) => Ok(Precondition::Version(tags.versions)),
    }
}

fn refused(reason: SaveError) -> Problem {
    let detail = reason.to_string();
    match reason {
        SaveError::Stale | SaveError::ChangedOnDisk => Problem::precondition_failed(detail),
        SaveError::Wrong(diagnostics) => invalid_config(&diagnostics),
        SaveError::NotAllowed(_) => Problem::forbidden(detail),
        SaveError::Disk(_) => {
            tracing::error!(event = "config.unwritable", error = %detail);
            Problem::new(actix_web::http::StatusCode::INSUFFICIENT_STORAGE, detail)
        }
        SaveError::NotApplied(_) => Problem::unavailable(detail, 1),
    }
}

fn invalid_config(diagnostics: &Diagnostics) -> Problem {
    let errors: Vec<FieldError> = diagnostics.iter().map(fault).collect();
    let detail = match errors.as_slice() {
        [only] => format!("the configuration has a mistake: {}", only.detail),
        several => format!("the configuration has {} mistakes", several.len()),
    };
    Problem::unprocessable(detail, errors).kind("invalid-configuration", "Invalid configuration")
}

fn fault(diagnostic: &Diagnostic) -> FieldError {
    let place = |number: Option<u32>| number.map(|number| number as usize);
    let detail = match &diagnostic.help {
        Some(help) => format!("{}; {help}", diagnostic.message),
        None => diagnostic.message.clone(),
    };
    FieldError {
        line: place(diagnostic.line),
        column: place(diagnostic.col),
        pointer: Some(pointer(&diagnostic.key_path)),
        ..FieldError::new(diagnostic.key_path.clone(), detail)
    }
}

/// `roles[1].name` as `/roles/1/name`. The keys of a role file hold neither dots nor slashes;
/// unknown ones are escaped.
fn pointer(key_path: &str) -> String {
    let mut pointer = String::new();
    for part in key_path.split(['.', '[']).filter(|part| !part.is_empty()) {
        let part = part.strip_suffix(']').unwrap_or(part);
        pointer.push('/');
        pointer.push_str(&part.replace('~', "~0").replace('/', "~1"));
    }
    pointer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_pointers() {
        assert_eq!(pointer(""), "");
        assert_eq!(
            pointer("roles[1].haystacks[0].name"),
            "/roles/1/haystacks/0/name"
        );
        assert_eq!(pointer("a/b.c~d"), "/a~1b/c~0d");
    }

    #[test]
    fn entity_tags_are_read() {
        let parsed = |text: &'static str| tags([HeaderValue::from_static(text)].iter()).unwrap();
        assert!(parsed("*").any);
        assert_eq!(parsed("\"a\", \"b\"").versions, ["a", "b"]);
        assert!(parsed("W/\"a\"").versions.is_empty());
        assert!(tags([].iter()).is_none());
    }
}
