//! The LFS server of a [`GitForge`](crate::GitForge): batches, and objects that want the header
//! that a batch has named.

use std::io::{BufRead, Error};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// What a batch names, and each object wants.
const KEY: &str = "x-object-key: 0123";

/// The answer where `file`, below a repository's `.git`, is of its LFS server.
pub(crate) fn answer(
    file: &Path,
    headers: &[String],
    body: &mut impl BufRead,
) -> Option<std::io::Result<Vec<u8>>> {
    if file.ends_with("info/lfs/objects/batch") {
        let git = file.ancestors().nth(4)?;
        return Some(batch(git, headers, body));
    }
    let oid = file.file_name()?.to_str()?;
    if !file.parent()?.ends_with("large") {
        return None;
    }
    let git = file.ancestors().nth(2)?;
    if !headers.iter().any(|header| header == KEY) {
        return Some(Err(Error::other("no key")));
    }
    Some(std::fs::read(object(git, oid)))
}

fn object(git: &Path, oid: &str) -> PathBuf {
    let (first, second) = (&oid[..2], &oid[2..4]);
    git.join("lfs/objects").join(first).join(second).join(oid)
}

fn batch(git: &Path, headers: &[String], body: &mut impl BufRead) -> std::io::Result<Vec<u8>> {
    let value = |name: &str| headers.iter().find_map(|header| header.strip_prefix(name));
    let length = value("content-length: ").and_then(|length| length.parse().ok());
    let mut text = vec![0; length.unwrap_or(0)];
    body.read_exact(&mut text)?;
    let asked: Value = serde_json::from_slice(&text)?;
    if asked["operation"] != "download" || value("accept: ") != Some("application/vnd.git-lfs+json")
    {
        return Err(Error::other("no batch of downloads"));
    }
    let host = value("host: ").unwrap_or_default();
    let name = git.parent().map(Path::to_owned).unwrap_or_default();
    let mut parts = name
        .components()
        .rev()
        .map(|part| part.as_os_str().to_string_lossy());
    let name = (
        parts.next().unwrap_or_default(),
        parts.next().unwrap_or_default(),
    );
    let objects = asked["objects"].as_array().cloned().unwrap_or_default();
    let objects = objects.into_iter().map(|asked| {
        let oid = asked["oid"].as_str().unwrap_or_default();
        if oid.len() == 64 && object(git, oid).exists() {
            let href = format!("http://{host}/{}/{}.git/large/{oid}", name.1, name.0);
            let header = json!({"X-Object-Key": "0123"});
            let download = json!({"href": href, "header": header, "expires_in": 60});
            json!({"oid": oid, "size": asked["size"], "actions": {"download": download}})
        } else {
            let error = json!({"code": 404, "message": "Object does not exist"});
            json!({"oid": oid, "size": asked["size"], "error": error})
        }
    });
    let objects: Vec<Value> = objects.collect();
    Ok(json!({"transfer": "basic", "objects": objects})
        .to_string()
        .into_bytes())
}
