//! Images in object storage, as programs; without a VM.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use scripted_peers::s3::{ACCESS_KEY, BUCKET, S3Server, SECRET_KEY};
use tempfile::TempDir;

use crate::manager::{program, text};

/// Bytes of a chunk.
const CHUNK: usize = 4 << 20;

/// A host with a configuration that names the storage.
pub(crate) struct SharedHost {
    pub(crate) home: TempDir,
}

impl SharedHost {
    /// `settings` stand before the table of the storage.
    pub(crate) fn new(server: &S3Server, settings: &str) -> Self {
        Self::at(&server.endpoint(), settings)
    }

    /// With a storage at this address.
    pub(crate) fn at(endpoint: &str, settings: &str) -> Self {
        let home = tempfile::tempdir().expect("a folder");
        let file = format!(
            "{settings}\n[objects]\nurl = \"s3://{BUCKET}/vms\"\nendpoint = \"{endpoint}\"\ngrace = \"1s\"\n"
        );
        fs::write(home.path().join("vm-manager.toml"), file).expect("it can be written");
        Self { home }
    }

    pub(crate) fn command(&self) -> Command {
        let mut command = program(self.home.path());
        command
            .args(["--config", "vm-manager.toml"])
            .env("AWS_ACCESS_KEY_ID", ACCESS_KEY)
            .env("AWS_SECRET_ACCESS_KEY", SECRET_KEY);
        command
    }

    fn image_command(&self, arguments: &[&str]) -> Command {
        let mut command = self.command();
        command.arg("image").args(arguments);
        command
    }

    pub(crate) fn image(&self, arguments: &[&str]) -> Output {
        self.image_command(arguments).output().expect("it starts")
    }

    /// What the command prints, which must end well.
    pub(crate) fn done(&self, arguments: &[&str]) -> String {
        let output = self.image(arguments);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output));
        text(&output)
    }

    /// Starts the command, and kills it when it has said that a part of its work is done.
    fn killed_at_work(&self, arguments: &[&str]) {
        let mut command = self.image_command(arguments);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = child.spawn().expect("it starts");
        let lines = BufReader::new(child.stderr.take().expect("piped")).lines();
        let said = lines
            .map_while(Result::ok)
            .find(|line| line.contains(" MiB "));
        assert!(said.is_some(), "it ended before");
        child.kill().expect("it is ours");
        let output = child.wait_with_output().expect("it has ended");
        assert_eq!(output.status.code(), None, "it was still at work");
        assert!(output.stdout.is_empty(), "{}", text(&output));
    }

    /// Imports an image of so many chunks that no two of are alike; its digest.
    pub(crate) fn import(&self, name: &str, chunks: usize) -> String {
        let disk = self.home.path().join("disk");
        let mut bytes = vec![0; chunks * CHUNK];
        blake3::Hasher::new()
            .update(name.as_bytes())
            .finalize_xof()
            .fill(&mut bytes);
        // What makes it an ext4 file system.
        bytes[1080..1082].copy_from_slice(&[0x53, 0xef]);
        fs::write(&disk, bytes).expect("it can be written");
        let printed = self.done(&["import", disk.to_str().expect("a plain path"), name]);
        fs::remove_file(disk).expect("it is there");
        let digest = printed.split("blake3:").nth(1).expect("its digest");
        digest[..64].to_owned()
    }
}

/// The chunks that the storage has.
pub(crate) fn chunks_of(server: &S3Server) -> Vec<PathBuf> {
    let folder = server.bucket().join("vms/images/chunks");
    let is_chunk = |path: &PathBuf| {
        // The server's own notes about objects stand beside them.
        let name = path.file_name().and_then(|name| name.to_str());
        path.starts_with(&folder) && name.is_some_and(|name| !name.starts_with('.'))
    };
    server.objects().into_iter().filter(is_chunk).collect()
}

/// The number before a word.
fn number(printed: &str, before: &str) -> usize {
    let words: Vec<&str> = printed.split_whitespace().collect();
    let at = (0..words.len()).find(|at| words[*at..].join(" ").starts_with(before));
    let at = at.unwrap_or_else(|| panic!("no {before} in {printed}"));
    words[at - 1]
        .trim_start_matches('(')
        .parse()
        .expect(printed)
}

#[test]
fn i18_a_push_and_a_pull_that_are_killed_go_on() {
    const CHUNKS: usize = 60;
    let server = S3Server::start();
    let (maker, other) = (SharedHost::new(&server, ""), SharedHost::new(&server, ""));
    let digest = maker.import("large", CHUNKS);
    maker.killed_at_work(&["push", "large"]);
    assert_eq!(
        other.done(&["list", "--remote"]),
        "",
        "there is no half of an image"
    );
    let refused = other.image(&["pull", "large"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(
        text(&refused).contains("no image large"),
        "{}",
        text(&refused)
    );
    let sent = chunks_of(&server).len();
    let pushed = maker.done(&["push", "large"]);
    let (known, new) = (
        number(&pushed, "there already"),
        number(&pushed, "chunks sent"),
    );
    assert!(known > 0, "{pushed}");
    assert!(
        new < CHUNKS && known + new == CHUNKS && known <= sent,
        "{pushed}"
    );
    assert!(
        maker
            .done(&["push", "large"])
            .contains(": 0 chunks sent (0 MiB)")
    );

    other.killed_at_work(&["pull", "large"]);
    assert_eq!(other.done(&["list"]), "", "there is no half of an image");
    let pulled = other.done(&["pull", "large"]);
    assert!(pulled.contains(&digest), "{pulled}");
    let there = number(&pulled, "MiB there");
    let fetched = number(&pulled, "MiB fetched,");
    assert!(there >= 24 && there + fetched == 4 * CHUNKS, "{pulled}");
    let listed = other.done(&["list"]);
    assert!(
        listed.contains(&digest) && listed.contains("large"),
        "{listed}"
    );
    let remote = other.done(&["list", "--remote"]);
    assert!(
        remote.contains("here too") && remote.contains("imported from"),
        "{remote}"
    );
}

#[test]
fn i18_images_move_to_another_place_through_a_kill() {
    const CHUNKS: usize = 40;
    let (server, folder) = (S3Server::start(), tempfile::tempdir().expect("a folder"));
    let host = SharedHost::new(&server, "");
    let digest = host.import("large", CHUNKS);
    host.done(&["push", "large"]);
    let to = format!("file://{}", folder.path().display());
    host.killed_at_work(&["migrate", "--to", &to]);
    assert!(!folder.path().join("images/index.json").exists());
    let moved = host.done(&["migrate", "--to", &to]);
    let (sent, known) = (
        number(&moved, "chunks copied"),
        number(&moved, "there already"),
    );
    assert!(known > 0 && sent + known == CHUNKS, "{moved}");
    let again = host.done(&["migrate", "--to", &to]);
    assert!(
        again.contains("1 images are in") && again.contains(" 0 chunks"),
        "{again}"
    );
    let other = SharedHost::new(&server, "");
    let file = format!("[objects]\nurl = \"{to}\"\n");
    fs::write(other.home.path().join("vm-manager.toml"), file).expect("it can be written");
    assert!(other.done(&["pull", "large"]).contains(&digest));
    let same = other.image(&["migrate", "--to", &to]);
    assert_eq!(same.status.code(), Some(1), "{}", text(&same));
}

#[test]
fn i18_what_is_removed_from_the_storage_goes_after_its_grace() {
    let server = S3Server::start();
    let host = SharedHost::new(&server, "");
    host.import("one", 2);
    host.done(&["push", "one"]);
    host.import("two", 3);
    host.done(&["push", "two"]);
    assert!(
        host.done(&["remove", "--remote", "two"])
            .contains("blake3:")
    );
    // A manifest and three chunks, each as soon as it is a second old.
    let began = std::time::Instant::now();
    let mut removed = 0;
    while removed < 4 {
        let swept = host.done(&["sweep"]);
        removed += number(&swept, "objects");
        assert!(began.elapsed().as_secs() < 60, "{swept}");
    }
    assert_eq!(removed, 4);
    assert!(!host.done(&["list", "--remote"]).contains("two"));
    assert!(host.done(&["list"]).contains("two"), "here it stays");
    let again = host.done(&["push", "two"]);
    assert!(again.contains(": 3 chunks sent"), "{again}");
}

#[test]
fn i18_without_a_storage_it_is_said_where_to_name_one() {
    let home = tempfile::tempdir().expect("a folder");
    for arguments in [["push", "default"], ["list", "--remote"]] {
        let mut command = program(home.path());
        let output = command
            .arg("image")
            .args(arguments)
            .output()
            .expect("it starts");
        assert_eq!(output.status.code(), Some(1));
        assert!(
            text(&output).contains("`url` in [objects]"),
            "{}",
            text(&output)
        );
    }
    let server = S3Server::start();
    let host = SharedHost::new(&server, "");
    let mut command = host.image_command(&["list", "--remote"]);
    let output = command
        .env_remove("AWS_ACCESS_KEY_ID")
        .output()
        .expect("it starts");
    assert_eq!(output.status.code(), Some(1));
    assert!(
        text(&output).contains("AWS_ACCESS_KEY_ID"),
        "{}",
        text(&output)
    );
}
