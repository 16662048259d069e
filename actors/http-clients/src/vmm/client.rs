//! The client.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use config_core::Secret;
use futures_util::{Stream, StreamExt};
use tokio::time::Instant;
use url::Url;
use vmm_api_core::{
    AllocationView, ExecReport, ExecStarted, ImageView, LeaseRequest, LeaseView, ManagerHealth,
    NewExec, NewSnapshot, NewVm, PauseRequest, ReleasedVmList, SnapshotName, SnapshotView, UnixMs,
    VmView,
};

use super::error::{VmmError, checked};
use super::follow::Follow;
use super::live_token::LiveToken;
use crate::http::{
    HttpClient, HttpError, Method, Request, Response, RetryPolicy, StreamingResponse,
};
use crate::ws::{self, WsOptions, WsReceiver, WsSender};

/// Longer than a manager takes to write or read the memory of a VM.
const SNAPSHOT_TIMEOUT: Duration = Duration::from_secs(390);
/// No VM is held for longer.
const TRANSFER_TIMEOUT: Duration = Duration::from_secs(7 * 86_400);
/// Answers but lists and files are small.
const SMALL: usize = 256 << 10;
/// The longest list of VMs that is read.
const LIST: usize = 4 << 20;
/// Reads and idempotent writes are repeated so often.
const RETRY_POLICY: RetryPolicy = RetryPolicy {
    attempts: 3,
    first: Duration::from_millis(200),
    longest: Duration::from_secs(5),
};

/// A VM manager. Clones share the connections.
#[derive(Clone)]
pub struct VmmClient {
    http: HttpClient,
    base: Url,
    token: LiveToken,
}

impl VmmClient {
    /// A client of the manager at `base`, with its bearer token.
    ///
    /// Give `http` no redirects, or those of one origin: the token never goes to another anyway.
    #[must_use]
    pub fn new(http: HttpClient, base: Url, token: Option<Secret<String>>) -> Self {
        Self::with_live_token(http, base, LiveToken::new(token))
    }

    /// The same with a token that may be replaced meanwhile.
    #[must_use]
    pub fn with_live_token(http: HttpClient, base: Url, token: LiveToken) -> Self {
        Self { http, base, token }
    }

    /// How the manager is.
    ///
    /// # Errors
    /// See [`VmmError`].
    pub async fn health(&self) -> Result<ManagerHealth, VmmError> {
        let request = Request::get(self.address(&["health"])).with_max_body(SMALL);
        Ok(self.retrying(request).await?.json()?)
    }

    /// All its VMs.
    ///
    /// # Errors
    /// See [`VmmError`]; a list above 4 MiB is `BadReply`.
    pub async fn list(&self) -> Result<Vec<VmView>, VmmError> {
        let request = self.request(Method::Get, &["vms"]).with_max_body(LIST);
        Ok(self.retrying(request).await?.json()?)
    }

    /// The images that VMs can be made of.
    ///
    /// # Errors
    /// See [`VmmError`]; a list above 4 MiB is `BadReply`.
    pub async fn images(&self) -> Result<Vec<ImageView>, VmmError> {
        let request = self.request(Method::Get, &["images"]).with_max_body(LIST);
        Ok(checked(self.http.call(request).await?)?.json()?)
    }

    /// Requests a VM. The same `key` gives the same VM, however often it is asked: repeat it after
    /// an error whose outcome is unknown.
    ///
    /// # Errors
    /// See [`VmmError`].
    pub async fn create(
        &self,
        key: &str,
        vm: &NewVm,
        within: Duration,
    ) -> Result<AllocationView, VmmError> {
        let request = self
            .request(Method::Post, &["vms"])
            .header("idempotency-key", key)
            .json(vm)
            .idempotent()
            .with_max_body(SMALL)
            .with_deadline(within);
        // Waiting for room is the caller's business: 503 goes to them with its delay.
        let response = self.http.call(request).await?;
        Ok(checked(response)?.json()?)
    }

    /// One VM.
    ///
    /// # Errors
    /// See [`VmmError`].
    pub async fn get(&self, id: &str) -> Result<VmView, VmmError> {
        let request = self.request(Method::Get, &["vms", id]).with_max_body(SMALL);
        Ok(self.retrying(request).await?.json()?)
    }

    /// Ends a VM; one that has ended already is no error.
    ///
    /// # Errors
    /// See [`VmmError`].
    pub async fn delete(&self, id: &str) -> Result<(), VmmError> {
        let request = self
            .request(Method::Delete, &["vms", id])
            .with_max_body(SMALL);
        not_found_is_done(self.retrying(request).await)
    }

    /// Unpacks a tar stream below a directory of the VM. `idle` is the longest time in which the
    /// manager takes nothing of it, or says nothing after its end: as long as it moves it may take
    /// what it takes.
    ///
    /// # Errors
    /// See [`VmmError`]; an error of `tar` itself is `Upload`.
    pub async fn put_files(
        &self,
        id: &str,
        path: &str,
        tar: impl Stream<Item = Result<Bytes, std::io::Error>> + 'static,
        idle: Duration,
    ) -> Result<(), VmmError> {
        let moved = Rc::new(Cell::new(Instant::now()));
        let seen = Rc::clone(&moved);
        let request = self
            .files(Method::Put, id, path)
            .header("content-type", "application/x-tar")
            .chunks(tar.inspect(move |_| seen.set(Instant::now())))
            .with_max_body(SMALL)
            .with_deadline(TRANSFER_TIMEOUT);
        let sent = tokio::select! {
            sent = self.http.call(request) => sent,
            () = wait_until_idle(&moved, idle) => {
                let text = format!("nothing of the files was taken for {idle:?}");
                return Err(VmmError::TimedOut(text));
            }
        };
        let response = sent.map_err(|error| match error {
            HttpError::BadRequest { reason, .. } => VmmError::Upload(reason),
            error => error.into(),
        })?;
        checked(response).map(drop)
    }

    /// Packs what is at a path of the VM: a tar stream, as it comes.
    ///
    /// # Errors
    /// See [`VmmError`]; errors in the stream are [`HttpError`]s.
    pub async fn get_files(&self, id: &str, path: &str) -> Result<StreamingResponse, VmmError> {
        self.open(self.files(Method::Get, id, path)).await
    }

    /// Runs something in a VM; gives the execution's id.
    ///
    /// # Errors
    /// See [`VmmError`]. It is never sent twice.
    pub async fn exec(&self, id: &str, exec: &NewExec) -> Result<String, VmmError> {
        let request = self.request(Method::Post, &["vms", id, "exec"]).json(exec);
        let response = self.http.call(request.with_max_body(SMALL)).await?;
        let started: ExecStarted = checked(response)?.json()?;
        Ok(started.exec_id)
    }

    /// How an execution stands.
    ///
    /// # Errors
    /// See [`VmmError`].
    pub async fn exec_report(&self, id: &str, exec: &str) -> Result<ExecReport, VmmError> {
        let request = self.request(Method::Get, &["vms", id, "exec", exec]);
        Ok(self.retrying(request.with_max_body(SMALL)).await?.json()?)
    }

    /// Follows an execution from its first output to its end. Silence longer than the client's
    /// idle time is an error: the manager sends a keep-alive every 15 s.
    ///
    /// # Errors
    /// See [`VmmError`].
    pub async fn follow(&self, id: &str, exec: &str) -> Result<Follow, VmmError> {
        let mut request = self.request(Method::Get, &["vms", id, "exec", exec]);
        request.url.set_query(Some("follow=1"));
        Ok(Follow::new(self.open(request).await?))
    }

    /// Kills an execution with all its processes; one that has ended already is no
    /// error.
    ///
    /// # Errors
    /// See [`VmmError`].
    pub async fn kill(&self, id: &str, exec: &str) -> Result<(), VmmError> {
        let request = self.request(Method::Delete, &["vms", id, "exec", exec]);
        not_found_is_done(self.retrying(request.with_max_body(SMALL)).await)
    }

    /// Ends an execution so that it can clean up: SIGINT, SIGTERM after three quarters of `grace`,
    /// and a kill after all of it. One that has ended already is no error.
    ///
    /// # Errors
    /// See [`VmmError`]; `Refused` where the manager knows no such thing, or it is too long.
    pub async fn terminate(&self, id: &str, exec: &str, grace: Duration) -> Result<(), VmmError> {
        let mut request = self.request(Method::Delete, &["vms", id, "exec", exec]);
        let grace = format!("grace_ms={}", grace.as_millis());
        request.url.set_query(Some(&grace));
        not_found_is_done(self.retrying(request.with_max_body(SMALL)).await)
    }

    /// Extends a VM's lease: so many seconds from now.
    ///
    /// # Errors
    /// See [`VmmError`].
    pub async fn lease(&self, id: &str, seconds: u64) -> Result<UnixMs, VmmError> {
        let lease = LeaseRequest { lease_s: seconds };
        let request = self
            .request(Method::Post, &["vms", id, "lease"])
            .json(&lease);
        let response = self
            .retrying(request.idempotent().with_max_body(SMALL))
            .await?;
        let leased: LeaseView = response.json()?;
        Ok(leased.lease_until)
    }

    /// Lets a VM stand still; `reclaimable`: it may be ended when others need its room.
    ///
    /// # Errors
    /// See [`VmmError`]; `Isolation` when something runs in it, or its driver cannot.
    pub async fn pause(&self, id: &str, reclaimable: bool) -> Result<(), VmmError> {
        let pause = PauseRequest { reclaimable };
        let request = self
            .request(Method::Post, &["vms", id, "pause"])
            .json(&pause);
        self.retrying(request.idempotent().with_max_body(SMALL))
            .await
            .map(drop)
    }

    /// Lets a VM go on.
    ///
    /// # Errors
    /// See [`VmmError`].
    pub async fn resume(&self, id: &str) -> Result<(), VmmError> {
        let request = self.request(Method::Post, &["vms", id, "resume"]);
        self.retrying(request.idempotent().with_max_body(SMALL))
            .await
            .map(drop)
    }

    /// Keeps memory and disk of a VM as they are, under a name; one that is there already is given
    /// as it is.
    ///
    /// # Errors
    /// See [`VmmError`]; `Isolation` when something is under way in it, or its driver cannot.
    pub async fn take_snapshot(
        &self,
        id: &str,
        name: &SnapshotName,
    ) -> Result<SnapshotView, VmmError> {
        let snapshot = NewSnapshot { name: name.clone() };
        let request = self
            .request(Method::Post, &["vms", id, "snapshots"])
            .json(&snapshot)
            .with_deadline(SNAPSHOT_TIMEOUT);
        let response = self
            .retrying(request.idempotent().with_max_body(SMALL))
            .await?;
        Ok(response.json()?)
    }

    /// Lets a VM be as it was at a snapshot; it runs afterwards.
    ///
    /// # Errors
    /// See [`VmmError`].
    pub async fn restore_snapshot(&self, id: &str, name: &SnapshotName) -> Result<(), VmmError> {
        let path = ["vms", id, "snapshots", name.as_str(), "restore"];
        let request = self
            .request(Method::Post, &path)
            .with_deadline(SNAPSHOT_TIMEOUT);
        // Going back twice is going back once.
        self.retrying(request.idempotent().with_max_body(SMALL))
            .await
            .map(drop)
    }

    /// Forgets a snapshot. That there is none is no error.
    ///
    /// # Errors
    /// See [`VmmError`].
    pub async fn delete_snapshot(&self, id: &str, name: &SnapshotName) -> Result<(), VmmError> {
        let path = ["vms", id, "snapshots", name.as_str()];
        let request = self
            .request(Method::Delete, &path)
            .with_deadline(SNAPSHOT_TIMEOUT);
        not_found_is_done(self.retrying(request.with_max_body(SMALL)).await)
    }

    /// The terminal of an execution that was started with one. Dropping the connection ends the
    /// execution.
    ///
    /// # Errors
    /// See [`VmmError`].
    pub async fn terminal(&self, id: &str, exec: &str) -> Result<(WsSender, WsReceiver), VmmError> {
        let mut url = self.address(&["vms", id, "terminal"]);
        url.query_pairs_mut().append_pair("exec", exec);
        let options = WsOptions::default();
        Ok(ws::connect_as(&url, self.token.get().as_ref(), &options).await?)
    }

    /// Has the manager release what is stuck.
    ///
    /// # Errors
    /// See [`VmmError`].
    pub async fn release_stuck(&self) -> Result<ReleasedVmList, VmmError> {
        let request = self
            .request(Method::Delete, &["vms", "stuck"])
            .with_max_body(LIST);
        Ok(self.retrying(request).await?.json()?)
    }

    async fn open(&self, request: Request) -> Result<StreamingResponse, VmmError> {
        match self.http.open_or_read(request).await? {
            Ok(streaming) => Ok(streaming),
            Err(refused) => Err(checked(refused).expect_err("its status is not 2xx")),
        }
    }

    async fn retrying(&self, request: Request) -> Result<Response, VmmError> {
        let response = self.http.call_retrying(request, &RETRY_POLICY).await?;
        checked(response)
    }

    fn files(&self, method: Method, id: &str, path: &str) -> Request {
        let mut request = self.request(method, &["vms", id, "files"]);
        request.url.query_pairs_mut().append_pair("path", path);
        request
    }

    fn request(&self, method: Method, path: &[&str]) -> Request {
        let request = Request::new(method, self.address(path));
        match self.token.get() {
            Some(token) => request.authorization("Bearer", &token),
            None => request,
        }
    }

    /// An address below the base; the parts are escaped.
    fn address(&self, path: &[&str]) -> Url {
        let mut url = self.base.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path);
        }
        url
    }
}

fn not_found_is_done(answer: Result<Response, VmmError>) -> Result<(), VmmError> {
    match answer {
        Ok(_) | Err(VmmError::NotFound(_)) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Ends when nothing has moved for so long.
async fn wait_until_idle(moved: &Cell<Instant>, idle: Duration) {
    loop {
        let left = idle.saturating_sub(moved.get().elapsed());
        if left.is_zero() {
            return;
        }
        tokio::time::sleep(left).await;
    }
}
