//! One document's calls: counted, those that are repeated made once, and led to where they are
//! made. Resolvers run wherever they like; the client of the forge stays in its thread.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use forge_core::Forge;
use futures_channel::{mpsc, oneshot};
use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, Shared};
use parking_lot::Mutex;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

use crate::budget::QueryBudget;
use crate::rest::{RestAnswer, RestCall, RestFailure, Viewer};

/// REST calls that one document may cause.
pub const MAX_CALLS: u32 = 100;

pub(crate) type RestResult<T> = Result<T, RestFailure>;
/// Made once, whoever waits for it.
type SharedAnswer<T> = Shared<BoxFuture<'static, RestResult<T>>>;

/// What is waited for.
pub(crate) enum SessionRequest {
    Call(RestCall, oneshot::Sender<RestResult<RestAnswer>>),
    Viewer(oneshot::Sender<RestResult<Viewer>>),
}

/// Whose document it is.
#[derive(Debug, Clone)]
pub struct QueryScope {
    /// `owner/name`: the only repository that is reached.
    pub repository: String,
    /// The forge's kind.
    pub forge: Forge,
}

pub(crate) struct QuerySession {
    pub(crate) job: QueryScope,
    requests: mpsc::UnboundedSender<SessionRequest>,
    read: Mutex<HashMap<String, SharedAnswer<Arc<RestAnswer>>>>,
    viewer: Mutex<Option<SharedAnswer<Viewer>>>,
    made: AtomicU32,
    pub(crate) budget: Arc<QueryBudget>,
}

impl QuerySession {
    pub(crate) fn new(job: QueryScope, requests: mpsc::UnboundedSender<SessionRequest>) -> Self {
        Self {
            job,
            requests,
            read: Mutex::default(),
            viewer: Mutex::default(),
            made: AtomicU32::new(0),
            budget: Arc::default(),
        }
    }

    pub(crate) fn is_github(&self) -> bool {
        self.job.forge == Forge::GitHub
    }

    /// Refuses every repository but the job's. GitHub says the same of what a token does not see,
    /// and clients that look at several remotes go on.
    pub(crate) fn check_repository(&self, name: &str) -> RestResult<()> {
        if name.eq_ignore_ascii_case(&self.job.repository) {
            return Ok(());
        }
        Err(RestFailure::not_found(format!(
            "Could not resolve to a Repository with the name '{name}': the token of the job is of {}",
            self.job.repository
        )))
    }

    /// Reads below the repository.
    pub(crate) async fn read(
        &self,
        path: &str,
        query: &[(&str, String)],
    ) -> RestResult<Arc<RestAnswer>> {
        let call = self.call_of("GET", path, query, None);
        let key = format!("{}?{}", call.path, call.query.clone().unwrap_or_default());
        let made = || {
            let sent = self.send(call);
            async { sent.await.map(Arc::new) }.boxed().shared()
        };
        let answer = self.read.lock().entry(key).or_insert_with(made).clone();
        answer.await
    }

    /// The body of what is read below the repository.
    pub(crate) async fn body(&self, path: &str) -> RestResult<Value> {
        let answer = self.read(path, &[]).await?;
        self.budget.copy(&answer.body)?;
        Ok(answer.body.clone())
    }

    /// The same; null where it is not there.
    pub(crate) async fn body_if_there(&self, path: &str) -> RestResult<Value> {
        match self.body(path).await {
            Err(failure) if failure.status == 404 => Ok(Value::Null),
            other => other,
        }
    }

    /// Changes something below the repository; what was read before may be another now.
    pub(crate) async fn change(
        &self,
        method: &'static str,
        path: &str,
        body: Option<Value>,
    ) -> RestResult<Value> {
        self.change_with(method, path, &[], body).await
    }

    /// The same with a query.
    pub(crate) async fn change_with(
        &self,
        method: &'static str,
        path: &str,
        query: &[(&str, String)],
        body: Option<Value>,
    ) -> RestResult<Value> {
        self.read.lock().clear();
        let call = self.call_of(method, path, query, body);
        Ok(self.send(call).await?.body)
    }

    pub(crate) async fn viewer(&self) -> RestResult<Viewer> {
        let asked = || {
            let (reply, answer) = oneshot::channel();
            let sent = self.requests.unbounded_send(SessionRequest::Viewer(reply));
            async move {
                sent.map_err(|_| not_found())?;
                answer.await.map_err(|_| not_found())?
            }
            .boxed()
            .shared()
        };
        let viewer = self.viewer.lock().get_or_insert_with(asked).clone();
        viewer.await
    }

    fn call_of(
        &self,
        method: &'static str,
        path: &str,
        query: &[(&str, String)],
        body: Option<Value>,
    ) -> RestCall {
        let mut text = url::form_urlencoded::Serializer::new(String::new());
        text.extend_pairs(query.iter().map(|(name, value)| (*name, value.as_str())));
        let text = text.finish();
        RestCall {
            method,
            path: format!("/repos/{}{path}", self.job.repository),
            query: (!text.is_empty()).then_some(text),
            body,
        }
    }

    /// Sends a call at once; its answer is waited for.
    fn send(
        &self,
        call: RestCall,
    ) -> impl Future<Output = RestResult<RestAnswer>> + Send + 'static {
        let (reply, answer) = oneshot::channel();
        let sent = if self.made.fetch_add(1, Ordering::Relaxed) < MAX_CALLS {
            let sent = self
                .requests
                .unbounded_send(SessionRequest::Call(call, reply));
            sent.map_err(|_| not_found())
        } else {
            Err(RestFailure::new(
                429,
                format!(
                    "the document needs more than {MAX_CALLS} calls of the REST API: ask for less at once"
                ),
            ))
        };
        let budget = Arc::clone(&self.budget);
        async move {
            sent?;
            let answer = answer.await.map_err(|_| not_found())??;
            budget.count_answer(&answer.body)?;
            Ok(answer)
        }
    }
}

fn not_found() -> RestFailure {
    RestFailure::new(503, "the document is no longer waited for")
}

/// All but what is unreserved (RFC 3986, section 2.3).
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

/// Text as a part of a path.
pub(crate) fn escaped(text: &str) -> String {
    utf8_percent_encode(text, ESCAPED).to_string()
}

/// A path with slashes, each part of it escaped.
pub(crate) fn escaped_path(text: &str) -> String {
    let parts: Vec<String> = text.split('/').map(escaped).collect();
    parts.join("/")
}
