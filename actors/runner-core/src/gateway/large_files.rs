//! Large files of git (Git LFS) with the token of a job: those of its own repository.
//!
//! ```text
//! git lfs push ─▶ …/info/lfs/objects/batch ─▶ which of them does the forge have? (a reading batch)
//!                 PUT …/info/lfs/objects/OID/SIZE ─▶ the whole file, its digest checked ─▶ forge
//! git lfs pull ─▶ …/info/lfs/objects/batch ─▶ GET …/info/lfs/objects/OID/SIZE ─▶ forge
//! ```
//! GitHub keeps files at other hosts, which its batches name: the runner reads them from there, and
//! brings them there, when the job asks for the file itself.
//!
//! The forge is never asked to take an object that somebody names by its digest alone: it would
//! link one of any repository that the runner's account may read.
//!
//! Source: "Git LFS API" (batch, locks) and "Basic Transfer API" of the Git LFS specification.

use std::collections::HashSet;

use config_core::quoted;
use serde::Deserialize;
use serde_json::{Value, json};

use super::refusal::{CallRefusal, refuse};
use crate::workflow::{PermissionLevel, Permissions};

/// The media type of its requests and answers.
pub const LARGE_FILES_TYPE: &str = "application/vnd.git-lfs+json";
/// Most objects of one batch; clients ask for a hundred.
const MAX_OBJECTS: usize = 1_000;
const OF_LARGE_FILES: &str = "info/lfs/";

/// A large file.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct LargeFile {
    /// Its SHA-256, in hexadecimal.
    pub oid: String,
    /// Its size, in bytes.
    pub size: u64,
}

/// What a client of Git LFS asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LargeFileCall {
    /// Where files are read and written.
    Batch,
    /// A file, by its digest, and its size where the address says it.
    Read(String, Option<u64>),
    /// A file comes.
    Write(LargeFile),
    /// Of its locks.
    Locks(LockCall),
}

/// A call of its locks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LockCall {
    /// Which files others have locked: asked before a push.
    Verify,
    /// Which are locked.
    List,
    /// A file is locked, in the name of the runner's account.
    Make,
    /// A lock of that account is given up, by its number.
    Unlock(String),
}

/// Whether a path, behind the address of repositories, is of large files.
#[must_use]
pub fn is_of_large_files(path: &str) -> bool {
    let mut parts = path.trim_start_matches('/').splitn(3, '/').skip(2);
    parts
        .next()
        .is_some_and(|rest| rest.starts_with(OF_LARGE_FILES))
}

/// Decides on a request of Git LFS; `path` stands behind the address of repositories, as it came.
///
/// # Errors
/// What is missing, or why nobody's token does this.
pub fn decide_large_files(
    (method, path): (&str, &str),
    repository: &str,
    permissions: &Permissions,
) -> Result<LargeFileCall, CallRefusal> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./".contains(&byte);
    let parts: Vec<&str> = path.strip_prefix('/').unwrap_or(path).split('/').collect();
    let is_odd = |part: &&str| matches!(*part, "" | "." | ".." | ".git");
    let [owner, name, "info", "lfs", rest @ ..] = parts.as_slice() else {
        return refuse("the address of the repository cannot be read");
    };
    if path.len() > 1024 || !path.bytes().all(plain) || parts.iter().any(is_odd) {
        return refuse("the address of the repository cannot be read");
    }
    let asked = format!("{owner}/{}", name.strip_suffix(".git").unwrap_or(name));
    if !asked.eq_ignore_ascii_case(repository) {
        return refuse(format!(
            "the token of the job is of {repository}, not of {}",
            quoted(&asked)
        ));
    }
    let size_of = |size: &str| {
        let wrong = CallRefusal("the size of the file cannot be read".to_owned());
        size.parse::<u64>().map_err(|_| wrong)
    };
    let read = (PermissionLevel::Read, "read");
    let write = (PermissionLevel::Write, "write");
    let (call, (level, word)) = match (method, rest) {
        ("POST", ["objects", "batch"]) => (LargeFileCall::Batch, read),
        ("POST", ["locks", "verify"]) => (LargeFileCall::Locks(LockCall::Verify), write),
        ("GET", ["locks"]) => (LargeFileCall::Locks(LockCall::List), read),
        ("POST", ["locks"]) => (LargeFileCall::Locks(LockCall::Make), write),
        ("POST", ["locks", id, "unlock"]) => {
            let call = LockCall::Unlock((*id).to_owned());
            (LargeFileCall::Locks(call), write)
        }
        ("GET" | "HEAD", ["objects", oid]) if is_digest(oid) => {
            (LargeFileCall::Read((*oid).to_owned(), None), read)
        }
        ("GET" | "HEAD", ["objects", oid, size]) if is_digest(oid) => {
            let size = size_of(size)?;
            (LargeFileCall::Read((*oid).to_owned(), Some(size)), read)
        }
        ("PUT", ["objects", oid, size]) if is_digest(oid) => {
            let (oid, size) = ((*oid).to_owned(), size_of(size)?);
            (LargeFileCall::Write(LargeFile { oid, size }), write)
        }
        _ => {
            return refuse(format!(
                "{method} of {} is nothing that the token of a job may do: it reads, writes and locks large files",
                quoted(&rest.join("/"))
            ));
        }
    };
    allowed(repository, permissions, level, word).map(|()| call)
}

impl LockCall {
    /// How the forge is asked: the method, and the path behind `info/lfs/`.
    #[must_use]
    pub fn request(&self) -> (&'static str, String) {
        match self {
            Self::Verify => ("POST", "locks/verify".to_owned()),
            Self::List => ("GET", "locks".to_owned()),
            Self::Make => ("POST", "locks".to_owned()),
            Self::Unlock(id) => ("POST", format!("locks/{id}/unlock")),
        }
    }

    /// What the forge is told of what a client says.
    ///
    /// # Errors
    /// It cannot be read, or would break a lock of another.
    pub fn body(&self, said: &[u8]) -> Result<Option<Value>, CallRefusal> {
        let names: &[&str] = match self {
            Self::List => return Ok(None),
            Self::Verify => &["ref", "cursor", "limit"],
            Self::Make => &["path", "ref"],
            Self::Unlock(_) => &["ref"],
        };
        let said: Value = serde_json::from_slice(said)
            .map_err(|error| CallRefusal(format!("what is asked cannot be read: {error}")))?;
        if said["force"] == true {
            return refuse("the token of a job breaks no lock of another");
        }
        let named = names.iter().filter(|name| said.get(name).is_some());
        let told = named.map(|name| ((*name).to_owned(), said[name].clone()));
        Ok(Some(Value::Object(told.collect())))
    }

    /// What of a query the forge is asked.
    #[must_use]
    pub fn query(&self, asked: &str) -> Vec<(String, String)> {
        let names = ["path", "id", "cursor", "limit", "refspec"];
        match self {
            Self::List => url::form_urlencoded::parse(asked.as_bytes())
                .filter(|(name, _)| names.contains(&&**name))
                .map(|(name, value)| (name.into_owned(), value.into_owned()))
                .collect(),
            _ => Vec::new(),
        }
    }
}

/// Whether a job may write large files.
///
/// # Errors
/// What is missing.
pub fn may_write_large_files(
    repository: &str,
    permissions: &Permissions,
) -> Result<(), CallRefusal> {
    allowed(repository, permissions, PermissionLevel::Write, "write")
}

fn allowed(
    repository: &str,
    permissions: &Permissions,
    level: PermissionLevel,
    word: &str,
) -> Result<(), CallRefusal> {
    if permissions.allows("contents", level) {
        return Ok(());
    }
    refuse(format!(
        "Permission to {repository} denied to the token of the job: its `permissions` lack `contents: {word}` (pull requests from forks have no more than read; where a workflow names none, `token_permissions` of the runner counts)"
    ))
}

fn is_digest(text: &str) -> bool {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    text.len() == 64 && text.bytes().all(is_digit)
}

/// A client asks where files are read, or written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LargeFileBatch {
    /// It has them, and the forge is to have them.
    pub writes: bool,
    objects: Vec<LargeFile>,
}

#[derive(Deserialize)]
struct AskedBatch {
    operation: String,
    #[serde(default)]
    transfers: Vec<String>,
    #[serde(default)]
    hash_algo: Option<String>,
    objects: Vec<LargeFile>,
}

impl LargeFileBatch {
    /// Reads what a client asks.
    ///
    /// # Errors
    /// It cannot be read, or asks for what is not done.
    pub fn parse(body: &[u8]) -> Result<Self, CallRefusal> {
        let asked: AskedBatch = serde_json::from_slice(body)
            .map_err(|error| CallRefusal(format!("the batch cannot be read: {error}")))?;
        let writes = match asked.operation.as_str() {
            "download" => false,
            "upload" => true,
            other => return refuse(format!("a batch has no operation {}", quoted(other))),
        };
        let takes_basic =
            asked.transfers.is_empty() || asked.transfers.iter().any(|one| one == "basic");
        if !takes_basic || asked.hash_algo.is_some_and(|name| name != "sha256") {
            return refuse("large files go by the basic transfer, and by their SHA-256");
        }
        if asked.objects.len() > MAX_OBJECTS {
            return refuse(format!("a batch has at most {MAX_OBJECTS} objects"));
        }
        if let Some(wrong) = asked.objects.iter().find(|one| !is_digest(&one.oid)) {
            return refuse(format!("{} is no SHA-256", quoted(&wrong.oid)));
        }
        Ok(Self {
            writes,
            objects: asked.objects,
        })
    }

    /// What the forge is asked: where it would give these, whatever the client wants of them.
    #[must_use]
    pub fn question(&self) -> Value {
        let objects = self.objects.iter();
        let objects = objects.map(|one| json!({"oid": one.oid, "size": one.size}));
        json!({
            "operation": "download",
            "transfers": ["basic"],
            "objects": objects.collect::<Vec<_>>(),
            "hash_algo": "sha256",
        })
    }

    /// What the client is told, by the forge's answer: files are read and written below `at`
    /// (`…/info/lfs`), with this header.
    #[must_use]
    pub fn answer(&self, forge: &Value, at: &str, authorization: &str) -> Value {
        let answered = forge["objects"].as_array().into_iter().flatten();
        let given = answered.filter(|one| one["actions"]["download"]["href"].is_string());
        let given: HashSet<&str> = given.filter_map(|one| one["oid"].as_str()).collect();
        let objects = self.objects.iter().map(|one| {
            let LargeFile { oid, size } = one;
            let header = json!({"Authorization": authorization});
            let action = |name: &str, href: String| {
                json!({
                    "oid": oid, "size": size, "authenticated": true,
                    "actions": {name: {"href": href, "header": header}},
                })
            };
            match (self.writes, given.contains(oid.as_str())) {
                (false, true) => action("download", format!("{at}/objects/{oid}/{size}")),
                (true, false) => action("upload", format!("{at}/objects/{oid}/{size}")),
                // The forge has it.
                (true, true) => json!({"oid": oid, "size": size}),
                (false, false) => {
                    let error = json!({"code": 404, "message": "Object does not exist"});
                    json!({"oid": oid, "size": size, "error": error})
                }
            }
        });
        let objects: Vec<Value> = objects.collect();
        json!({"transfer": "basic", "objects": objects, "hash_algo": "sha256"})
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use PermissionLevel::{None, Read, Write};

    fn oid(digit: char) -> String {
        digit.to_string().repeat(64)
    }

    fn ask(call: &str, level: PermissionLevel) -> Result<LargeFileCall, CallRefusal> {
        let (method, path) = call.split_once(' ').unwrap();
        let permissions = Permissions {
            all: Option::None,
            scopes: vec![("contents".to_owned(), level)],
            ..Permissions::default()
        };
        decide_large_files((method, path), "acme/rocket", &permissions)
    }

    #[test]
    fn i17_large_files_of_the_own_repository_need_their_permission() {
        let a = oid('a');
        let file = LargeFile {
            oid: a.clone(),
            size: 7,
        };
        for (call, level, expected) in [
            (
                "POST /acme/rocket.git/info/lfs/objects/batch".to_owned(),
                Read,
                LargeFileCall::Batch,
            ),
            (
                format!("GET /Acme/Rocket/info/lfs/objects/{a}"),
                Read,
                LargeFileCall::Read(a.clone(), Option::None),
            ),
            (
                format!("GET /acme/rocket.git/info/lfs/objects/{a}/7"),
                Read,
                LargeFileCall::Read(a.clone(), Some(7)),
            ),
            (
                format!("PUT /acme/rocket.git/info/lfs/objects/{a}/7"),
                Write,
                LargeFileCall::Write(file),
            ),
            (
                "POST /acme/rocket.git/info/lfs/locks/verify".to_owned(),
                Write,
                LargeFileCall::Locks(LockCall::Verify),
            ),
            (
                "GET /acme/rocket.git/info/lfs/locks".to_owned(),
                Read,
                LargeFileCall::Locks(LockCall::List),
            ),
            (
                "POST /acme/rocket.git/info/lfs/locks".to_owned(),
                Write,
                LargeFileCall::Locks(LockCall::Make),
            ),
            (
                "POST /acme/rocket/info/lfs/locks/17/unlock".to_owned(),
                Write,
                LargeFileCall::Locks(LockCall::Unlock("17".to_owned())),
            ),
        ] {
            assert_eq!(ask(&call, level), Ok(expected), "{call}");
            let less = if level == Write { Read } else { None };
            let refused = ask(&call, less).unwrap_err().to_string();
            assert!(refused.contains("lack `contents: "), "{call}: {refused}");
        }
    }

    #[test]
    fn i17_large_files_of_others_are_not_reached() {
        let a = oid('a');
        for call in [
            format!("GET /acme/other/info/lfs/objects/{a}"),
            format!("GET /acme/rocket.git/../other/info/lfs/objects/{a}"),
            format!("GET /acme/rocket/info/lfs/objects/../objects/{a}"),
            format!("GET /acme/rocket/info/lfs/objects/{}", oid('A')),
            format!("GET /acme/rocket/info/lfs/objects/{a}%2f..%2fx"),
            format!("PUT /acme/rocket/info/lfs/objects/{a}"),
            format!("PUT /acme/rocket/info/lfs/objects/{a}/-1"),
            format!("GET /acme/rocket/info/lfs/objects/{a}/x"),
            format!("DELETE /acme/rocket/info/lfs/objects/{a}"),
            "DELETE /acme/rocket/info/lfs/locks/1".to_owned(),
            "POST /acme/rocket/info/lfs/locks/1/../2/unlock".to_owned(),
            "POST /acme/rocket/info/lfs/locks/1%2f../unlock".to_owned(),
            "POST /acme/rocket/info/lfs/verify".to_owned(),
            "GET /acme/rocket/info/lfs".to_owned(),
        ] {
            assert!(ask(&call, Write).is_err(), "{call}");
        }
        assert!(is_of_large_files("/a/b.git/info/lfs/objects/batch"));
        assert!(!is_of_large_files("/a/b.git/info/refs"));
    }

    #[test]
    fn i17_locks_are_asked_for_by_what_is_known_of_them() {
        let (make, unlock) = (LockCall::Make, LockCall::Unlock("7".to_owned()));
        assert_eq!(unlock.request(), ("POST", "locks/7/unlock".to_owned()));
        let body = |call: &LockCall, said: &str| call.body(said.as_bytes());
        let said = r#"{"path": "a.bin", "ref": {"name": "refs/heads/x"}, "owner": "root"}"#;
        let told = json!({"path": "a.bin", "ref": {"name": "refs/heads/x"}});
        assert_eq!(body(&make, said), Ok(Some(told)));
        assert_eq!(body(&unlock, r#"{"force": false}"#), Ok(Some(json!({}))));
        assert!(body(&unlock, r#"{"force": true}"#).is_err());
        assert!(body(&make, "path").is_err());
        assert_eq!(body(&LockCall::List, ""), Ok(Option::None));
        let asked = "path=a%20b&limit=5&sudo=root";
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let expected = [pair("path", "a b"), pair("limit", "5")];
        assert_eq!(LockCall::List.query(asked), expected);
        assert!(make.query(asked).is_empty());
    }

    #[test]
    fn i17_a_batch_asks_the_forge_for_reading_alone() {
        let (a, b) = (oid('a'), oid('b'));
        let objects = json!([{"oid": a, "size": 1}, {"oid": b, "size": 2}]);
        let forge = json!({"objects": [
            {"oid": a, "actions": {"download": {"href": "https://forge/x", "header": {"Authorization": "Basic of-the-runner"}}}},
            {"oid": b, "error": {"code": 404}},
        ]});
        for (operation, first, second) in [
            (
                "download",
                json!({"download": {"href": format!("at/objects/{a}/1"), "header": {"Authorization": "own"}}}),
                Value::Null,
            ),
            (
                "upload",
                Value::Null,
                json!({"upload": {"href": format!("at/objects/{b}/2"), "header": {"Authorization": "own"}}}),
            ),
        ] {
            let body = json!({"operation": operation, "objects": objects, "ref": {"name": "x"}});
            let batch = LargeFileBatch::parse(body.to_string().as_bytes()).unwrap();
            assert_eq!(batch.writes, operation == "upload");
            let question = batch.question();
            assert_eq!(question["operation"], "download");
            assert_eq!(question["objects"], objects);
            let answer = batch.answer(&forge, "at", "own");
            assert_eq!(answer["objects"][0]["actions"], first, "{operation}");
            assert_eq!(answer["objects"][1]["actions"], second, "{operation}");
            let error = &answer["objects"][1]["error"]["code"];
            let expected = match operation {
                "download" => json!(404),
                _ => Value::Null,
            };
            assert_eq!(*error, expected, "{operation}");
        }
        for wrong in [
            "{}".to_owned(),
            json!({"operation": "verify", "objects": []}).to_string(),
            json!({"operation": "download", "transfers": ["tus"], "objects": []}).to_string(),
            json!({"operation": "download", "hash_algo": "sha512", "objects": []}).to_string(),
            json!({"operation": "download", "objects": [{"oid": "..", "size": 1}]}).to_string(),
        ] {
            assert!(LargeFileBatch::parse(wrong.as_bytes()).is_err(), "{wrong}");
        }
    }
}
