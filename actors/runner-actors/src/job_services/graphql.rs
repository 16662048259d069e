//! GraphQL for jobs: answered by calls of the REST API, each of which is decided on as if the job
//! had made it.

use std::sync::Arc;

use bytes::Bytes;
use forge_graphql_core::{Job, Rest, RestAnswer, RestCall, RestFailure, Viewer};
use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use http_clients::http::{HttpClient, Method};
use runner_core::workflow::PermissionLevel;
use serde_json::Value;

use super::JobServices;
use super::forge::{Account, ForgeApi, ForgeGrant, GatewayRefusal, refusal};
use super::gateway_request::{GatewayAnswer, GatewayBody, GatewayRequest, send};
use crate::clock::now_ms;

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
        };
        let job = Job {
            repository: grant.may.repository.clone(),
            forge: forge.kind(),
        };
        let answer = self.shared.graphql.answer(job, &rest, &body).await;
        Ok(GatewayAnswer {
            status: 200,
            headers: vec![("content-type", "application/json; charset=utf-8".to_owned())],
            body: answer.to_string().into(),
        })
    }
}

/// The REST API as a job has it.
struct JobRest<'a> {
    services: &'a JobServices,
    http: &'a HttpClient,
    forge: &'a ForgeApi,
    grant: &'a Arc<ForgeGrant>,
    token: String,
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
            read(&passed.await.map_err(failure)?)
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

/// Whose token the runner's is: its name and number, nothing more of what the forge says.
async fn account(http: &HttpClient, forge: &ForgeApi) -> Result<Account, GatewayRefusal> {
    let request = forge.request(Method::Get, "/user", None);
    let request = request.ok_or_else(|| refusal(400, "the address of the call is wrong"))?;
    let answer = send(http, request).await?;
    let user = answer.json::<Value>().unwrap_or_default();
    let login = user["login"].as_str().filter(|_| answer.is_success());
    Ok(match login {
        Some(login) => (login.to_owned(), user["id"].as_u64()),
        None => (APP_ACCOUNT.to_owned(), None),
    })
}
