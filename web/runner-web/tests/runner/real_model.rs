//! A real OpenAI-style server, llama.cpp with a random model: it keeps to the schema, what it says
//! makes no sense, and so nothing is run.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use config_core::Secret;
use http_clients::llm::LlmProtocol;
use runner_actors::ModelServer;

use crate::harness::{Setup, Site, status};

/// Ended when dropped.
struct Model {
    child: Child,
    url: String,
    _folder: tempfile::TempDir,
}

impl Model {
    fn start() -> Self {
        let python = std::env::var_os("ORRERY_PYTHON").expect(
            "ORRERY_PYTHON is not set: `cargo xtask test` installs a Python with the PyPI packages xllamacpp and gguf",
        );
        let folder = tempfile::tempdir().unwrap();
        let script = std::path::absolute("../search-web/tests/chats/tiny_model_server.py")
            .expect("a folder to work in");
        let mut child = Command::new(python)
            .arg(script)
            .arg(folder.path())
            .arg("k3y")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("python starts");
        let mut url = String::new();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        out.read_line(&mut url).unwrap();
        assert!(
            url.starts_with("http://"),
            "the model server did not start: {url:?}; are xllamacpp and gguf installed?"
        );
        Self {
            child,
            url: url.trim().to_owned(),
            _folder: folder,
        }
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn r08_a_real_model_that_talks_nonsense_runs_nothing() {
    let model = Model::start();
    for (key, reason) in [("k3y", ""), ("wrong", "cannot be asked")] {
        let site = Site::new();
        let server = ModelServer {
            protocol: LlmProtocol::OpenAi,
            base: model.url.parse().unwrap(),
            key: Some(Secret::new(key.to_owned())),
            model: "tiny".to_owned(),
        };
        let runner = site.start_with(Setup {
            model: Some(server),
            ..Setup::default()
        });
        let sha = site.commit("on: push\njobs: {build: {runs-on: x, steps: [{run: make all}]}}\n");
        let run = runner.run("push", "d-1", &site.push(&sha));
        let record = runner.ended(&run);
        let state = record["state"].as_str().unwrap();
        let said = record["reason"].as_str().unwrap();
        // Refused when the plan is whole and another; failed when the model was cut off in it, or
        // could not be asked.
        assert!(["refused", "failed"].contains(&state), "{record:#}");
        assert!(
            said.contains("workflow parsing failed") && said.contains(reason),
            "{said}"
        );
        assert_eq!(site.vmm.ordered(), 0);
        let context = ".github/workflows/ci.yml / workflow (push)";
        status(&site, &sha, context, "error");
    }
}
