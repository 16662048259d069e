//! Calls that move something at the forge are noted before it is asked and after it has answered.
//!
//! ```text
//! call ─▶ noted: in flight ─▶ forge ─▶ noted: what it did ─▶ the job
//!               └──────────── its webhook: the event waits for what is noted ─▶ ignored
//! ```

use http_clients::http::{HttpClient, Method, Request, Response};
use runner_core::gateway::{CausingCall, NotedCall, PullQuestion, pull_path};
use serde_json::Value;
use store::Store;
use tokio::sync::OwnedSemaphorePermit;

use super::JobServices;
use super::forge::{CALL_TIMEOUT, ForgeApi, GatewayRefusal, refusal};
use super::gateway_request::send;
use crate::api_changes::{self, CallKey};
use crate::clock::now_ms;

/// So much longer than the call itself, for what is asked beside it and for the store.
const MARGIN_MS: u64 = 15_000;

/// A call that is noted.
struct NotedForgeCall {
    store: Store,
    key: CallKey,
    call: CausingCall,
    path: String,
}

/// Makes a call; one that may cause events is noted before and settled after, whether or not its
/// client still waits: what is in flight in the notes would seem never answered otherwise.
///
/// # Errors
/// It cannot be noted, or the forge gives no answer.
pub(super) async fn make(
    services: &JobServices,
    http: &HttpClient,
    repository: &str,
    (method, path, body): (&str, &str, &[u8]),
    request: Request,
    turn: Option<OwnedSemaphorePermit>,
) -> Result<Response, GatewayRefusal> {
    let Some(call) = CausingCall::parse(method, path, body) else {
        return send(http, request).await;
    };
    let (services, http) = (services.clone(), http.clone());
    let (repository, path) = (repository.to_owned(), path.to_owned());
    let made = actix_rt::spawn(async move {
        let _turn = turn;
        let Some(forge) = &services.shared.forge else {
            return send(&http, request).await;
        };
        let noted = record_call(forge, &http, &repository, &path, call).await?;
        let answered = send(&http, request).await;
        if let Some(noted) = noted {
            noted.settle(forge, &http, answered.as_ref().ok()).await;
        }
        answered
    });
    let message = "the call was given up";
    made.await.unwrap_or_else(|_| Err(refusal(502, message)))
}

/// What is noted of a call that may cause events; nothing where events are not told apart.
///
/// # Errors
/// It cannot be noted: then it is not made, for it could start runs.
async fn record_call(
    forge: &ForgeApi,
    http: &HttpClient,
    repository: &str,
    path: &str,
    mut call: CausingCall,
) -> Result<Option<NotedForgeCall>, GatewayRefusal> {
    let Some(git) = &forge.git else {
        return Ok(None);
    };
    if let Some(PullQuestion::Before(number)) = call.question
        && let Some(pull) = ask_pull(forge, http, path, number).await
    {
        call.with_head(&pull, repository);
    }
    let now = now_ms();
    let noted = NotedCall {
        at_ms: now,
        until_ms: Some(now + CALL_TIMEOUT.as_millis() as u64 + MARGIN_MS),
        effects: call.effects.clone(),
    };
    let of = repository.to_owned();
    let key = git
        .store
        .write(move |rows| api_changes::record_call(rows, &of, noted));
    match key.await {
        Ok(key) => Ok(Some(NotedForgeCall {
            store: git.store.clone(),
            key,
            call,
            path: path.to_owned(),
        })),
        Err(error) => {
            tracing::warn!(event = "run.call_not_noted", repository, %error, "a job's call of the forge is refused: it cannot be noted");
            let message = "the runner cannot note the call now; try again";
            Err(refusal(503, message))
        }
    }
}

impl NotedForgeCall {
    /// Notes what the forge has answered; nothing: it gave no answer.
    async fn settle(self, forge: &ForgeApi, http: &HttpClient, response: Option<&Response>) {
        let question = self.call.question;
        let effects = match response {
            None => Some(self.call.effects),
            Some(response) => {
                let answer: Value = response.json().unwrap_or_default();
                let merged = match question {
                    Some(PullQuestion::After(number)) if response.is_success() => {
                        ask_pull(forge, http, &self.path, number).await
                    }
                    _ => None,
                };
                self.call
                    .answered(response.status, &answer, merged.as_ref())
            }
        };
        let key = self.key;
        let settled = self
            .store
            .write(move |rows| api_changes::settle(rows, &key, effects));
        // Then it counts as one that was never answered.
        if let Err(error) = settled.await {
            tracing::warn!(event = "run.call_not_settled", %error, "what a job's call has moved is not known exactly");
        }
    }
}

/// A pull request as the forge has it.
async fn ask_pull(forge: &ForgeApi, http: &HttpClient, path: &str, number: u64) -> Option<Value> {
    let path = pull_path(path, number).ok()?;
    let request = forge.request(Method::Get, &path, None)?;
    let answer = http.call(request).await.ok()?;
    answer.is_success().then(|| answer.json().ok()).flatten()
}
