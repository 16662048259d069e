//! Registries of the forge with the token of a job: what goes through with the runner's token, and
//! what does not.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, OnceLock};

use crate::gateway::has;
use crate::harness::TOKEN;
use crate::own_address::{head_of, stage};

/// What came to the registry: the line, what was shown, and how much behind it.
type RequestLog = Arc<Mutex<Vec<(String, String, usize)>>>;

/// A forge of registries alone.
fn registry() -> (SocketAddr, RequestLog) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let asked = RequestLog::default();
    let known = Arc::clone(&asked);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let known = Arc::clone(&known);
            std::thread::spawn(move || serve_registry(stream, &known));
        }
    });
    (address, asked)
}

fn serve_registry(mut stream: TcpStream, known: &RequestLog) -> Option<()> {
    loop {
        let head = head_of(&mut stream)?;
        let line = head.lines().next()?.to_owned();
        let field = |wanted: &str| {
            let mut lines = head.lines();
            lines.find_map(|line| {
                let (name, value) = line.split_once(':')?;
                name.eq_ignore_ascii_case(wanted)
                    .then(|| value.trim().to_owned())
            })
        };
        let length: usize = field("content-length")
            .and_then(|it| it.parse().ok())
            .unwrap_or(0);
        let mut body = vec![0; length];
        stream.read_exact(&mut body).ok()?;
        let others: Vec<String> = ["cookie", "sudo", "x-webauth-user"]
            .iter()
            .filter_map(|name| field(name))
            .collect();
        let shown = format!(
            "{} {}",
            field("authorization").unwrap_or_default(),
            others.join(" ")
        );
        known
            .lock()
            .unwrap()
            .push((line.clone(), shown.trim().to_owned(), length));
        let path = line.split(' ').nth(1)?;
        let (status, fields, text) = match path {
            path if path.ends_with("/moved") => (
                "302 Found",
                "Location: http://elsewhere.example/x\r\nSet-Cookie: i_like_gitea=session\r\n"
                    .to_owned(),
                String::new(),
            ),
            path if path.ends_with("/leaks") => (
                "200 OK",
                format!("X-Leak: {TOKEN}\r\n"),
                format!("{}{TOKEN}", "x".repeat(70_000)),
            ),
            path if path.ends_with("/clone") => (
                "302 Found",
                format!("Location: http://x:{}@elsewhere.example/x\r\n", "other"),
                String::new(),
            ),
            path if path.ends_with("/scope") => (
                "401 Unauthorized",
                "WWW-Authenticate: Basic\r\n".to_owned(),
                "no".to_owned(),
            ),
            path if path.ends_with("/uploads/") => (
                "202 Accepted",
                "Location: /v2/acme/tool/blobs/uploads/7\r\nDocker-Upload-UUID: 7\r\n".to_owned(),
                String::new(),
            ),
            _ => (
                "200 OK",
                "Docker-Content-Digest: sha256:a\r\n".to_owned(),
                format!("got {length}"),
            ),
        };
        let text = if line.starts_with("HEAD") {
            format!("Content-Length: 4321\r\n{fields}\r\n")
        } else {
            format!("Content-Length: {}\r\n{fields}\r\n{text}", text.len())
        };
        write!(stream, "HTTP/1.1 {status}\r\n{text}").ok()?;
    }
}

static REGISTRY: OnceLock<SocketAddr> = OnceLock::new();

#[test]
fn i17_packages_and_images_of_the_owner_are_reached_with_the_token_of_the_job() {
    let (address, asked) = registry();
    REGISTRY.set(address).unwrap();
    let stage = stage(|settings| {
        let address = REGISTRY.get().expect("set before");
        settings.forge_url = format!("http://{address}").parse().ok();
    });
    let said = stage.run(
        "permissions: {packages: write}",
        r#"own="Authorization: token $TOKEN" at=$forge/api/packages/acme
head -c 8000000 /dev/zero > file.bin
tried put -H "$own" -H "Cookie: a=b" -H "Sudo: root" -H "X-WebAuth-User: root" -T file.bin $at/generic/tool/1/file.bin
tried chunked -H "$own" -H "Transfer-Encoding: chunked" -T file.bin $at/generic/tool/1/chunks/leaks
tried basic -u "acme:$TOKEN" $at/pypi/simple/
tried key -H "X-NuGet-ApiKey: $TOKEN" -X PUT -d x $at/nuget/
tried npm -H "Authorization: Bearer $TOKEN" -X PUT -d '{}' $at/npm/@acme%2ftool
tried moved -D head -H "$own" $at/generic/tool/1/moved; grep -i '^location\|^set-cookie' head
tried scope -H "$own" $at/generic/tool/1/scope
curl -sS -H "$own" -D head $at/generic/tool/1/leaks > out || echo "leak broken off $?"; wc -c < out; grep -ci x-leak head
tried conan -H "$own" $at/conan/v2/users/authenticate; 
tried other -H "$own" $forge/api/packages/other/generic/x
tried dots --path-as-is -H "$own" $at/../other/generic/x
tried dot2 --path-as-is -H "$own" $at/generic/..%2f..%2fother/x
tried login -u "acme:$TOKEN" "$forge/v2/token?service=container_registry&scope=repository:acme/tool:push"
tried welcome -H "Authorization: Bearer $TOKEN" $forge/v2/
tried challenge -D head $forge/v2/; grep -i '^www-authenticate' head
tried start -D head -X POST -H "Authorization: Bearer $TOKEN" "$forge/v2/acme/tool/blobs/uploads/"; grep -i '^location' head
tried head -I -H "Authorization: Bearer $TOKEN" $forge/v2/acme/tool/manifests/latest; curl -sI -H "Authorization: Bearer $TOKEN" $forge/v2/acme/tool/manifests/latest | grep -i '^content-length\|^docker-content' 
tried mount -X POST -H "Authorization: Bearer $TOKEN" "$forge/v2/acme/tool/blobs/uploads/?mount=sha256:a&from=other/x"
tried catalog -H "Authorization: Bearer $TOKEN" $forge/v2/_catalog"#,
    );
    for line in [
        "put: 200 got 8000000",
        "basic: 200",
        "key: 200 got 1",
        "npm: 200 got 2",
        "moved: 302",
        "location: http://elsewhere.example/x",
        "scope: 403 the forge does not accept the runner's token",
        "leak broken off",
        "0",
        "conan: 200 ***",
        "other: 403",
        "dots: 403",
        "dot2: 403",
        "login: 200 {",
        "welcome: 200",
        "challenge: 401",
        "www-authenticate: Bearer realm=\"https://forge.example/v2/token\"",
        "start: 202",
        "location: /v2/acme/tool/blobs/uploads/7",
        "head: 200 ",
        "content-length: 4321",
        "docker-content-digest: sha256:a",
        "mount: 403",
        "catalog: 403",
    ] {
        has(&said, line);
    }
    let all = said.join("\n");
    assert!(
        !all.contains(TOKEN) && !all.contains("i_like_gitea"),
        "{all}"
    );
    let asked = asked.lock().unwrap();
    let expected = {
        use base64::Engine as _;
        let pair = format!("x-access-token:{TOKEN}");
        format!(
            "Basic {}",
            base64::engine::general_purpose::STANDARD.encode(pair)
        )
    };
    let of_packages = asked
        .iter()
        .filter(|(line, _, _)| line.contains("/api/packages/") || line.contains("/v2/"));
    for (line, shown, _) in of_packages {
        assert_eq!(*shown, expected, "{line}");
        assert!(!line.contains("other"), "{line}");
    }
}

#[test]
fn i17_packages_are_read_with_what_the_job_may() {
    let stage = stage(|_| {});
    let said = stage.run(
        "permissions: {packages: read}",
        r#"own="Authorization: token $TOKEN" at=$forge/api/packages/acme
tried write -H "$own" -X PUT -d x $at/generic/tool/1/x
tried push -H "Authorization: Bearer $TOKEN" -X POST $forge/v2/acme/tool/blobs/uploads/"#,
    );
    has(
        &said,
        "write: 403 {\"errors\":[{\"code\":\"DENIED\",\"message\":\"the token of the job of acme/rocket may not do this: its `permissions` lack `packages: write`",
    );
    has(&said, "push: 403");
}

static OF_FORKS: OnceLock<SocketAddr> = OnceLock::new();

#[test]
fn i17_a_fork_s_pull_request_reads_packages_as_anybody() {
    let (address, asked) = registry();
    OF_FORKS.set(address).unwrap();
    let stage = stage(|settings| {
        let address = OF_FORKS.get().expect("set before");
        settings.forge_url = format!("http://{address}").parse().ok();
    });
    let script = format!(
        r#"own="Authorization: token $TOKEN" at=http://{address}
tried file -H "$own" $at/api/packages/acme/generic/private/1/x
tried npm -H "Authorization: Bearer $TOKEN" $at/api/packages/acme/npm/@acme%2ftool
tried key -H "X-NuGet-ApiKey: $TOKEN" $at/api/packages/acme/nuget/index.json
tried list -H "$own" "$at/api/v1/packages/acme?token=$TOKEN"
tried login -u "acme:$TOKEN" "$at/v2/token?scope=repository:acme/tool:pull"
tried image -H "Authorization: Bearer $TOKEN" $at/v2/acme/tool/manifests/latest
tried write -H "$own" -X PUT -d x $at/api/packages/acme/generic/tool/1/x
tried push -H "Authorization: Bearer $TOKEN" -X POST $at/v2/acme/tool/blobs/uploads/"#
    );
    let said = stage.run_of_fork("permissions: {packages: write}", &script);
    for name in ["file", "npm", "key", "list", "login", "image"] {
        has(&said, &format!("{name}: 200 got 0"));
    }
    has(&said, "write: 403");
    has(&said, "push: 403");
    let asked = asked.lock().unwrap();
    let of_packages = asked
        .iter()
        .filter(|(line, _, _)| line.contains("/packages/") || line.contains("/v2/"));
    assert_eq!(of_packages.clone().count(), 6, "{asked:?}");
    for (line, shown, _) in of_packages {
        assert!(shown.is_empty() && !line.contains("token="), "{line}");
    }
}
