//! Large files of git (Git LFS) for jobs, by their placeholder: batches are asked of the forge with
//! the runner's token, files go through.
//!
//! A file that comes lies on the disk until its digest is what its address says: the forge takes
//! one that it has somewhere without looking at what is sent.

use std::fs::File;
use std::sync::Arc;

use base64::Engine as _;
use bytes::Bytes;
use forge_core::Forge;
use http_clients::http::{HttpClient, Method};
use runner_core::gateway::{
    LARGE_FILES_TYPE, LargeFile, LargeFileBatch, LargeFileCall, LockCall, decide_large_files,
    is_of_large_files, may_write_large_files,
};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tokio::sync::OwnedSemaphorePermit;

use super::JobServices;
use super::forge::{ForgeGrant, GatewayRefusal, refusal};
use super::gateway_request::send;
use super::git::GitFolder;
use super::own_address::ForwardedRequest;
use crate::clock::now_ms;

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
        let forge = self.shared.forge.as_ref();
        // GitHub keeps them elsewhere.
        is_of_large_files(path) && forge.is_some_and(|forge| forge.kind() != Forge::GitHub)
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
            LargeFileCall::Read(oid) => {
                let turn = Arc::clone(&grant.packages_at_once).acquire_owned().await;
                Ok(LargeFileTurn::Read(passage(oid, turn.map_err(ended)?)))
            }
            LargeFileCall::Write(file) => {
                let most = forge.git.as_ref().map_or(0, |git| git.max_pack);
                if file.size > most {
                    let text = format!(
                        "the file has {} bytes, and what a job pushes at most {most} (`[checkouts] fetch`)",
                        file.size
                    );
                    return Err(refusal(413, text));
                }
                let turn = Arc::clone(&grant.git_at_once).acquire_owned().await;
                let turn = turn.map_err(ended)?;
                let folder = GitFolder::new(&self.shared.folder);
                let folder =
                    folder.map_err(|_| refusal(507, "the runner has no place for the file"))?;
                let passage = passage(format!("{}/{}", file.oid, file.size), turn);
                Ok(LargeFileTurn::Write(file, folder, passage))
            }
        }
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

fn digest_of(folder: &GitFolder) -> std::io::Result<(String, u64)> {
    let mut file = File::open(folder.body())?;
    let mut hash = Sha256::new();
    let bytes = std::io::copy(&mut file, &mut hash)?;
    Ok((hex::encode(hash.finalize()), bytes))
}
