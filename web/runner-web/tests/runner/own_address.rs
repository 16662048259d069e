//! The forge's own address with the token of a job: curl, node, Python and git, unmodified, by a
//! proxy that leads there as the VM manager's does, over HTTP and over TLS that the gateway ends.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;

use runner_actors::RunnerSettings;
use scripted_peers::Play;
use serde_json::Value;

use crate::gateway::{has, lines};
use crate::harness::{Runner, Setup, Site, TOKEN};

/// Only what the manager's list names is reached without the job's token.
const LISTED: &str = "127.0.0.1";
/// What each script begins with.
const BEGIN: &str = r#"
exec 2>&1
export HOME="$PWD" http_proxy="http://$PROXY" https_proxy="http://$PROXY" GIT_TERMINAL_PROMPT=0
export GIT_AUTHOR_NAME=t GIT_AUTHOR_EMAIL=t@example.org GIT_COMMITTER_NAME=t GIT_COMMITTER_EMAIL=t@example.org
# As the machine has it in the system's bundle.
export CURL_CA_BUNDLE="$PWD/ca.pem" SSL_CERT_FILE="$PWD/ca.pem" GIT_SSL_CAINFO="$PWD/ca.pem" NODE_EXTRA_CA_CERTS="$PWD/ca.pem" REQUESTS_CA_BUNDLE="$PWD/ca.pem"
forge=https://forge.example api=https://forge.example/api/v1/repos/acme/rocket
tried() { name=$1; shift; printf '%s: ' "$name"; curl -sS -o out -w '%{http_code}' "$@"; echo " $(head -c 300 out | tr '\n' ' ')"; : > out; }
"#;

pub(crate) struct Stage {
    site: Site,
    runner: Runner,
}

/// As the VM manager leads connections: every place here is one of the forge's.
fn manager(services: SocketAddr) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for program in listener.incoming().flatten() {
            std::thread::spawn(move || lead(program, services));
        }
    });
    address
}

fn lead(mut program: TcpStream, services: SocketAddr) -> Option<()> {
    let head = head_of(&mut program)?;
    let (line, fields) = head.split_once("\r\n")?;
    let mut words = line.split(' ');
    let (method, target) = (words.next()?, words.next()?);
    let (place, rewritten) = match method {
        "CONNECT" => (target.to_owned(), None),
        _ => {
            let url: url::Url = target.parse().ok()?;
            let host = url.host_str()?;
            let port = url.port_or_known_default()?;
            let path = &url[url::Position::BeforePath..];
            let fields = fields.split("\r\n").filter(|field| {
                let field = field.to_ascii_lowercase();
                !field.starts_with("host:") && !field.starts_with("proxy-connection:")
            });
            let fields: Vec<&str> = fields.collect();
            let shown =
                host.to_owned() + &url.port().map(|it| format!(":{it}")).unwrap_or_default();
            let head = format!(
                "{method} {path} HTTP/1.1\r\nHost: {shown}\r\nConnection: close\r\n{}",
                fields.join("\r\n")
            );
            (format!("{host}:{port}"), Some(head))
        }
    };
    let reach = match place.starts_with(LISTED) {
        true => "yes".to_owned(),
        false => format!("{place} is not on the allow-list of this VM"),
    };
    let mut peer = TcpStream::connect(services).ok()?;
    write!(
        peer,
        "CONNECT {place} HTTP/1.1\r\nVm-Reach: {reach}\r\n\r\n"
    )
    .ok()?;
    match rewritten {
        Some(head) => peer.write_all(head.as_bytes()).ok()?,
        None => program
            .write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")
            .ok()?,
    }
    let (mut up, mut down) = (program.try_clone().ok()?, peer.try_clone().ok()?);
    let upload = std::thread::spawn(move || {
        let _ = std::io::copy(&mut up, &mut peer);
        let _ = peer.shutdown(std::net::Shutdown::Write);
    });
    let _ = std::io::copy(&mut down, &mut program);
    let _ = program.shutdown(std::net::Shutdown::Both);
    let _ = upload.join();
    Some(())
}

pub(crate) fn head_of(stream: &mut TcpStream) -> Option<String> {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        if stream.read(&mut byte).ok()? == 0 {
            return None;
        }
        head.push(byte[0]);
    }
    String::from_utf8(head).ok()
}

pub(crate) fn stage(change: fn(&mut RunnerSettings)) -> Stage {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let services = listener.local_addr().unwrap();
    let proxy = manager(services);
    let home = tempfile::tempdir().unwrap();
    let site = Site::playing(move |command| {
        let trusted = command
            .argv
            .iter()
            .filter(|text| text.starts_with("-----BEGIN"));
        let pem: String = trusted.map(String::as_str).collect();
        if !pem.is_empty() {
            std::fs::write(home.path().join("ca.pem"), pem).unwrap();
        }
        match command.env.contains_key("TOKEN") {
            true => played(command, home.path(), proxy),
            false => Play::exit(0),
        }
    });
    site.git_init();
    site.git(&["config", "receive.denyCurrentBranch", "ignore"]);
    site.forge.add_repo("acme/secret");
    site.forge.add_user("ada", "ada-s-own-token");
    site.forge.add_issue("acme/rocket", 7, "an issue");
    site.forge.add_issue("acme/secret", 1, "a secret");
    let runner = site.start_with(Setup {
        services: Some(listener),
        change,
        ..Setup::default()
    });
    Stage { site, runner }
}

fn played(command: &scripted_peers::Command, home: &Path, proxy: SocketAddr) -> Play {
    let mut bash = Command::new("bash");
    bash.args(["-c", &format!("{BEGIN}{}", command.script)]);
    bash.current_dir(home).env_clear();
    bash.env("PATH", std::env::var_os("PATH").unwrap());
    bash.env("PROXY", proxy.to_string());
    for name in ["TOKEN", "HTTP_FORGE", "PERSONAL"] {
        bash.envs(command.env.get(name).map(|value| (name, value)));
    }
    let output = bash.output().expect("bash is installed");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    Play::exit(output.status.code().unwrap_or(255)).out(said)
}

impl Stage {
    /// Runs a script with these permissions, and gives what it said.
    pub(crate) fn run(&self, permissions: &str, script: &str) -> Vec<String> {
        self.run_event(permissions, script, |_| {})
    }

    /// The same of a pull request from a fork.
    pub(crate) fn run_of_fork(&self, permissions: &str, script: &str) -> Vec<String> {
        let sha = self.commit(permissions, script);
        let mut event = self.site.fork(&sha, &sha);
        event["repository"]["html_url"] = "https://forge.example/acme/rocket".into();
        self.output("pull_request", &sha, &event)
    }

    fn run_event(&self, permissions: &str, script: &str, change: fn(&mut Value)) -> Vec<String> {
        let sha = self.commit(permissions, script);
        let mut event = self.site.push(&sha);
        event["repository"]["html_url"] = "https://forge.example/acme/rocket".into();
        change(&mut event);
        self.output("push", &sha, &event)
    }

    fn commit(&self, permissions: &str, script: &str) -> String {
        let script = script.lines().map(|line| format!("          {line}\n"));
        let workflow = format!(
            "name: CI\non: [push, pull_request]\n{permissions}\njobs:\n  a:\n    runs-on: x\n    steps:\n      - run: |\n{}        env: {{HTTP_FORGE: '{}', PERSONAL: ada-s-own-token, TOKEN: '${{{{ github.token }}}}'}}\n",
            script.collect::<String>(),
            self.site.forge.url(),
        );
        self.site.commit(&workflow)
    }

    fn output(&self, kind: &str, delivery: &str, event: &Value) -> Vec<String> {
        let run = self.runner.run(kind, delivery, event);
        let record = self.runner.ended(&run);
        let said = lines(&self.runner, &run);
        assert_eq!(record["state"], "succeeded", "{record:#} {said:#?}");
        said
    }

    /// What the forge was asked with the runner's token.
    fn asked_as_runner(&self) -> Vec<String> {
        let all = self.site.forge.requests().into_iter();
        let own = all.filter(|asked| {
            asked
                .authorization
                .as_ref()
                .is_some_and(|it| it.contains(TOKEN))
        });
        own.map(|asked| format!("{} {}", asked.method, asked.path))
            .collect()
    }
}

#[test]
fn i17_programs_call_the_forge_at_its_own_address_with_the_token_of_the_job() {
    let stage = stage(|_| {});
    let said = stage.run(
        "permissions: {issues: write, contents: write}",
        r#"tried token -H "Authorization: token $TOKEN" $api/issues/7
tried bearer -H "Authorization: Bearer $TOKEN" $api/issues/7
tried basic -u "someone:$TOKEN" $api/issues/7
tried alone -u "$TOKEN:" $api/issues/7
tried query "$api/issues/7?access_token=$TOKEN"
tried post -H "Authorization: token $TOKEN" --json '{"body": "by a job"}' $api/issues/7/comments
tried release -H "Authorization: token $TOKEN" --json '{"tag_name": "v1"}' $api/releases
head -c 3000000 /dev/zero > file.bin
tried upload -H "Authorization: token $TOKEN" -F attachment=@file.bin "$api/releases/3/assets?name=file.bin"
tried http -H "Authorization: token $TOKEN" $HTTP_FORGE/api/v1/repos/acme/rocket/issues/7
python3 - <<'P'
import json, os, urllib.request
at = urllib.request.Request("https://forge.example/api/v1/repos/acme/rocket/issues/7", headers={"Authorization": "token " + os.environ["TOKEN"]})
print("python:", json.load(urllib.request.urlopen(at))["number"])
P
cat > a.mjs <<'N'
import http from 'node:http'; import https from 'node:https';
const [host, port] = process.env.PROXY.split(':');
http.request({host, port, method: 'CONNECT', path: 'forge.example:443'}).on('connect', (answer, socket) => {
  const headers = {authorization: `token ${process.env.TOKEN}`};
  https.get({host: 'forge.example', path: '/api/v1/repos/acme/rocket/issues/7', headers, agent: false, socket, servername: 'forge.example'}, (answer) => {
    console.log(`node: ${answer.statusCode}`); answer.resume(); answer.on('end', () => process.exit(0));
  });
}).end();
N
node a.mjs"#,
    );
    for line in [
        "token: 200",
        "bearer: 200",
        "basic: 200",
        "alone: 200",
        "query: 200",
        "post: 201",
        "release: 201",
        "upload: 201",
        "http: 200",
        "python: 7",
        "node: 200",
    ] {
        has(&said, line);
    }
    assert_eq!(stage.site.forge.comments("acme/rocket", 7).len(), 1);
    let all = said.join("\n");
    assert!(!all.contains(TOKEN), "{all}");
}

#[test]
fn i17_git_pushes_to_the_forges_own_address_with_the_token_of_the_job() {
    let stage = stage(|_| {});
    let said = stage.run(
        "permissions: {contents: write}",
        r#"set -e
git clone -q https://x:$TOKEN@forge.example/acme/rocket.git c; cd c
git remote set-url origin https://$TOKEN@forge.example/acme/rocket
echo built > built; git add built; git commit -qm built; git push -q origin HEAD:refs/heads/built
git -c http.extraheader="Authorization: basic $(printf 'x-access-token:%s' $TOKEN | base64 -w 0)" ls-remote https://forge.example/acme/rocket refs/heads/built | grep -c built
git ls-remote https://x:$TOKEN@forge.example/acme/secret || echo "secret $?"
git ls-remote https://forge.example/acme/rocket || echo "nobody $?""#,
    );
    for line in ["1", "secret 128", "nobody 128"] {
        has(&said, line);
    }
    let pushed = stage.site.git(&["rev-parse", "refs/heads/built"]);
    // Its push starts nothing, as one by the gateway's own address.
    stage.site.forge.add_commit("acme/rocket", &pushed);
    let mut event = stage.site.push(&pushed);
    event["ref"] = "refs/heads/built".into();
    let run = stage.runner.run("push", "its-own", &event);
    let record = stage.runner.ended(&run);
    assert_eq!(record["state"], "ignored", "{record:#}");
}

#[test]
fn i17_the_forges_own_address_gives_no_more_than_the_gateway_does() {
    let stage = stage(|_| {});
    let said = stage.run(
        "permissions: {contents: read}",
        r#"own="Authorization: token $TOKEN"
tried permission -H "$own" --json '{"body": "x"}' $api/issues/7/comments
tried hooks -H "$own" $api/hooks
tried user -H "$own" $forge/api/v1/user/emails
tried whose -H "$own" $forge/api/v1/user
tried dots --path-as-is -H "$own" $api/../secret/issues/1
tried encoded --path-as-is -H "$own" $api/%2e%2e/secret/issues/1
tried slashes -H "$own" $forge//api/v1/repos/acme/secret/issues/1
tried sudo -H "$own" "$api/issues/7?sudo=root"
tried other -H "$own" $forge/api/v1/repos/acme/secret/issues/1
tried listed -H "$own" $HTTP_FORGE/api/v1/repos/acme/secret/issues/1
tried host -H "$own" -H "Host: evil.example" $api/issues/7
tried port -H "$own" -H "Host: forge.example:8443" $api/issues/7
tried hosts -H "$own" -H "Host: x@forge.example" $api/issues/7
tried none $api/issues/7
tried guessed -H "Authorization: token guessed" $api/issues/7
tried page $forge/acme/rocket/wiki
curl -sS --connect-to other.example:443:forge.example:443 https://other.example/ > out || echo "sni $?"
tried mine -H "Authorization: token $PERSONAL" $HTTP_FORGE/api/v1/user
exec 3<>/dev/tcp/${PROXY%:*}/${PROXY#*:}
printf 'CONNECT %s HTTP/1.1\r\n\r\n' "${HTTP_FORGE#http://}" >&3; head -c 39 <&3 > out
printf 'GET http://evil.example/api/v1/repos/acme/rocket/issues/7 HTTP/1.1\r\nHost: %s\r\nAuthorization: token %s\r\nConnection: close\r\n\r\n' "${HTTP_FORGE#http://}" $TOKEN >&3
echo "absolute: $(head -n 1 <&3)"
exec 3<>/dev/tcp/${PROXY%:*}/${PROXY#*:}
printf 'CONNECT %s HTTP/1.1\r\n\r\n' "${HTTP_FORGE#http://}" >&3; head -c 39 <&3 > out
printf 'POST /api/v1/repos/acme/rocket/issues/7/comments HTTP/1.1\r\nHost: %s\r\nAuthorization: token %s\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /x HTTP/1.1\r\n\r\n' "${HTTP_FORGE#http://}" $TOKEN >&3
echo "smuggled: $(head -n 1 <&3)""#,
    );
    let no_network = "is not on the allow-list of this VM: without its network";
    for line in [
        "permission: 403 {\"",
        "hooks: 403",
        "user: 403",
        "whose: 200 {\"email\":\"\",\"full_name\":\"\",\"id\":1,\"is_admin\":false,\"login\":\"runner\"",
        "dots: 403",
        "encoded: 403",
        "slashes: 403",
        "sudo: 403",
        &format!("other: 403 forge.example:443 {no_network}"),
        // Asked as anybody, whom this forge knows not.
        "listed: 401",
        "host: 421",
        "port: 421",
        "hosts: 421",
        &format!("none: 403 forge.example:443 {no_network}"),
        "guessed: 403",
        "page: 403",
        "sni 35",
        "mine: 200 {\"id\":1,\"login\":\"ada\"}",
        "absolute: HTTP/1.1 421",
        "smuggled: HTTP/1.1 400",
    ] {
        has(&said, line);
    }
    let asked = stage.asked_as_runner();
    assert!(
        !asked
            .iter()
            .any(|it| it.contains("secret") || it.contains("comments")),
        "{asked:#?}"
    );
}

#[test]
fn i17_a_pull_request_from_a_fork_reads_at_the_forges_own_address() {
    let stage = stage(|settings| {
        settings.token_permissions = Some(runner_core::workflow::PermissionLevel::Write);
    });
    let workflow = |site: &Site| {
        format!(
            "on: pull_request\njobs:\n  a:\n    runs-on: x\n    steps:\n      - run: |\n          tried read -H \"Authorization: token $TOKEN\" $HTTP_FORGE/api/v1/repos/acme/rocket\n          tried write -H \"Authorization: token $TOKEN\" --json '{{\"tag_name\": \"v1\"}}' $HTTP_FORGE/api/v1/repos/acme/rocket/releases\n        env: {{HTTP_FORGE: '{}', TOKEN: '${{{{ github.token }}}}'}}\n",
            site.forge.url()
        )
    };
    let base = stage.site.commit(&workflow(&stage.site));
    stage.site.write("theirs", "a stranger's\n");
    let head = stage.site.commit_all();
    stage.site.git(&["update-ref", "refs/pull/7/head", &head]);
    let event = stage.site.fork(&head, &base);
    let run = stage.runner.run("pull_request", "d-fork", &event);
    stage.runner.ended(&run);
    let said = lines(&stage.runner, &run);
    has(&said, "read: 200");
    has(&said, "write: 403");
}

#[test]
fn i17_without_the_switch_nothing_is_led() {
    let stage = stage(|settings| settings.token_at_forge = Some(false));
    stage.run("permissions: {contents: read}", "true");
    let orders = stage.site.vmm.requests();
    let order = orders
        .iter()
        .find(|asked| asked.method == "POST" && asked.path.ends_with("/vms"));
    let order: Value = serde_json::from_slice(&order.unwrap().body).unwrap();
    assert!(order.get("services_for").is_none(), "{order:#}");
    let commands = stage.site.vmm.commands();
    let trusts = |command: &scripted_peers::Command| {
        command
            .argv
            .iter()
            .any(|text| text.starts_with("-----BEGIN"))
    };
    assert!(!commands.iter().any(trusts));
}
