//! `backup` and `restore` against a real S3-compatible server that checks signatures: s3s-fs.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use scripted_peers::s3::{ACCESS_KEY, BUCKET, S3Server as Storage, SECRET_KEY as SECRET};
use serde_json::Value;
use store::{LocalState, LocalStateKind};

/// A machine: a home with a data folder and a role file.
struct Machine {
    home: tempfile::TempDir,
    backend: &'static str,
}

impl Machine {
    fn new(backend: &'static str) -> Self {
        let home = tempfile::tempdir().expect("a folder");
        Self { home, backend }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    fn command(&self, storage: &Storage, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_search-server"));
        command
            .env_clear()
            .env("HOME", self.home.path())
            .env("SERVICE_SETTINGS_PATH", self.path("roles.json"))
            .env("SERVICE_DATA_PATH", self.path("data"))
            .env("SERVICE_STORAGE", self.backend)
            .env("CLOUDSTORE_ACCESS_KEY_ID", ACCESS_KEY)
            .env("CLOUDSTORE_SECRET_ACCESS_KEY", SECRET)
            .env("SERVICE_PROFILE_OBJSTORE_REGION", "us-east-1")
            .env("SERVICE_PROFILE_OBJSTORE_ENDPOINT", storage.endpoint())
            .args(arguments)
            .args(["--bucket", BUCKET, "--format", "json"])
            .stdin(Stdio::null());
        command
    }

    fn run(&self, storage: &Storage, arguments: &[&str]) -> Output {
        let output = self.command(storage, arguments).output().expect("it runs");
        assert!(!text(&output).contains(SECRET), "{}", text(&output));
        output
    }

    fn done(&self, storage: &Storage, arguments: &[&str]) -> Value {
        let output = self.run(storage, arguments);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output));
        serde_json::from_slice(&output.stdout).expect("one JSON document")
    }

    fn refused(&self, storage: &Storage, arguments: &[&str]) -> String {
        let output = self.run(storage, arguments);
        assert_eq!(output.status.code(), Some(1), "{}", text(&output));
        text(&output)
    }

    /// Looks at the state, or changes it, while no program does.
    fn state(&self) -> Box<dyn LocalState> {
        let folder = self.path("data/state");
        std::fs::create_dir_all(&folder).expect("a folder");
        let kind: LocalStateKind = self.backend.parse().expect("a backend");
        kind.open(&folder, "test").expect("the state opens")
    }

    fn write_roles(&self, key: &str) {
        let roles = serde_json::json!({"name": "R", "relevance_function": "BM25", "theme": "spacelab",
            "haystacks": [{"name": "H", "service": "LocalFiles", "location": self.home.path()}],
            "extra": {"llm_provider": "cloudllm", "cloudllm_api_key": key, "cloudllm_model": "m"}});
        std::fs::write(self.path("roles.json"), roles.to_string()).expect("written");
    }
}

fn text(output: &Output) -> String {
    let both = [&output.stdout[..], &output.stderr[..]].concat();
    String::from_utf8_lossy(&both).into_owned()
}

fn read(path: &Path) -> String {
    let mut text = String::new();
    std::fs::File::open(path)
        .and_then(|mut file| file.read_to_string(&mut text))
        .expect("a text");
    text
}

/// More than a part holds, so that there are several.
fn fill(machine: &Machine) {
    let state = machine.state();
    for number in 0..12_u8 {
        state
            .put("conversations", &[number], &vec![number; 1 << 20])
            .expect("kept");
    }
    state.put("summaries", b"one", b"short").expect("kept");
}

#[test]
fn what_was_saved_is_restored_on_another_machine_in_another_backend() {
    let storage = Storage::start();
    let first = Machine::new("redb");
    fill(&first);
    first.write_roles("sk-private");
    let saved = first.done(&storage, &["backup"]);
    assert_eq!(
        (&saved["what"], &saved["records"], &saved["parts"]),
        (&"saved".into(), &13.into(), &2.into())
    );
    assert_eq!(storage.objects().len(), 4, "{:?}", storage.objects());
    for object in storage.objects() {
        let bytes = std::fs::read(&object).expect("an object");
        assert!(
            !bytes.windows(10).any(|it| it == b"sk-private"),
            "{}",
            object.display()
        );
    }
    // A later one, of less.
    first.state().delete("summaries", b"one").expect("removed");
    let later = first.done(&storage, &["backup"]);
    assert!(later["backup"].as_str() != saved["backup"].as_str());

    let second = Machine::new("sqlite");
    let restored = second.done(
        &storage,
        &[
            "restore",
            "--backup",
            saved["backup"].as_str().expect("an id"),
        ],
    );
    assert_eq!(restored["records"], 13);
    let state = second.state();
    assert_eq!(
        state.get("summaries", b"one").expect("read").as_deref(),
        Some(&b"short"[..])
    );
    assert_eq!(
        state.get("conversations", &[7]).expect("read"),
        Some(vec![7; 1 << 20])
    );
    drop(state);
    assert!(read(&second.path("roles.json")).contains("\"***\""));
    assert!(
        restored["notes"][0]
            .as_str()
            .is_some_and(|note| note.contains("secrets")),
        "{restored}"
    );

    // The latest, over what is there: only by force.
    let said = second.refused(&storage, &["restore"]);
    assert!(said.contains("--force"), "{said}");
    second.write_roles("sk-of-the-second");
    let latest = second.done(&storage, &["restore", "--force"]);
    assert_eq!(latest["backup"], later["backup"]);
    assert_eq!(second.state().get("summaries", b"one").expect("read"), None);
    let data = std::fs::read_dir(second.path("data")).expect("a folder");
    let names: Vec<_> = data
        .map(|one| {
            one.expect("an entry")
                .file_name()
                .into_string()
                .expect("text")
        })
        .collect();
    assert!(
        names
            .iter()
            .all(|name| !name.contains("new") && !name.contains("former") && !name.contains("tmp")),
        "{names:?}"
    );
}

#[test]
fn damage_wrong_keys_and_missing_backups_change_nothing() {
    let storage = Storage::start();
    let machine = Machine::new("redb");
    let said = machine.refused(&storage, &["restore"]);
    assert!(said.contains("there is no backup"), "{said}");
    fill(&machine);
    machine.done(&storage, &["backup", "--prefix", "deep/er"]);
    let part = storage
        .objects()
        .into_iter()
        .find(|path| path.ends_with("part-00001"))
        .expect("a part");
    let mut bytes = std::fs::read(&part).expect("an object");
    bytes[1000] ^= 1;
    std::fs::write(&part, bytes).expect("written");
    let other = Machine::new("redb");
    other.state().put("chats", b"mine", b"stays").expect("kept");
    let said = other.refused(&storage, &["restore", "--prefix", "deep/er", "--force"]);
    assert!(said.contains("part-00001 is not what was stored"), "{said}");
    assert_eq!(
        other
            .state()
            .get("chats", b"mine")
            .expect("read")
            .as_deref(),
        Some(&b"stays"[..])
    );

    let wrong = machine
        .command(&storage, &["backup"])
        .env("CLOUDSTORE_SECRET_ACCESS_KEY", "another")
        .output()
        .expect("it runs");
    assert_eq!(wrong.status.code(), Some(1), "{}", text(&wrong));
    assert!(
        text(&wrong).contains("refuses the keys"),
        "{}",
        text(&wrong)
    );
    let without = machine
        .command(&storage, &["backup"])
        .env_remove("CLOUDSTORE_ACCESS_KEY_ID")
        .env_remove("CLOUDSTORE_SECRET_ACCESS_KEY")
        .output()
        .expect("it runs");
    assert!(
        text(&without).contains("CLOUDSTORE_ACCESS_KEY_ID"),
        "{}",
        text(&without)
    );
    let memory = Machine::new("memory").refused(&storage, &["backup"]);
    assert!(memory.contains("keeps nothing on disk"), "{memory}");
}

#[test]
fn a_running_server_is_not_copied_under_its_feet() {
    let storage = Storage::start();
    let machine = Machine::new("redb");
    std::fs::create_dir(machine.path("data")).expect("a folder");
    let _lock = store::DirectoryLock::take(&machine.path("data"), "search-server").expect("a lock");
    let said = machine.refused(&storage, &["backup"]);
    assert!(
        said.contains(&format!("pid {}", std::process::id())),
        "{said}"
    );
}
