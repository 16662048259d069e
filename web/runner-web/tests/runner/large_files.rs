//! Large files of git (Git LFS), and files at the forge's address for people, with the token of a
//! job: by the real client, at the forge's own address.

use std::collections::HashMap;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, OnceLock};

use serde_json::{Value, json};

use crate::gateway::has;
use crate::harness::TOKEN;
use crate::own_address::{head_of, stage};

/// A forge of large files and downloads: what it has, and what it was asked.
#[derive(Default)]
struct Kept {
    objects: Mutex<HashMap<String, Vec<u8>>>,
    locks: Mutex<Vec<Value>>,
    asked: Mutex<Vec<String>>,
}

fn forge() -> (SocketAddr, Arc<Kept>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let kept = Arc::new(Kept::default());
    let known = Arc::clone(&kept);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let known = Arc::clone(&known);
            std::thread::spawn(move || while serve(&stream, &known).is_some() {});
        }
    });
    (address, kept)
}

/// What the runner shows.
fn expected() -> String {
    use base64::Engine as _;
    let pair = format!("x-access-token:{TOKEN}");
    let pair = base64::engine::general_purpose::STANDARD.encode(pair);
    format!("Basic {pair}")
}

/// As Gitea answers: a batch's header is that of who asks, and a batch to upload links what is
/// there already.
fn serve(mut stream: &TcpStream, kept: &Kept) -> Option<()> {
    let head = head_of(&mut stream.try_clone().ok()?)?;
    let field = |wanted: &str| {
        let mut lines = head.lines();
        lines.find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case(wanted)
                .then(|| value.trim().to_owned())
        })
    };
    let length = field("content-length").and_then(|it| it.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut body).ok()?;
    let mut words = head.split(' ');
    let (method, path) = (words.next()?, words.next()?);
    let authorization = field("authorization").unwrap_or_default();
    let is_runner = authorization == expected() || authorization == format!("token {TOKEN}");
    let shown = if is_runner { "runner" } else { "anybody" };
    kept.asked
        .lock()
        .unwrap()
        .push(format!("{method} {path} {shown}"));
    let (status, answer) = match answered(method, path, &body, &authorization, kept) {
        Some(answer) if is_runner => (200, answer),
        _ => (404, format!("a page of runner, csrf {TOKEN}").into_bytes()),
    };
    let head = format!(
        "HTTP/1.1 {status} X\r\nContent-Length: {}\r\nSet-Cookie: i_like_gitea=session\r\n\r\n",
        answer.len()
    );
    stream.write_all(head.as_bytes()).ok()?;
    stream.write_all(&answer).ok()
}

fn answered(
    method: &str,
    path: &str,
    body: &[u8],
    authorization: &str,
    kept: &Kept,
) -> Option<Vec<u8>> {
    let mut objects = kept.objects.lock().unwrap();
    if let Some(rest) = path.strip_prefix("/acme/rocket.git/info/lfs/") {
        let parts: Vec<&str> = rest.split('/').collect();
        return match (method, parts.as_slice()) {
            ("POST", ["objects", "batch"]) => {
                let asked: Value = serde_json::from_slice(body).ok()?;
                assert_eq!(asked["operation"], "download", "nothing is linked");
                let each = asked["objects"].as_array()?.iter().map(|one| {
                    let oid = one["oid"].as_str().unwrap_or_default();
                    match objects.contains_key(oid) {
                        true => json!({"oid": oid, "size": one["size"], "actions": {"download": {
                            "href": format!("http://elsewhere.example/{oid}"),
                            "header": {"Authorization": authorization},
                        }}}),
                        false => json!({"oid": oid, "error": {"code": 404}}),
                    }
                });
                let each: Vec<Value> = each.collect();
                Some(
                    json!({"transfer": "basic", "objects": each})
                        .to_string()
                        .into_bytes(),
                )
            }
            ("POST", ["locks", "verify"]) => Some(br#"{"ours": [], "theirs": []}"#.to_vec()),
            ("GET", [rest]) if rest.starts_with("locks") => {
                let locks = kept.locks.lock().unwrap();
                Some(json!({"locks": *locks}).to_string().into_bytes())
            }
            ("POST", ["locks"]) => {
                let asked: Value = serde_json::from_slice(body).ok()?;
                let lock = json!({
                    "id": "7", "path": asked["path"], "locked_at": "2026-11-30T10:00:00Z",
                    "owner": {"name": "runner"},
                });
                kept.locks.lock().unwrap().push(lock.clone());
                Some(json!({"lock": lock}).to_string().into_bytes())
            }
            ("POST", ["locks", "7", "unlock"]) => {
                let lock = kept.locks.lock().unwrap().pop();
                Some(json!({"lock": lock}).to_string().into_bytes())
            }
            ("GET", ["objects", oid]) => objects.get(*oid).cloned(),
            ("PUT", ["objects", oid, size]) => {
                assert_eq!(size.parse(), Ok(body.len()));
                objects.insert((*oid).to_owned(), body.to_vec());
                Some(Vec::new())
            }
            _ => None,
        };
    }
    let text = match path {
        "/acme/rocket/releases/download/v1/a.txt" => "of a release",
        "/acme/rocket/releases/download/draft/a.txt" => "of a draft",
        "/api/v1/repos/acme/rocket/releases/tags/v1" => r#"{"draft": false}"#,
        "/api/v1/repos/acme/rocket/releases/tags/draft" => r#"{"draft": true}"#,
        "/acme/rocket/archive/main.tar.gz" => "an archive",
        "/acme/rocket/raw/branch/main/a.txt" => "a file",
        _ => return None,
    };
    Some(text.as_bytes().to_vec())
}

static LARGE: OnceLock<SocketAddr> = OnceLock::new();

#[test]
fn i17_large_files_are_pushed_and_pulled_with_the_token_of_the_job() {
    let (address, kept) = forge();
    LARGE.set(address).unwrap();
    let stage = stage(|settings| {
        let address = LARGE.get().expect("set before");
        settings.forge_url = format!("http://{address}").parse().ok();
    });
    let said = stage.run(
        "permissions: {contents: write}",
        r#"git clone -q https://x:$TOKEN@forge.example/acme/rocket.git c; cd c
git lfs install --local > /dev/null; git lfs track '*.bin' > /dev/null
head -c 3000000 /dev/urandom > big.bin; sum=$(sha256sum < big.bin | cut -c 1-64)
git add .; git commit -qm large; git push -q origin HEAD:refs/heads/large 2>&1 && echo "pushed it"
git commit -q --allow-empty -m again; git push origin HEAD:refs/heads/again 2>&1 | grep -c Uploading
cd ..; GIT_LFS_SKIP_SMUDGE=1 git clone -q -b large https://x:$TOKEN@forge.example/acme/rocket.git d; cd d
git lfs install --local > /dev/null; head -n 1 big.bin; git lfs pull 2>&1 | tail -n 3
[ "$(sha256sum < big.bin | cut -c 1-64)" = "$sum" ] && echo "same file"
cd ..; lfs=$forge/acme/rocket.git/info/lfs own="x:$TOKEN"
tried other -u "$own" -T c/.gitattributes $lfs/objects/$sum/3000000
tried wrong -u "$own" -T c/.gitattributes $lfs/objects/$sum/$(stat -c %s c/.gitattributes)
tried batch -u "$own" --json "{\"operation\": \"upload\", \"objects\": [{\"oid\": \"$sum\", \"size\": 3000000}]}" $lfs/objects/batch
tried read -u "$own" --json "{\"operation\": \"download\", \"objects\": [{\"oid\": \"$sum\", \"size\": 3000000}]}" $lfs/objects/batch
tried unlock -u "$own" --json '{"force": true}' $lfs/locks/7/unlock
(cd d && git lfs lock big.bin 2>&1; git lfs locks 2>&1; git lfs unlock big.bin 2>&1; git lfs locks 2>&1 | wc -l)
tried secret -u "$own" --json '{"operation": "download", "objects": []}' $forge/acme/secret.git/info/lfs/objects/batch
tried range -u "$own" -r 0-9 -o out $lfs/objects/$sum"#,
    );
    for line in [
        "pushed it",
        "0",
        "version https://git-lfs.github.com/spec/v1",
        "same file",
        "other: 422",
        "wrong: 422 {\"message\":\"the file is not the one that its address names\"}",
        "batch: 200 {\"hash_algo\":\"sha256\",\"objects\":[{\"oid\":",
        "read: 200 {\"hash_algo\":\"sha256\",\"objects\":[{\"actions\":{\"download\":{\"header\":{\"Authorization\":",
        "unlock: 403 {\"message\":\"the token of a job breaks no lock of another",
        "Locked big.bin",
        "big.bin\trunner\tID:7",
        "Unlocked big.bin",
        "secret: 403",
        "range: 200",
    ] {
        has(&said, line);
    }
    let all = said.join("\n");
    assert!(!all.contains(TOKEN) && !all.contains("elsewhere"), "{all}");
    assert_eq!(kept.objects.lock().unwrap().len(), 1);
    let asked = kept.asked.lock().unwrap();
    let puts = asked.iter().filter(|it| it.starts_with("PUT ")).count();
    assert_eq!(puts, 1, "{asked:#?}");
}

static READ: OnceLock<SocketAddr> = OnceLock::new();

#[test]
fn i17_private_files_are_read_at_the_forges_own_address() {
    let (address, kept) = forge();
    READ.set(address).unwrap();
    let a = "a".repeat(64);
    kept.objects
        .lock()
        .unwrap()
        .insert(a.clone(), b"large".to_vec());
    let stage = stage(|settings| {
        let address = READ.get().expect("set before");
        settings.forge_url = format!("http://{address}").parse().ok();
    });
    let script = format!(
        r#"own="Authorization: token $TOKEN" at=$forge/acme/rocket
tried release -H "$own" $at/releases/download/v1/a.txt
tried draft -H "$own" $at/releases/download/draft/a.txt
tried archive -D head -u "x:$TOKEN" $at/archive/main.tar.gz; grep -ci '^set-cookie' head
tried raw -H "Authorization: Bearer $TOKEN" "$at/raw/branch/main/a.txt?token=$TOKEN"
tried gone -H "$own" $at/raw/branch/main/b.txt
tried dots --path-as-is -H "$own" $at/archive/../../secret/archive/main.zip
tried escaped --path-as-is -H "$own" $at/archive/..%2f..%2fsecret
tried sudo -H "$own" "$at/archive/main.tar.gz?sudo=root"
tried other -H "$own" $forge/acme/secret/archive/main.zip
tried post -H "$own" -X POST -d x $at/archive/main.tar.gz
tried large -u "x:$TOKEN" $at.git/info/lfs/objects/{a}
tried upload -u "x:$TOKEN" -T head $at.git/info/lfs/objects/{a}/5
tried batch -u "x:$TOKEN" --json '{{"operation": "upload", "objects": []}}' $at.git/info/lfs/objects/batch
tried unknown -u x:y $at.git/info/lfs/objects/{a}
tried asked $at.git/info/lfs/objects/{a}"#
    );
    let said = stage.run("permissions: {contents: read}", &script);
    for line in [
        "release: 200 of a release",
        "draft: 404 Not Found",
        "archive: 200 an archive",
        "0",
        "raw: 200 a file",
        "gone: 404 the forge does not give or take the file (status 404)",
        "dots: 403",
        "escaped: 403",
        "sudo: 403",
        "other: 403",
        "post: 403",
        "large: 200 large",
        "upload: 403 {\"message\":\"Permission to acme/rocket denied",
        "batch: 403",
        "unknown: 403",
        "asked: 401",
    ] {
        has(&said, line);
    }
    let all = said.join("\n");
    assert!(!all.contains(TOKEN) && !all.contains("csrf"), "{all}");
    let asked = kept.asked.lock().unwrap();
    let other = asked
        .iter()
        .find(|it| it.contains("secret") || it.contains("token="));
    assert_eq!(other, None, "{asked:#?}");
    let draft = "GET /acme/rocket/releases/download/draft/a.txt runner";
    assert!(!asked.iter().any(|it| it == draft), "{asked:#?}");
    drop(asked);
    // Who may write sees what is not published.
    let said = stage.run(
        "permissions: {contents: write}",
        r#"tried draft -H "Authorization: token $TOKEN" $forge/acme/rocket/releases/download/draft/a.txt"#,
    );
    has(&said, "draft: 200 of a draft");
}
