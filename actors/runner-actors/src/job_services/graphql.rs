//! GraphQL for jobs: answered by calls of the REST API, each of which is decided on as if the job
//! had made it.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use forge_graphql_core::{
    GraphQl, MAX_BYTES, QueryScope, Rest, RestAnswer, RestCall, RestFailure, Viewer,
};
use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use http_clients::http::{HttpClient, Method};
use runner_core::workflow::PermissionLevel;
use serde_json::{Value, json};

use super::JobServices;
use super::forge::{Account, ForgeApi, ForgeGrant, GatewayRefusal, refusal};
use super::gateway_request::{GatewayAnswer, GatewayBody, GatewayRequest, send};
use crate::clock::now_ms;

/// Longest time of one document.
const DOCUMENT_TIMEOUT: Duration = Duration::from_secs(60);
/// Who a token is whose account the forge does not tell, as that of an app.
const APP_ACCOUNT: &str = "github-actions[bot]";

impl JobServices {
    /// Answers a document; what is wrong with it is an answer, too.
    pub(super) async fn answer_graphql(
        &self,
        http: &HttpClient,
        forge: &ForgeApi,
        grant: &Arc<ForgeGrant>,
        asked: GatewayRequest,
    ) -> Result<GatewayAnswer, GatewayRefusal> {
        let GatewayBody::Whole(body) = asked.body else {
            return Err(refusal(400, "a document of GraphQL is no file"));
        };
        if asked.method != "POST" {
            return Err(refusal(405, "documents of GraphQL are sent with POST"));
        }
        grant.count(now_ms())?;
        let rest = JobRest {
            services: self,
            http,
            forge,
            grant,
            token: asked.token,
            read: Cell::new(0),
        };
        let job = QueryScope {
            repository: grant.may.repository.clone(),
            forge: forge.kind(),
        };
        // Each may hold many answers of the forge.
        let _turn = grant.documents_at_once.acquire().await;
        let answer =
            answered_within(DOCUMENT_TIMEOUT, &self.shared.graphql, job, &rest, &body).await;
        Ok(GatewayAnswer {
            status: 200,
            headers: vec![("content-type", "application/json; charset=utf-8".to_owned())],
            body: answer.to_string().into(),
        })
    }
}

/// The answer of a document; that it takes too long is one, too.
async fn answered_within(
    most: Duration,
    graphql: &GraphQl,
    job: QueryScope,
    rest: &impl Rest,
    body: &[u8],
) -> Value {
    let answered = graphql.answer(job, rest, body);
    let answered = tokio::time::timeout(most, answered).await;
    answered.unwrap_or_else(|_| {
        let seconds = most.as_secs();
        let message = format!(
            "the document took more than {seconds} seconds: ask for less at once; what it was to change may be changed"
        );
        json!({"errors": [{"type": "RESOURCE_LIMITS_EXCEEDED", "message": message}]})
    })
}

/// The REST API as a job has it.
struct JobRest<'a> {
    services: &'a JobServices,
    http: &'a HttpClient,
    forge: &'a ForgeApi,
    grant: &'a Arc<ForgeGrant>,
    token: String,
    /// Bytes of answers.
    read: Cell<usize>,
}

impl Rest for JobRest<'_> {
    fn call(&self, call: RestCall) -> LocalBoxFuture<'_, Result<RestAnswer, RestFailure>> {
        let asked = GatewayRequest {
            token: self.token.clone(),
            method: call.method.to_owned(),
            path: call.path,
            query: call.query,
            headers: vec![
                ("accept", "application/json".to_owned()),
                ("content-type", "application/json".to_owned()),
            ],
            is_gh: false,
            body: GatewayBody::Whole(
                call.body
                    .map_or_else(Bytes::new, |body| Bytes::from(body.to_string())),
            ),
        };
        async move {
            let passed = self
                .services
                .pass_on(self.http, self.forge, self.grant, asked);
            let answer = passed.await.map_err(failure)?;
            // Counted before it is read, which makes more of it.
            let bytes = self.read.get().saturating_add(answer.body.len());
            self.read.set(bytes);
            if bytes > MAX_BYTES {
                return Err(RestFailure {
                    status: 413,
                    message: format!(
                        "the document needs more than {MAX_BYTES} bytes of REST answers: ask for less at once"
                    ),
                });
            }
            read(&answer)
        }
        .boxed_local()
    }

    fn viewer(&self) -> LocalBoxFuture<'_, Result<Viewer, RestFailure>> {
        async move {
            let asked = || account(self.http, self.forge);
            let account = self.forge.account.get_or_try_init(asked).await;
            let (login, id) = account.map_err(failure)?.clone();
            let permissions = &self.grant.may.permissions;
            Ok(Viewer {
                login,
                id,
                writes: permissions.allows("contents", PermissionLevel::Write),
            })
        }
        .boxed_local()
    }
}

fn failure(refusal: GatewayRefusal) -> RestFailure {
    RestFailure {
        status: refusal.status,
        message: refusal.message,
    }
}

/// What the forge answered; a status that is no success is a failure in its words.
fn read(answer: &GatewayAnswer) -> Result<RestAnswer, RestFailure> {
    let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    if !(200..300).contains(&answer.status) {
        let message = body["message"].as_str().filter(|text| !text.is_empty());
        let message = message.map_or_else(
            || format!("the forge answered {}", answer.status),
            str::to_owned,
        );
        return Err(RestFailure {
            status: answer.status,
            message,
        });
    }
    let header = |name: &str| {
        let mut headers = answer.headers.iter();
        let found = headers.find(|(own, _)| *own == name);
        found.map(|(_, value)| value.as_str())
    };
    Ok(RestAnswer::new(
        body,
        header("link"),
        header("x-total-count"),
    ))
}

impl JobServices {
    /// Whose the token of a job is at the forge, as programs ask that sign in there: the runner's
    /// account by its name and number.
    ///
    /// # Errors
    /// The token is of no job that runs, or the forge gives no answer.
    pub async fn account_of(
        &self,
        http: &HttpClient,
        token: &str,
    ) -> Result<(String, Option<u64>), GatewayRefusal> {
        let grant = self.forge_grant(token)?;
        grant.count(now_ms())?;
        let forge = self.shared.forge.as_ref();
        let forge = forge.ok_or_else(|| refusal(404, "there is no forge here"))?;
        let asked = || account(http, forge);
        let account = forge.account.get_or_try_init(asked).await?;
        Ok(account.clone())
    }
}

/// Whose token the runner's is: its name and number, nothing more of what the forge says.
async fn account(http: &HttpClient, forge: &ForgeApi) -> Result<Account, GatewayRefusal> {
    let request = forge.request(Method::Get, "/user", None);
    let request = request.ok_or_else(|| refusal(400, "the address of the call is wrong"))?;
    let answer = send(http, request).await?;
    let user = answer.json::<Value>().unwrap_or_default();
    whose(answer.status, &user)
}

/// What the forge says to whose token it is. The token of an app is refused that; any other failure
/// is none that stays.
fn whose(status: u16, user: &Value) -> Result<Account, GatewayRefusal> {
    let login = user["login"].as_str().filter(|login| !login.is_empty());
    // So is who called too often, with the same status.
    let message = user["message"].as_str().unwrap_or_default();
    let too_often = message.to_lowercase().contains("rate limit");
    match (status, login) {
        (200..300, Some(login)) => Ok((login.to_owned(), user["id"].as_u64())),
        (401 | 403 | 404, _) if !too_often => Ok((APP_ACCOUNT.to_owned(), None)),
        _ => Err(refusal(
            502,
            format!("the forge answered {status} to whose token it is"),
        )),
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use super::*;

    /// A forge that does not answer.
    struct Silent;

    impl Rest for Silent {
        fn call(&self, _call: RestCall) -> LocalBoxFuture<'_, Result<RestAnswer, RestFailure>> {
            pending().boxed_local()
        }

        fn viewer(&self) -> LocalBoxFuture<'_, Result<Viewer, RestFailure>> {
            pending().boxed_local()
        }
    }

    #[tokio::test]
    async fn i17_a_document_that_takes_too_long_is_answered_with_that() {
        let job = QueryScope {
            repository: "acme/rocket".to_owned(),
            forge: forge_core::Forge::GitHub,
        };
        let body = br#"{"query": "{ viewer { login } }"}"#;
        let most = Duration::from_secs(1);
        let answer = answered_within(most, &GraphQl::new(), job, &Silent, body).await;
        let message = answer["errors"][0]["message"].as_str().unwrap();
        assert!(message.contains("1 seconds"), "{message}");
    }

    #[test]
    fn i17_only_who_is_refused_its_account_is_an_app() {
        let user = json!({"login": "ada", "id": 3});
        assert_eq!(whose(200, &user), Ok(("ada".to_owned(), Some(3))));
        for status in [401, 403, 404] {
            let app = Ok((APP_ACCOUNT.to_owned(), None));
            assert_eq!(whose(status, &Value::Null), app, "{status}");
        }
        for status in [200, 429, 500, 503] {
            assert!(whose(status, &Value::Null).is_err(), "{status}");
        }
        let often = json!({"message": "You have exceeded a secondary rate limit"});
        assert!(whose(403, &often).is_err());
    }
}
