//! An action that uses axios, unmodified, in a machine whose network is a proxy: hosts that are
//! allowed, the gateway, and the forge's own address. Releases of before 2026 ask a proxy for whole
//! `https` addresses.

use std::net::{SocketAddr, ToSocketAddrs as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::lab::{Server, free_address, prepare};
use crate::site::Site;
use crate::stage::text;

const WORKFLOW: &str = r#"
on: push
permissions: {contents: read, actions: read}
jobs:
  asks:
    runs-on: x
    steps:
      - uses: actions/checkout@v4
      - uses: ./act
        with: {host: "https://PLACE/", token: "${{ github.token }}"}
        env: {NODE_EXTRA_CA_CERTS: "${{ github.workspace }}/act/ca.pem"}
      - uses: ./act
        with: {token: "${{ github.token }}"}
"#;

const ACTION: &str = "inputs: {host: {}, token: {}}\nruns: {using: node20, main: main.cjs}\n";

const MAIN: &str = r#"
const {INPUT_HOST: host, INPUT_TOKEN: token, GITHUB_API_URL: api, GITHUB_RUN_ID: run} = process.env;
const headers = {authorization: `token ${token}`};
async function ask(name, axios, url, options) {
  const answer = await axios.get(url, options).catch((error) => error.response ?? {status: error.message});
  const text = typeof answer.data === 'string' ? answer.data : JSON.stringify(answer.data);
  console.log(`${name} ${axios.VERSION.split('.', 2).join('.')}: ${answer.status} ${text}`);
}
(async () => {
  for (const name of ['axios', 'axios-1.7']) {
    const axios = require(name);
    if (host !== '') {
      // What is asked for by a whole address gets TLS of the manager, which knows no such authority.
      if (name === 'axios') await ask('host', axios, host);
      await ask('elsewhere', axios, 'https://example.org/');
      continue;
    }
    await ask('gateway', axios, `${api}/repos/acme/rocket/actions/runs/${run}/artifacts`, {headers});
    await ask('forge', axios, 'https://forge.example/api/v1/user/emails', {headers});
  }
})();
"#;

const SERVER: &str = r#"
const [folder, port, address] = process.argv.slice(2);
const read = (name) => require('node:fs').readFileSync(`${folder}/${name}`);
require('node:https').createServer({key: read('key.pem'), cert: read('ca.pem')}, (asked, answer) => answer.end('greetings'))
  .listen(port, address);
"#;

/// A server at this machine's own name, with a certificate of its own: clients ask no proxy for
/// `localhost`. The places that lead to it.
fn greeter(folder: &Path) -> (Server, [String; 2]) {
    let name = Command::new("hostname")
        .output()
        .expect("hostname is installed");
    let name = text(&name.stdout).trim().to_owned();
    let mut found = (name.as_str(), 0)
        .to_socket_addrs()
        .expect("its name is known");
    let own = found.next().unwrap().ip();
    let mut openssl = Command::new("openssl");
    openssl.current_dir(folder).args(["req", "-x509", "-nodes"]);
    openssl.args(["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]);
    openssl.args(["-keyout", "key.pem", "-out", "ca.pem", "-days", "2"]);
    openssl.args(["-subj", "/CN=a server", "-addext"]);
    openssl.arg(format!("subjectAltName=DNS:{name}"));
    let made = openssl.output().expect("openssl is installed");
    assert!(made.status.success(), "{made:?}");
    let script = folder.join("server.cjs");
    std::fs::write(&script, SERVER).unwrap();
    let port = free_address().port();
    let mut node = Command::new("node");
    node.arg(script).arg(folder);
    node.args([port.to_string(), own.to_string()]);
    let address = SocketAddr::new(own, port);
    let server = Server::start("nodejs", &mut node, address);
    (server, [format!("{name}:{port}"), address.to_string()])
}

#[test]
#[ignore = "makes the image `full` and boots it: cargo xtask test --only containers"]
fn i17_axios_reaches_what_the_machine_may_and_the_gateway() {
    let modules = std::env::var_os("ORRERY_AXIOS").map(PathBuf::from);
    let modules =
        modules.expect("ORRERY_AXIOS names axios of npm: run the tests by `cargo xtask test`");
    prepare();
    let folder = tempfile::tempdir().unwrap();
    let (_server, places) = greeter(folder.path());
    let machine = "image = \"full\"\nmemory = \"1GiB\"\ndisk = \"8GiB\"\nnetwork = \"user\"\n";
    let listed = format!("allow = {places:?}\n");
    let mut site = Site::with_services_and(machine, &listed);
    site.html_url = Some("https://forge.example/acme/rocket".to_owned());
    let act = site.repository.folder.join("act");
    std::fs::create_dir_all(&act).unwrap();
    let copied = Command::new("cp").arg("-R").args([&modules, &act]).status();
    assert!(copied.unwrap().success());
    let ca = std::fs::read_to_string(folder.path().join("ca.pem")).unwrap();
    for (name, text) in [("action.yml", ACTION), ("main.cjs", MAIN), ("ca.pem", &ca)] {
        site.repository.write(&format!("act/{name}"), text);
    }
    let (run, record) = site.run(&WORKFLOW.replace("PLACE", &places[0]));
    let log = site.log(&run);
    assert_eq!(record["state"], "succeeded", "{record:#}\n{log}");
    let refused = "403 ";
    for line in [
        "host 1.21: 200 greetings".to_owned(),
        format!("elsewhere 1.7: {refused}"),
        "gateway 1.21: 200 {".to_owned(),
        "gateway 1.7: 200 {".to_owned(),
        format!("forge 1.21: {refused}"),
        format!("forge 1.7: {refused}"),
    ] {
        assert!(log.contains(&line), "{line} in {log}");
    }
    for (text, times) in [("total_count", 2), ("the token is of acme/rocket only", 2)] {
        assert_eq!(log.matches(text).count(), times, "{text} in {log}");
    }
}
