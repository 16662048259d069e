//! Large files of git (Git LFS) with the token of a job, where the forge keeps them at another
//! host, as GitHub does: by the real client, which is led there by nothing.

use std::collections::HashMap;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, OnceLock};

use forge_core::Forge;
use http_clients::http::AddressPolicy;
use runner_actors::RunnerSettings;
use serde_json::{Value, json};

use crate::gateway::has;
use crate::gateway_git::{stage, workflow};
use crate::harness::TOKEN;
use crate::own_address::head_of;

/// What is at both hosts, and what they were asked.
#[derive(Default)]
struct Kept {
    objects: Mutex<HashMap<String, Vec<u8>>>,
    asked: Mutex<Vec<String>>,
    store: OnceLock<SocketAddr>,
}

static FORGE: OnceLock<(SocketAddr, Arc<Kept>)> = OnceLock::new();

fn serving(kept: &Arc<Kept>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let kept = Arc::clone(kept);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let kept = Arc::clone(&kept);
            std::thread::spawn(move || while serve(&stream, &kept).is_some() {});
        }
    });
    address
}

/// One that the whole process has: settings are changed by a function without values.
fn forge() -> &'static (SocketAddr, Arc<Kept>) {
    FORGE.get_or_init(|| {
        let kept = Arc::new(Kept::default());
        kept.store.set(serving(&kept)).unwrap();
        (serving(&kept), kept)
    })
}

fn as_github(settings: &mut RunnerSettings) {
    settings.forge = Forge::GitHub;
    settings.forge_url = format!("http://{}", forge().0).parse().ok();
    settings.addresses = AddressPolicy::Any;
    settings.transports.http = true;
}

fn serve(mut stream: &TcpStream, kept: &Kept) -> Option<()> {
    let head = head_of(&mut stream.try_clone().ok()?)?;
    let field = |wanted: &str| {
        let mut fields = head.lines().filter_map(|line| line.split_once(':'));
        let found = fields.find(|(name, _)| name.eq_ignore_ascii_case(wanted));
        found.map(|(_, value)| value.trim().to_owned())
    };
    let length = field("content-length").and_then(|it| it.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut body).ok()?;
    let mut words = head.split(' ');
    let (method, path) = (words.next()?, words.next()?);
    let shows_token = field("authorization").is_some_and(|it| it == expected());
    let is_signed = field("x-signed").is_some();
    let line = format!("{method} {path} token {shows_token} signed {is_signed}");
    kept.asked.lock().unwrap().push(line);
    let answer = answered((method, path), &body, kept);
    let (status, answer) = answer.map_or((404, Vec::new()), |answer| (200, answer));
    let length = answer.len();
    let head = format!("HTTP/1.1 {status} X\r\nContent-Length: {length}\r\n\r\n");
    stream.write_all(head.as_bytes()).ok()?;
    stream.write_all(&answer).ok()
}

/// What the runner shows.
fn expected() -> String {
    use base64::Engine as _;
    let pair = format!("x-access-token:{TOKEN}");
    let pair = base64::engine::general_purpose::STANDARD.encode(pair);
    format!("Basic {pair}")
}

fn answered((method, path): (&str, &str), body: &[u8], kept: &Kept) -> Option<Vec<u8>> {
    let mut objects = kept.objects.lock().unwrap();
    if let Some(oid) = path.strip_prefix("/store/") {
        return match method {
            "GET" => objects.get(oid).cloned(),
            _ => objects
                .insert(oid.to_owned(), body.to_vec())
                .or(Some(Vec::new())),
        };
    }
    let answer = match path.strip_prefix("/acme/rocket.git/info/lfs/")? {
        "objects/batch" => {
            let asked: Value = serde_json::from_slice(body).ok()?;
            let store = kept.store.get()?;
            let each = asked["objects"].as_array()?.iter().map(|one| {
                let oid = one["oid"].as_str().unwrap_or_default();
                let place = json!({"href": format!("http://{store}/store/{oid}"), "header": {"X-Signed": "yes"}});
                let verify = json!({"href": "verify", "header": {"X-Signed": "yes"}});
                match (objects.contains_key(oid), asked["operation"] == "upload") {
                    (true, true) => json!({"oid": oid, "size": one["size"]}),
                    (true, false) => json!({"oid": oid, "actions": {"download": place}}),
                    (false, true) => json!({"oid": oid, "actions": {"upload": place, "verify": verify}}),
                    (false, false) => json!({"oid": oid, "error": {"code": 404, "message": "gone"}}),
                }
            });
            json!({"transfer": "basic", "objects": each.collect::<Vec<_>>()})
        }
        "verify" => json!({}),
        "locks/verify" => json!({"ours": [], "theirs": []}),
        _ => return None,
    };
    Some(answer.to_string().into_bytes())
}

#[test]
fn i17_large_files_that_github_keeps_elsewhere_go_by_the_token_of_the_job() {
    let (_, kept) = forge();
    let stage = stage(as_github);
    let script = r#"git lfs install --local > /dev/null; git lfs track '*.bin' > /dev/null
head -c 3000000 /dev/urandom > big.bin; sum=$(sha256sum < big.bin | cut -c 1-64)
git config lfs.transfer.maxretries 1
ask() { name=$1; shift; printf '%s: ' "$name"; curl -sS -w ' %{http_code}\n' -u "x:$TOKEN" "$@" | tail -c 200; }
lfs=http://$SERVICES/acme/rocket.git/info/lfs
git add .; git commit -qm large; git push -q origin HEAD:refs/heads/large 2>&1 && echo "pushed it"
git commit -q --allow-empty -m again; git push origin HEAD:refs/heads/again 2>&1 | grep -c Uploading || true
cd ..; GIT_LFS_SKIP_SMUDGE=1 git clone -q -b large "$REPOSITORY" d; cd d
git lfs install --local > /dev/null; head -n 1 big.bin; git lfs pull 2>&1 | tail -n 3
[ "$(sha256sum < big.bin | cut -c 1-64)" = "$sum" ] && echo "same file"
other=$(sha256sum < .gitattributes | cut -c 1-64)
ask wrong -T .gitattributes $lfs/objects/$sum/$(stat -c %s .gitattributes)
ask sizeless $lfs/objects/$sum
ask gone $lfs/objects/$other/7
ask short $lfs/objects/$sum/2999999
ask large $lfs/objects/$other/99999999999999
ask secret --json '{"operation": "download", "objects": []}' http://$SERVICES/acme/secret.git/info/lfs/objects/batch
ask batch --json "{\"operation\": \"download\", \"objects\": [{\"oid\": \"$sum\", \"size\": 3000000}]}" $lfs/objects/batch"#;
    let writes = workflow("{contents: write}", script, &stage.site);
    let (_, said) = stage.run_workflow(&writes, "d-1");
    for line in [
        "pushed it",
        "0",
        "version https://git-lfs.github.com/spec/v1",
        "same file",
        "wrong: {\"message\":\"the file is not the one that its address names\"} 422",
        "sizeless: {\"message\":\"large files are read at the addresses that batches give\"} 404",
        "gone: {\"message\":\"the forge does not give the file\"} 404",
        "short: {\"message\":\"the forge does not give or take the file; see the runner's log\"} 502",
        "large: {\"message\":\"the file has 99999999999999 bytes, and what a job moves at most ",
        "secret: {\"message\":\"the token of the job is of acme/rocket, not of `acme/secret`\"} 403",
        "batch: ",
    ] {
        has(&said, line);
    }
    let all = said.join("\n");
    let store = kept.store.get().unwrap().to_string();
    assert!(!all.contains(TOKEN) && !all.contains(&store), "{all}");
    stage.is_swept();
    let script = "curl -sS -u \"x:$TOKEN\" -T .git/HEAD http://$SERVICES/acme/rocket.git/info/lfs/objects/$(sha256sum < .git/HEAD | cut -c 1-64)/$(stat -c %s .git/HEAD)";
    let reads = workflow("{contents: read}", script, &stage.site);
    let (_, said) = stage.run_workflow(&reads, "d-2");
    has(&said, "{\"message\":\"Permission to acme/rocket denied");
    assert_eq!(kept.objects.lock().unwrap().len(), 1);
    let asked = kept.asked.lock().unwrap();
    let mut moved = asked.iter().filter(|it| !it.contains("/statuses/"));
    let wrong = moved.find(|line| {
        let at_store = line.contains(" /store/");
        at_store != line.ends_with("signed true") && !line.contains("/verify ")
            || at_store == line.contains("token true")
    });
    assert_eq!(wrong, None, "{asked:#?}");
    let puts = asked.iter().filter(|it| it.starts_with("PUT ")).count();
    let verified = asked
        .iter()
        .filter(|it| it.contains("/lfs/verify "))
        .count();
    assert_eq!((puts, verified), (1, 1), "{asked:#?}");
}
