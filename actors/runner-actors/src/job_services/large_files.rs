//! Large files of git (Git LFS) for jobs, by their placeholder: batches are asked of the forge with
//! the runner's token, files go through.
//!
//! A file that comes lies on the disk until its digest is what its address says: the forge takes
//! one that it has somewhere without looking at what is sent. One of GitHub, which keeps them at
//! other hosts, lies there on its way to the job as well.

use std::fs::File;
use std::io::BufWriter;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use bytes::Bytes;
use forge_core::Forge;
use futures_util::Stream;
use http_clients::http::{HttpClient, Method};
use http_clients::lfs::{LfsClient, LfsError, LfsObject};
use runner_core::gateway::{
    LARGE_FILES_TYPE, LargeFile, LargeFileBatch, LargeFileCall, LockCall, decide_large_files,
    is_of_large_files, may_write_large_files, page_base,
};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tokio::sync::OwnedSemaphorePermit;
use url::Url;

use super::JobServices;
use super::forge::{ForgeGrant, GatewayRefusal, refusal};
use super::gateway_request::send;
use super::git::GitFolder;
use super::own_address::ForwardedRequest;
use crate::clock::now_ms;
use crate::lfs_fetcher::LfsFetcher;

/// Longest time to bring a file to where GitHub keeps it, were it small, and the bytes that have a
/// second more.
const LEAST_TIME: Duration = Duration::from_secs(900);
const SLOWEST: u64 = 256 << 10;

/// A request of Git LFS that a job may make.
pub enum LargeFileTurn {
    /// Where files are; what is asked comes with it.
    Batch,
    /// Of its locks; what is asked comes with it.
    Locks(LockCall),
    /// A file is read.
    Read(ForwardedRequest),
    /// A file comes, which is checked in this folder before it is passed on.
    Write(LargeFile, GitFolder, ForwardedRequest),
    /// A file is read from where GitHub keeps it, by way of this folder.
    Fetch(LargeFile, GitFolder, OwnedSemaphorePermit),
    /// A file comes, which is checked in this folder before it is brought to where GitHub keeps it.
    Store(LargeFile, GitFolder, OwnedSemaphorePermit),
}

/// What the forge is asked of large files.
struct LargeQuestion {
    method: Method,
    /// Behind `info/lfs/`.
    what: String,
    query: Vec<(String, String)>,
    body: Option<Value>,
}

impl JobServices {
    /// Whether a path, behind the address of repositories, is of large files that go through here.
    #[must_use]
    pub fn has_large_files(&self, path: &str) -> bool {
        is_of_large_files(path) && self.shared.forge.is_some()
    }

    /// Decides on a request of Git LFS.
    ///
    /// # Errors
    /// Why it is not served.
    pub async fn large_file_turn(
        &self,
        token: &str,
        method: &str,
        path: &str,
    ) -> Result<LargeFileTurn, GatewayRefusal> {
        let grant = self.forge_grant(token)?;
        let forge = self.shared.forge.as_ref();
        let forge = forge.ok_or_else(|| refusal(404, "git is not served here"))?;
        let may = &grant.may;
        let call = decide_large_files((method, path), &may.repository, &may.permissions);
        let call = call.map_err(|refused| refusal(403, refused.to_string()))?;
        let ended = |_| refusal(503, "the job ends");
        let passage = |rest: String, turn: OwnedSemaphorePermit| {
            let path = format!("/{}.git/info/lfs/objects/{rest}", may.repository);
            forge.file_passage(&path, None, turn)
        };
        match call {
            LargeFileCall::Batch => {
                grant.count(now_ms())?;
                Ok(LargeFileTurn::Batch)
            }
            LargeFileCall::Locks(call) => {
                grant.count(now_ms())?;
                Ok(LargeFileTurn::Locks(call))
            }
            LargeFileCall::Read(oid, size) if forge.kind() == Forge::GitHub => {
                let Some(size) = size.filter(|_| method == "GET") else {
                    let text = "large files are read at the addresses that batches give";
                    return Err(refusal(404, text));
                };
                let file = LargeFile { oid, size };
                let (folder, turn) = self.place_for(&file, &grant).await?;
                Ok(LargeFileTurn::Fetch(file, folder, turn))
            }
            LargeFileCall::Read(oid, _) => {
                let turn = Arc::clone(&grant.packages_at_once).acquire_owned().await;
                Ok(LargeFileTurn::Read(passage(oid, turn.map_err(ended)?)))
            }
            LargeFileCall::Write(file) => {
                let (folder, turn) = self.place_for(&file, &grant).await?;
                Ok(match forge.kind() {
                    Forge::GitHub => LargeFileTurn::Store(file, folder, turn),
                    Forge::Gitea | Forge::Forgejo => {
                        let passage = passage(format!("{}/{}", file.oid, file.size), turn);
                        LargeFileTurn::Write(file, folder, passage)
                    }
                })
            }
        }
    }

    /// Where a file lies on its way, once it is the job's turn.
    async fn place_for(
        &self,
        file: &LargeFile,
        grant: &ForgeGrant,
    ) -> Result<(GitFolder, OwnedSemaphorePermit), GatewayRefusal> {
        let git = self.shared.forge.as_ref().and_then(|it| it.git.as_ref());
        let most = git.map_or(0, |git| git.max_pack);
        if file.size > most {
            let text = format!(
                "the file has {} bytes, and what a job moves at most {most} (`[checkouts] fetch`)",
                file.size
            );
            return Err(refusal(413, text));
        }
        let turn = Arc::clone(&grant.git_at_once).acquire_owned().await;
        let turn = turn.map_err(|_| refusal(503, "the job ends"))?;
        let folder = GitFolder::new(&self.shared.folder);
        let folder = folder.map_err(|_| refusal(507, "the runner has no place for the file"))?;
        Ok((folder, turn))
    }

    /// Reads a file into its folder from where GitHub keeps it.
    ///
    /// # Errors
    /// It is not there, or is another one.
    pub async fn fetch_large_file(
        &self,
        token: &str,
        (file, folder): (&LargeFile, &GitFolder),
    ) -> Result<(), GatewayRefusal> {
        let grant = self.forge_grant(token)?;
        let (client, object) = (self.large_file_client(&grant)?, object(file));
        let failed = |error: LfsError| not_moved(&grant, &error);
        let located = client.locate(std::slice::from_ref(&object), None).await;
        let located = located.map_err(failed)?;
        let unwritten = |error| not_moved(&grant, &LfsError::Write(error));
        for download in &located {
            let file = File::create(folder.body()).map_err(unwritten)?;
            let mut to = BufWriter::with_capacity(1 << 20, file);
            client.download(download, &mut to).await.map_err(failed)?;
        }
        Ok(())
    }

    /// Brings a file, which is known to be the one that it is called, to where GitHub keeps it.
    ///
    /// # Errors
    /// It is not taken.
    pub async fn store_large_file(
        &self,
        token: &str,
        file: &LargeFile,
        content: impl Stream<Item = std::io::Result<Bytes>> + 'static,
    ) -> Result<(), GatewayRefusal> {
        let grant = self.forge_grant(token)?;
        let client = self.large_file_client(&grant)?;
        let within = LEAST_TIME.saturating_add(Duration::from_secs(file.size / SLOWEST));
        let stored = client.upload(&object(file), content, within).await;
        stored.map_err(|error| not_moved(&grant, &error))
    }

    /// The server of the repository's large files, with the runner's token.
    fn large_file_client(&self, grant: &ForgeGrant) -> Result<LfsClient, GatewayRefusal> {
        let forge = self.shared.forge.as_ref();
        let git = forge.and_then(|forge| forge.git.as_ref());
        let (Some(forge), Some(git)) = (forge, git) else {
            return Err(refusal(404, "git is not served here"));
        };
        let base = page_base(forge.base().as_str());
        let url = format!("{base}/{}.git/info/lfs", grant.may.repository);
        let LfsFetcher { http, plain } = git.repositories.lfs_fetcher(&url);
        let url = Url::parse(&url);
        let url = url.map_err(|_| refusal(404, "there is no such repository"))?;
        let credentials = Some(("x-access-token", forge.token()));
        Ok(LfsClient::new(http, url, credentials, plain))
    }

    /// Answers a batch: files are read and written below `at` (`…/info/lfs`).
    ///
    /// # Errors
    /// It cannot be read, or the forge gives no answer.
    pub async fn large_file_batch(
        &self,
        http: &HttpClient,
        token: &str,
        (body, at): (&[u8], &str),
    ) -> Result<Value, GatewayRefusal> {
        let grant = self.forge_grant(token)?;
        let batch = LargeFileBatch::parse(body);
        let batch = batch.map_err(|refused| refusal(422, refused.to_string()))?;
        let may = &grant.may;
        if batch.writes {
            let allowed = may_write_large_files(&may.repository, &may.permissions);
            allowed.map_err(|refused| refusal(403, refused.to_string()))?;
        }
        let asked = LargeQuestion {
            method: Method::Post,
            what: "objects/batch".to_owned(),
            query: Vec::new(),
            body: Some(batch.question()),
        };
        let (_, answer) = self.ask_large(http, &grant, asked).await?;
        let pair = base64::engine::general_purpose::STANDARD.encode(format!("x:{token}"));
        Ok(batch.answer(&answer, at, &format!("Basic {pair}")))
    }

    /// What the forge says of locks to the runner's account, with its status.
    ///
    /// # Errors
    /// What is asked is not done, or the forge gives no answer.
    pub async fn large_file_locks(
        &self,
        http: &HttpClient,
        token: &str,
        (call, query, body): (&LockCall, &str, Bytes),
    ) -> Result<(u16, Value), GatewayRefusal> {
        let grant = self.forge_grant(token)?;
        let body = call.body(&body);
        let body = body.map_err(|refused| refusal(403, refused.to_string()))?;
        let (method, what) = call.request();
        let asked = LargeQuestion {
            method: if method == "GET" {
                Method::Get
            } else {
                Method::Post
            },
            what,
            query: call.query(query),
            body,
        };
        self.ask_large(http, &grant, asked).await
    }

    async fn ask_large(
        &self,
        http: &HttpClient,
        grant: &ForgeGrant,
        asked: LargeQuestion,
    ) -> Result<(u16, Value), GatewayRefusal> {
        let forge = self.shared.forge.as_ref();
        let forge = forge.ok_or_else(|| refusal(404, "git is not served here"))?;
        let LargeQuestion {
            method,
            what,
            query,
            body,
        } = asked;
        let mut path = format!("/{}.git/info/lfs/{what}", grant.may.repository);
        if !query.is_empty() {
            let mut pairs = url::form_urlencoded::Serializer::new(String::new());
            path = format!("{path}?{}", pairs.extend_pairs(query).finish());
        }
        let request = forge.file_request(method, &path);
        let request = request.ok_or_else(|| refusal(404, "there is no such repository"))?;
        let mut request = request.header("accept", LARGE_FILES_TYPE);
        if let Some(body) = body {
            let typed = request.header("content-type", LARGE_FILES_TYPE);
            request = typed.body(body.to_string());
        }
        let answer = send(http, request).await?;
        let has_token = forge.guard().finds(answer.text().as_bytes());
        let read = answer.json::<Value>().ok();
        // What it says of objects is read, and not passed on.
        let of_objects = what.starts_with("objects/");
        let is_shown = of_objects || !has_token;
        // Who holds a lock is said by a conflict.
        let is_answer = answer.is_success() || !of_objects && matches!(answer.status, 403 | 409);
        match read.filter(|_| is_answer && is_shown) {
            Some(read) => Ok((answer.status, read)),
            // Programs know by these that there are none.
            None if matches!(answer.status, 404 | 501) => Err(refusal(
                answer.status,
                "the forge serves no large files of this repository",
            )),
            None => Err(refusal(
                502,
                format!("the forge answers {} of large files", answer.status),
            )),
        }
    }

    /// Whether the file that has come is the one that its address names. Blocks.
    ///
    /// # Errors
    /// It is another one.
    pub fn check_large_file(
        &self,
        folder: &GitFolder,
        expected: &LargeFile,
    ) -> Result<(), GatewayRefusal> {
        let digest = digest_of(folder);
        let digest = digest.map_err(|_| refusal(500, "the file cannot be read"))?;
        match digest == (expected.oid.clone(), expected.size) {
            true => Ok(()),
            false => Err(refusal(
                422,
                "the file is not the one that its address names",
            )),
        }
    }
}

fn object(file: &LargeFile) -> LfsObject {
    LfsObject {
        oid: file.oid.clone(),
        size: file.size,
    }
}

/// What is said to a job: addresses of objects are signed, and stay in the runner's log.
fn not_moved(grant: &ForgeGrant, error: &LfsError) -> GatewayRefusal {
    let repository = &grant.may.repository;
    tracing::warn!(event = "run.large_file_unmoved", repository, %error, "a large file of a job is not moved");
    match error {
        LfsError::Missing { .. } => refusal(404, "the forge does not give the file"),
        LfsError::Write(_) => refusal(507, "the runner has no place for the file"),
        _ => refusal(
            502,
            "the forge does not give or take the file; see the runner's log",
        ),
    }
}

fn digest_of(folder: &GitFolder) -> std::io::Result<(String, u64)> {
    let mut file = File::open(folder.body())?;
    let mut hash = Sha256::new();
    let bytes = std::io::copy(&mut file, &mut hash)?;
    Ok((hex::encode(hash.finalize()), bytes))
}
