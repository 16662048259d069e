//! What all calls share: the job's token, JSON in both spellings, and refusals as Twirp writes
//! them.

use actix_web::http::StatusCode;
use actix_web::http::header::AUTHORIZATION;
use actix_web::{HttpRequest, HttpResponse, ResponseError, web};
use runner_actors::{JobServices, JobSession, ServiceFault};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Largest request that is read as a whole: names and lists of blocks.
pub(super) const MAX_BODY: usize = 8 << 20;

/// A refusal.
#[derive(Debug)]
pub(super) struct TwirpError(ServiceFault);

impl From<ServiceFault> for TwirpError {
    fn from(fault: ServiceFault) -> Self {
        Self(fault)
    }
}

impl std::fmt::Display for TwirpError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl ResponseError for TwirpError {
    fn status_code(&self) -> StatusCode {
        StatusCode::from_u16(self.0.status().0).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    fn error_response(&self) -> HttpResponse {
        let (_, code) = self.0.status();
        let text = self.0.to_string();
        // `message` is what the first version of the cache service's client reads.
        HttpResponse::build(self.status_code())
            .json(json!({"code": code, "msg": text, "message": text}))
    }
}

/// The job whose token a request carries.
pub(super) fn session(
    request: &HttpRequest,
    services: &JobServices,
) -> Result<JobSession, TwirpError> {
    let header = request.headers().get(AUTHORIZATION);
    let header = header.and_then(|value| value.to_str().ok());
    let token = header.and_then(|value| value.strip_prefix("Bearer "));
    Ok(services.job(token.unwrap_or_default().trim())?)
}

/// What the calls of one service say.
pub(super) trait MethodRequest: DeserializeOwned + Send + 'static {
    /// What the service answers to one of its methods. Blocks.
    fn answer(self, session: &JobSession, method: &str) -> Result<Value, ServiceFault>;
}

/// One call of a service.
pub(super) async fn call<T: MethodRequest>(
    request: HttpRequest,
    services: web::Data<JobServices>,
    method: web::Path<String>,
    body: web::Bytes,
) -> Result<HttpResponse, TwirpError> {
    let session = session(&request, &services)?;
    let call: T = read(&body)?;
    let answer = on_disk(move || call.answer(&session, &method)).await?;
    Ok(HttpResponse::Ok().json(answer))
}

/// A method that the service does not have.
pub(super) fn no_method(method: &str) -> ServiceFault {
    let method = config_core::quoted(method);
    ServiceFault::NotFound(format!("there is no method {method}"))
}

/// A body as JSON: names in either spelling, wrapped values bare or not.
pub(super) fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, TwirpError> {
    let wrong = |error: serde_json::Error| ServiceFault::Wrong(error.to_string());
    let value: Value = serde_json::from_slice(body).map_err(wrong)?;
    Ok(serde_json::from_value(in_one_spelling(value)).map_err(wrong)?)
}

/// Names as `snake_case`, and numbers that stand as texts (`int64`) stay texts.
fn in_one_spelling(value: Value) -> Value {
    let Value::Object(object) = value else {
        return value;
    };
    let renamed = object.into_iter().map(|(name, value)| {
        let mut snake = String::new();
        for character in name.chars() {
            if character.is_ascii_uppercase() {
                snake.push('_');
            }
            snake.push(character.to_ascii_lowercase());
        }
        // A wrapped value (`StringValue`) is bare in JSON; some clients write it as an object.
        let value = match value {
            Value::Object(mut inner) if inner.len() == 1 && inner.contains_key("value") => {
                inner.remove("value").unwrap_or_default()
            }
            value => value,
        };
        (snake, value)
    });
    Value::Object(renamed.collect())
}

/// A whole number, as `int64` is written: as a text, or bare.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(try_from = "Value")]
pub(super) struct Number(pub(super) u64);

impl TryFrom<Value> for Number {
    type Error = &'static str;

    fn try_from(value: Value) -> Result<Self, Self::Error> {
        let number = match &value {
            Value::String(text) => text.parse().ok(),
            value => value.as_u64(),
        };
        number.map(Self).ok_or("a whole number is wanted")
    }
}

/// Work on the disk, away from the workers.
pub(super) async fn on_disk<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ServiceFault> + Send + 'static,
) -> Result<T, TwirpError> {
    let done = tokio::task::spawn_blocking(work).await;
    Ok(done.map_err(|error| ServiceFault::Disk(std::io::Error::other(error)))??)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_spellings_and_wrapped_values_are_one() {
        #[derive(Deserialize)]
        struct Body {
            workflow_run_backend_id: String,
            size: Number,
            hash: Option<String>,
        }
        for text in [
            r#"{"workflowRunBackendId": "r", "size": "7", "hash": {"value": "x"}}"#,
            r#"{"workflow_run_backend_id": "r", "size": 7, "hash": "x", "more": 1}"#,
        ] {
            let asked: Body = read(text.as_bytes()).unwrap();
            assert_eq!(asked.workflow_run_backend_id, "r");
            assert_eq!((asked.size.0, asked.hash.as_deref()), (7, Some("x")));
        }
        assert!(read::<Body>(b"{}").is_err() && read::<Body>(b"[1]").is_err());
    }
}
