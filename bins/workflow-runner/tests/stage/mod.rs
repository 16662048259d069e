//! A repository of actions, a store and a working tree, run by `workflow-runner exec` in a real
//! namespace sandbox.
#![allow(dead_code, reason = "each test program uses a part of it")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use scripted_peers::git;
use tempfile::TempDir;

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

pub(crate) fn write(folder: &Path, files: &[(&str, &str)]) {
    for (path, text) in files {
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}

/// A repository of actions, a runner's configuration with a store, a manager's with the namespace
/// driver.
pub(crate) struct Stage {
    folder: TempDir,
}

impl Stage {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let agent = std::env::var("ORRERY_VM_GUEST")
            .expect("ORRERY_VM_GUEST names the agent: run the tests by `cargo xtask test`");
        let at = |name: &str| folder.path().join(name);
        let manager = format!(
            "data_dir = {:?}\nagent = {agent:?}\ndriver = \"namespace-sandbox\"\n",
            at("vms")
        );
        let runner = format!(
            "data_dir = {:?}\n[machines.default]\nisolation_min = \"namespace-sandbox\"\n",
            at("runner")
        );
        write(
            folder.path(),
            &[
                ("vm.toml", manager.as_str()),
                ("runner.toml", runner.as_str()),
            ],
        );
        Self { folder }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_workflow-runner"));
        command.current_dir(self.folder.path()).args(arguments);
        command.args(["--config", "runner.toml"]);
        command.env("VM_MANAGER_CONFIG", self.path("vm.toml"));
        command.env_remove("VMM_API_URL");
        command.output().unwrap()
    }

    /// Commits these files as a repository of actions, and locks it as `acme/actions@v1`.
    pub(crate) fn add(&self, files: &[(&str, &str)]) -> String {
        self.add_as("acme/actions@v1", files)
    }

    /// The same as `reference`, whose version is `v1`.
    pub(crate) fn add_as(&self, reference: &str, files: &[(&str, &str)]) -> String {
        let upstream = self.path("upstream");
        std::fs::create_dir_all(&upstream).unwrap();
        git(
            &upstream,
            &["init", "--quiet", "--initial-branch=main", "."],
        );
        write(&upstream, files);
        git(&upstream, &["add", "--all", "--force"]);
        git(&upstream, &["commit", "--quiet", "-m", "actions"]);
        git(&upstream, &["tag", "v1"]);
        let added = self.run(&["actions", "add", reference, "--from", "upstream"]);
        assert!(added.status.success(), "{}", text(&added.stderr));
        git(&upstream, &["rev-parse", "HEAD"])
    }

    /// Adds lines to the runner's configuration, before its tables.
    pub(crate) fn add_settings(&self, lines: &str) {
        let file = self.path("runner.toml");
        let before = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, format!("{lines}{before}")).unwrap();
    }

    /// Runs a workflow of the working tree, which is made if there is none; gives its exit code,
    /// and what it printed.
    pub(crate) fn exec(&self, workflow: &str) -> (Option<i32>, String) {
        self.exec_with(workflow, &[])
    }

    /// Makes the working tree, if there is none.
    pub(crate) fn make_tree(&self) {
        let tree = self.path("tree");
        if !tree.exists() {
            std::fs::create_dir(&tree).unwrap();
            git(&tree, &["init", "--quiet", "--initial-branch=main", "."]);
        }
    }

    pub(crate) fn exec_with(&self, workflow: &str, more: &[&str]) -> (Option<i32>, String) {
        self.make_tree();
        let tree = self.path("tree");
        write(&tree, &[(".github/workflows/ci.yml", workflow)]);
        let output = self.run(&[&["exec", "tree"], more].concat());
        let said = text(&output.stdout) + &text(&output.stderr);
        (output.status.code(), said)
    }
}

/// Says in which order things stand in a text.
pub(crate) fn in_order(said: &str, parts: &[&str]) {
    let mut from = 0;
    for part in parts {
        let Some(at) = said[from..].find(part) else {
            panic!("{part:?} does not come (again) after {from} in:\n{said}");
        };
        from += at + part.len();
    }
}

/// Folders of packages that no program loads.
const NOT_LOADED: [&str; 4] = ["typescript", "@bufbuild", "browser", "react-native"];

/// The part of a folder of packages that programs load.
pub(crate) fn copy_modules(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        let name = entry.file_name().to_string_lossy().into_owned();
        let kind = entry.file_type().unwrap();
        let ends = [".js", ".cjs", ".mjs", "package.json"];
        if kind.is_dir() && !NOT_LOADED.contains(&name.as_str()) {
            copy_modules(&from, &to);
        } else if kind.is_file() && ends.iter().any(|end| name.ends_with(end)) {
            std::fs::copy(&from, &to).unwrap();
        }
    }
}
