//! i17: the token of a job in an emulated VM: plain `git push`, and programs that speak HTTP over
//! the socket's file, as `gh` does. The real runner, the real VM manager, git's own `http-backend`
//! as the forge.
#![allow(
    clippy::unwrap_used,
    reason = "a test that fails here should say where"
)]

use crate::site::Site;
use serde_json::Value;

const WORKFLOW: &str = r#"
on: push
permissions: {contents: write}
jobs:
  build:
    runs-on: x
    steps:
      - uses: actions/checkout@v4
      - run: |
          git config user.name t
          git config user.email t@example.org
          echo built > built
          git add built
          git commit --quiet -m built
          git push --quiet
          git push --quiet origin HEAD:refs/heads/side
          git pull --quiet
          echo "pushed $(git rev-parse HEAD)"
          git push origin HEAD:refs/pull/1/head || echo refused as it should be
      - run: |
          cat "$GH_CONFIG_DIR/config.yml"
          echo "host $GH_HOST"
          python3 - <<'END'
          import http.client, os, socket
          class Connection(http.client.HTTPConnection):
              def connect(self):
                  self.sock = socket.socket(socket.AF_UNIX)
                  lines = open(os.environ["GH_CONFIG_DIR"] + "/config.yml").read().splitlines()
                  self.sock.connect(next(line.split()[1] for line in lines if "socket" in line))
          def asked(path, token):
              connection = Connection("forge.example")
              connection.request("GET", path, headers={"Authorization": "token " + token})
              answer = connection.getresponse()
              return answer.status, answer.read().decode()
          mine = os.environ["GH_TOKEN"]
          print("remote", os.popen("git remote get-url origin; git remote -v").read().split())
          print("other", *asked("/api/v3/repos/acme/secret", mine))
          print("as github.com", *asked("/repos/acme/secret", mine))
          print("guessed", *asked("/api/v3/repos/acme/rocket", "guessed"))
          END
        env: {GH_TOKEN: "${{ github.token }}"}
"#;

fn pushed(site: &Site, reference: &str) -> String {
    site.repository.git(&["rev-parse", reference])
}

#[test]
fn i17_a_job_in_a_vm_pushes_with_plain_git_and_gh_finds_the_gateway() {
    let mut site = Site::with_services();
    let (run, record): (String, Value) = site.run(WORKFLOW);
    let log = site.log(&run);
    assert_eq!(record["state"], "succeeded", "{record:#}\n{log}");
    assert_eq!(record["jobs"][0]["isolation"], "emulated-vm", "{record:#}");
    let built = pushed(&site, "refs/heads/main");
    assert_eq!(pushed(&site, "refs/heads/side"), built);
    for part in [
        &format!("pushed {built}"),
        "the token of a job moves branches and tags only",
        "refused as it should be",
        "http_unix_socket: /run/orrery/proxy.sock",
        "host 127.0.0.1",
        "'http://127.0.0.1:3128/acme/rocket.git', '(fetch)'",
        "other 403 ",
        "as github.com 403 ",
        "guessed 401 ",
    ] {
        assert!(log.contains(part), "{part} in {log}");
    }
}

/// Its machine has no network: the forge's own address is reached by the token of the job alone.
const OWN_ADDRESS: &str = r#"
on: push
permissions: {contents: write}
jobs:
  build:
    runs-on: x
    steps:
      - run: |
          cat /etc/environment
          ls /usr/local/share/ca-certificates
          python3 - <<'END'
          import os, ssl, urllib.request, urllib.error
          def asked(url, token, context=None):
              headers = {"Authorization": "token " + token} if token else {}
              try:
                  answer = urllib.request.urlopen(urllib.request.Request(url, headers=headers), context=context)
                  return answer.status, answer.read().decode()
              except urllib.error.HTTPError as error:
                  return error.code, error.read().decode()
              except OSError as error:
                  return error
          mine, api = os.environ["TOKEN"], "https://forge.example/api/v1/"
          print("own", *asked(api + "user/emails", mine))
          print("nobody", *asked(api + "user/emails", None))
          folder = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
          folder.load_verify_locations(capath="/etc/ssl/certs")
          print("folder", *asked(api + "user/emails", mine, folder))
          print("else", asked("https://elsewhere.example/", mine))
          END
          git clone --quiet https://x:$TOKEN@forge.example/acme/rocket.git c
          cd c
          git config user.name t
          git config user.email t@example.org
          echo built > built
          git add built
          git commit --quiet -m built
          git push --quiet origin HEAD:refs/heads/side
          echo "pushed $(git rev-parse HEAD)"
        env: {TOKEN: "${{ github.token }}", GIT_CONFIG_COUNT: "0"}
"#;

#[test]
fn i17_a_vm_trusts_the_forge_s_own_address_and_pushes_there() {
    let mut site = Site::with_services();
    site.html_url = Some("https://forge.example/acme/rocket".to_owned());
    let (run, record): (String, Value) = site.run(OWN_ADDRESS);
    let log = site.log(&run);
    assert_eq!(record["state"], "succeeded", "{record:#}\n{log}");
    let side = pushed(&site, "refs/heads/side");
    for part in [
        &format!("pushed {side}"),
        "NODE_EXTRA_CA_CERTS=/tmp/.runner/trust/forge.pem",
        "REQUESTS_CA_BUNDLE=/etc/ssl/certs/ca-certificates.crt",
        "orrery-forge-0.crt",
        "own 403 {",
        "the token is of acme/rocket only",
        "nobody 403 forge.example:443 is not on the allow-list of this VM",
        "folder 403 {",
        "else <urlopen error Tunnel connection failed: 403",
    ] {
        assert!(log.contains(part), "{part} in {log}");
    }
}
