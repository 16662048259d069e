//! A runner whose files go from its data folder into a storage, into another one, and back.
#![allow(
    clippy::unwrap_used,
    reason = "a test that fails here should say where"
)]

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use scripted_peers::Program;
use scripted_peers::s3::{ACCESS_KEY, BUCKET, S3Server, SECRET_KEY};
use serde_json::Value;

/// Artifacts, each of this many bytes.
const ARTIFACTS: usize = 24;
const BYTES: usize = 1 << 20;

struct Site {
    folder: tempfile::TempDir,
}

/// The first line of an event.
fn event(runner: &Program, name: &str) -> Value {
    serde_json::from_str(&runner.wait_for(name)).unwrap()
}

impl Site {
    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn configure(&self, url: &str, server: &S3Server) {
        let text = format!(
            "data_dir = \"data\"\n[objects]\nurl = \"{url}\"\nsweep = \"1s\"\nendpoint = \"{}\"\n",
            server.endpoint()
        );
        std::fs::write(self.folder.path().join("runner.toml"), text).unwrap();
    }

    fn program(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_workflow-runner"));
        command
            .current_dir(self.folder.path())
            .env("FORGE_WEBHOOK_SECRET", "sixteen--letters")
            .env("VMM_API_URL", "http://127.0.0.1:9")
            .env("AWS_ACCESS_KEY_ID", ACCESS_KEY)
            .env("AWS_SECRET_ACCESS_KEY", SECRET_KEY)
            .env("LOG_LEVEL", "info");
        command
    }

    fn start(&self) -> Program {
        let mut command = self.program();
        Program::start(command.args(["--listen", "127.0.0.1:0", "--config", "runner.toml"]))
    }

    fn migration(&self, to: &str, server: &S3Server) -> Command {
        let mut command = self.program();
        command
            .args(["objects", "migrate", "--config", "runner.toml", "--to", to])
            .args(["--endpoint", &server.endpoint()]);
        command
    }

    /// Its exit code, and all that it said.
    fn migrate(&self, to: &str, server: &S3Server) -> (Option<i32>, String) {
        let output = self.migration(to, server).output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(said).unwrap())
    }
}

fn artifact(data: &Path, number: usize) -> PathBuf {
    let name = blake3::hash(number.to_string().as_bytes()).to_hex();
    data.join("artifacts/run").join(name.as_str())
}

fn content(number: usize) -> Vec<u8> {
    let mut bytes = vec![0; BYTES];
    let mut hasher = blake3::Hasher::new();
    hasher
        .update(&number.to_le_bytes())
        .finalize_xof()
        .fill(&mut bytes);
    bytes
}

/// A data folder as a runner leaves it.
fn site() -> Site {
    let site = Site {
        folder: tempfile::tempdir().unwrap(),
    };
    let data = site.data();
    std::fs::create_dir_all(data.join("artifacts/run")).unwrap();
    std::fs::create_dir_all(data.join("logs")).unwrap();
    for number in 0..ARTIFACTS {
        let base = artifact(&data, number);
        let about = format!("{{\"name\":\"{number}\",\"bytes\":{BYTES},\"at\":1}}");
        std::fs::write(base.with_extension("tar"), content(number)).unwrap();
        std::fs::write(base.with_extension("json"), about).unwrap();
    }
    std::fs::write(data.join("logs/run.jsonl"), "{\"at\":1,\"text\":\"one\"}\n").unwrap();
    site
}

/// The objects of files below a prefix.
fn objects(server: &S3Server, prefix: &str) -> Vec<PathBuf> {
    let folder = server.bucket().join(prefix).join("objects");
    let is_object = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str());
        path.starts_with(&folder) && name.is_some_and(|name| !name.starts_with('.'))
    };
    server.objects().into_iter().filter(is_object).collect()
}

/// The number before a word.
fn number(said: &str, before: &str) -> usize {
    let at = said
        .find(before)
        .unwrap_or_else(|| panic!("no {before} in {said}"));
    said[..at]
        .split_whitespace()
        .last()
        .unwrap()
        .parse()
        .unwrap()
}

#[test]
fn i18_files_move_into_another_bucket_while_the_runner_goes_on_and_through_kills() {
    let (old, new) = (S3Server::start(), S3Server::start());
    let site = site();
    let (from, to) = (format!("s3://{BUCKET}/old"), format!("s3://{BUCKET}/new"));
    site.configure(&from, &old);
    let runner = site.start();
    assert_eq!(event(&runner, "objects.moved")["moved"], ARTIFACTS);

    // Killed when some of it is there, beside a runner that goes on.
    let mut killed = site.migration(&to, &new);
    let mut killed = killed.stderr(Stdio::piped()).spawn().unwrap();
    let said = BufReader::new(killed.stderr.take().unwrap()).lines();
    let said = said
        .map_while(Result::ok)
        .find(|line| line.contains("MiB copied"));
    killed.kill().unwrap();
    let ended = killed.wait().unwrap();
    assert!(
        said.is_some() && ended.code().is_none(),
        "{said:?} {ended:?}"
    );
    let there = objects(&new, "new").len();
    assert!(there > 0 && there <= ARTIFACTS, "{there}");
    let (code, said) = site.migrate(&to, &new);
    assert_eq!(code, Some(3), "{said}");
    assert!(
        said.contains("is in use by") && said.contains("repeat this"),
        "{said}"
    );
    let (copied, known) = (number(&said, "files with"), number(&said, "were there"));
    assert!(known > 0 && copied + known == ARTIFACTS + 1, "{said}");
    let health = runner.ask("GET /health", &[], "").body;
    assert!(!health.contains("object storage"), "{health}");
    let (code, said) = site.migrate("data", &new);
    assert!(
        code == Some(1) && said.contains("while no service runs"),
        "{said}"
    );

    // A runner with the new place before all is there does not use it.
    drop(runner);
    site.configure(&to, &new);
    let early = site.start();
    let failing = event(&early, "objects.failing");
    assert!(
        failing["error"].as_str().unwrap().contains("being copied"),
        "{failing}"
    );
    drop(early);
    site.configure(&from, &old);
    let (code, said) = site.migrate(&to, &new);
    assert_eq!(
        (code, number(&said, "were there")),
        (Some(0), ARTIFACTS + 1),
        "{said}"
    );
    assert!(said.contains("name it in [objects]"), "{said}");
    assert!(!site.data().join("objects-migrating").exists());

    // Back on the ground, from the new place alone.
    drop(old);
    site.configure(&to, &new);
    std::fs::remove_dir_all(site.data().join("objects")).unwrap();
    std::fs::remove_file(site.data().join("logs/run.jsonl")).unwrap();
    let (code, said) = site.migrate("data", &new);
    assert_eq!(
        (code, number(&said, "files with")),
        (Some(0), ARTIFACTS + 1),
        "{said}"
    );
    for number in 0..ARTIFACTS {
        let base = artifact(&site.data(), number);
        assert_eq!(
            std::fs::read(base.with_extension("tar")).unwrap(),
            content(number)
        );
    }
    let log = std::fs::read_to_string(site.data().join("logs/run.jsonl")).unwrap();
    assert_eq!(log, "{\"at\":1,\"text\":\"one\"}\n");
}

#[test]
fn i18_what_cannot_be_moved_is_named_and_ends_with_one() {
    let server = S3Server::start();
    let site = site();
    let from = format!("s3://{BUCKET}/old");
    site.configure(&from, &server);
    let runner = site.start();
    runner.wait_for("objects.moved");
    drop(runner);
    let damaged = objects(&server, "old").remove(3);
    std::fs::write(&damaged, "else").unwrap();
    let target = site.folder.path().join("target");
    let to = format!("file://{}", target.display());
    let (code, said) = site.migrate(&to, &server);
    assert_eq!(code, Some(1), "{said}");
    let name = damaged.file_name().unwrap().to_str().unwrap();
    assert!(said.contains(name) && said.contains("damaged"), "{said}");
    assert_eq!(number(&said, "files with"), ARTIFACTS, "{said}");
    let (code, said) = site.migrate("ci", &server);
    assert!(
        code == Some(1) && said.contains("s3://bucket/prefix"),
        "{said}"
    );
    let mut left = site.migration(&to, &server);
    let left = left.arg("--leave-damaged").output().unwrap();
    assert_eq!(left.status.code(), Some(0), "{left:?}");
}
