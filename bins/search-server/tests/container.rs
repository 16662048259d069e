//! A container image of the server, made by `bins/dist/image.sh` of this machine's libraries, and
//! started.
//!
//! Where the container engine may not make containers (it wants control groups and namespaces that
//! a container of a build machine does not have), the image's own files are run in its root folder
//! by buildah, which needs neither; where there is no engine at all, the test says so and checks
//! nothing.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]
#![allow(clippy::print_stderr, reason = "a test says what it could not check")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

/// A storage of its own, which goes with the test.
struct Engine {
    folder: tempfile::TempDir,
}

impl Engine {
    fn options(&self) -> Vec<String> {
        let path = |name: &str| self.folder.path().join(name).display().to_string();
        let mut options = vec!["--root".to_owned(), path("store")];
        options.extend(["--runroot".to_owned(), path("run")]);
        options.push("--storage-driver=vfs".to_owned());
        options
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.args(self.options()).stdin(Stdio::null());
        if program == "podman" {
            let scratch = self.folder.path().join("tmp");
            command
                .args(["--cgroup-manager=cgroupfs", "--tmpdir"])
                .arg(scratch);
        }
        command
    }
}

fn text(output: &Output) -> String {
    let both = [&output.stdout[..], &output.stderr[..]].concat();
    String::from_utf8_lossy(&both).into_owned()
}

fn is_installed(program: &str) -> bool {
    let version = Command::new(program).arg("--version").output();
    version.is_ok_and(|output| output.status.success())
}

fn script() -> PathBuf {
    std::path::absolute("../dist/image.sh").expect("a folder to work in")
}

/// Starts a server in a container, asks for its health, and ends it. What is wrong where it never
/// listens.
fn serves(mut command: Command) -> Result<(), String> {
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .unwrap();
    let group = Pid::from_child(&child);
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut said = String::new();
    let address = lines.by_ref().map_while(Result::ok).find_map(|line| {
        said += &format!("{line}\n");
        let url = line
            .contains("server.listening")
            .then(|| line.split("http://").nth(1))??;
        Some(url.split('/').next()?.to_owned())
    });
    let Some(address) = address else {
        let status = child.wait().unwrap();
        return Err(format!("{status}: {said}"));
    };
    let mut stream = TcpStream::connect(&address).unwrap();
    write!(
        stream,
        "GET /readyz HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    // The engine hands it on, or it is in the same group.
    kill_process_group(group, Signal::TERM).unwrap();
    child.wait().unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    let deadline = Instant::now() + Duration::from_secs(30);
    while TcpStream::connect(&address).is_ok() {
        assert!(
            Instant::now() < deadline,
            "the server goes with its container"
        );
        std::thread::yield_now();
    }
    Ok(())
}

/// Builds the image, and gives the name it was tagged with.
fn built_by(engine: &Engine, builder: &str) -> String {
    let server = Path::new(env!("CARGO_BIN_EXE_search-server"));
    let mut options = engine.options();
    if builder == "podman" {
        options.push(format!(
            "--tmpdir={}",
            engine.folder.path().join("tmp").display()
        ));
    }
    let built = Command::new("sh")
        .arg(script())
        .args([
            "--program",
            "search-server",
            "--system",
            "libs",
            "--engine",
            builder,
            "--programs",
        ])
        .arg(server.parent().unwrap())
        .env("ORRERY_ENGINE_OPTIONS", options.join(" "))
        .output()
        .unwrap();
    assert!(built.status.success(), "{}", text(&built));
    let image = String::from_utf8(built.stdout).unwrap().trim().to_owned();
    assert_eq!(
        image,
        format!("orrery-search-server:v{}", env!("CARGO_PKG_VERSION"))
    );
    image
}

#[test]
fn y10_an_image_is_built_tagged_by_the_version_and_serves() {
    let Some(builder) = ["podman", "buildah"]
        .into_iter()
        .find(|one| is_installed(one))
    else {
        eprintln!("neither podman nor buildah is installed: no image was built");
        return;
    };
    let engine = Engine {
        folder: tempfile::tempdir().unwrap(),
    };
    let image = built_by(&engine, builder);
    let listen = ["--listen", "127.0.0.1:0"];
    let mut podman = engine.command(builder);
    podman.args([
        "run",
        "--rm",
        "--network=host",
        "--cgroups=disabled",
        "--pull=never",
    ]);
    podman.arg(format!("localhost/{image}")).args(listen);
    let with_podman = if builder == "podman" {
        serves(podman)
    } else {
        Err("it is not installed".to_owned())
    };
    let Err(reason) = with_podman else {
        return;
    };
    eprintln!(
        "podman makes no containers here ({}): the image is run by buildah in its root folder",
        reason.trim()
    );
    if !is_installed("buildah") {
        eprintln!("buildah is not installed: the image was built, not run");
        return;
    }
    let from = engine
        .command("buildah")
        .args(["from", "--pull-never"])
        .arg(format!("localhost/{image}"))
        .output()
        .unwrap();
    assert!(from.status.success(), "{}", text(&from));
    let container = String::from_utf8(from.stdout).unwrap().trim().to_owned();
    let mut run = engine.command("buildah");
    run.args([
        "run",
        "--isolation=chroot",
        "--network=host",
        &container,
        "--",
        "/usr/local/bin/entrypoint",
    ])
    .args(listen);
    let served = serves(run);
    let removed = engine
        .command("buildah")
        .args(["rm", &container])
        .output()
        .unwrap();
    assert!(removed.status.success(), "{}", text(&removed));
    served.unwrap();
}

#[test]
fn y10_what_cannot_be_built_is_said() {
    let run = |options: &[&str]| {
        let output = Command::new("sh")
            .arg(script())
            .args(options)
            .output()
            .unwrap();
        (output.status.code(), text(&output))
    };
    for (options, code, reason) in [
        (&["--frobnicate"][..], 2, "there is no option --frobnicate"),
        (&["--program", "orchctl"], 2, "there is no server orchctl"),
        (&["--program"], 2, "--program needs a value"),
        (&["--system", "alpine"], 2, "debian or libs"),
        (
            &["--engine", "no-such-engine"],
            1,
            "podman, buildah or docker is needed",
        ),
        (
            &["--engine", "true", "--programs", "/nonexistent"],
            1,
            "build it first",
        ),
    ] {
        let (ended, said) = run(options);
        assert_eq!(ended, Some(code), "{options:?}: {said}");
        assert!(said.contains(reason), "{options:?}: {said}");
    }
}
