//! i17: the token of a job in an emulated VM: plain `git push`, and programs that speak HTTP over
//! the socket's file, as `gh` does. The real runner, the real VM manager, git's own `http-backend`
//! as the forge.
#![allow(
    clippy::unwrap_used,
    reason = "a test that fails here should say where"
)]

mod site;

use serde_json::Value;
use site::Site;

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
