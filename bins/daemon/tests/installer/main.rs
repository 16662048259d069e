//! The installer with real curl, tar and sha256sum: releases in a folder, and behind a server with
//! TLS.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

mod bare;
mod latest;
mod release_server;

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use release_server::{serve, serve_plainly};

const SEARCH: [&str; 2] = ["search-server", "service-agent"];
const OTHERS: [&str; 8] = [
    "service-cli",
    "platform",
    "workflow-runner",
    "vm-manager",
    "vm-guest",
    "orchestrator",
    "orchctl",
    "build-dispatch",
];

/// The target of this machine's releases.
fn target() -> String {
    format!("{}-unknown-linux-gnu", std::env::consts::ARCH)
}

/// A folder of releases, a home, and a folder for certificates.
struct Stage {
    folder: tempfile::TempDir,
}

impl Stage {
    /// With releases v1.0.0 and v1.1.0, the newest, of programs that print their name and release.
    fn new() -> Self {
        let stage = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        std::fs::create_dir_all(stage.home()).unwrap();
        for version in ["v1.0.0", "v1.1.0"] {
            stage.release(version);
        }
        std::fs::write(stage.releases().join("latest"), "v1.1.0\n").unwrap();
        stage
    }

    fn releases(&self) -> PathBuf {
        self.folder.path().join("releases")
    }

    fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    fn bin(&self) -> PathBuf {
        self.home().join(".local/bin")
    }

    fn address(&self) -> String {
        format!("file://{}", self.releases().display())
    }

    fn release(&self, version: &str) {
        let folder = self.releases().join(version);
        std::fs::create_dir_all(&folder).unwrap();
        for program in SEARCH.iter().chain(&OTHERS) {
            let script = format!("#!/bin/sh\necho {program} {version}\n");
            std::fs::write(folder.join(program), script).unwrap();
            self.pack(version, program);
            std::fs::remove_file(folder.join(program)).unwrap();
        }
        self.sum(version);
    }

    fn archive(&self, version: &str, program: &str) -> PathBuf {
        let name = format!("{program}-{version}-{}.tar.gz", target());
        self.releases().join(version).join(name)
    }

    fn pack(&self, version: &str, program: &str) {
        let folder = self.releases().join(version);
        let archive = self.archive(version, program);
        let mut tar = Command::new("tar");
        tar.arg("-czf")
            .arg(archive)
            .arg("-C")
            .arg(folder)
            .arg(program);
        assert!(tar.status().unwrap().success());
    }

    fn sum(&self, version: &str) {
        let mut sums = Command::new("sh");
        sums.args(["-c", "sha256sum *.tar.gz > SHA256SUMS"]);
        sums.current_dir(self.releases().join(version));
        assert!(sums.status().unwrap().success());
    }

    fn command(&self, releases: &str, options: &[&str]) -> Command {
        let script = std::path::absolute("../dist/install.sh").expect("a folder to work in");
        let mut command = Command::new("sh");
        command.arg(script).args(options);
        command.env("HOME", self.home());
        command.env("ORRERY_RELEASES", releases);
        command
    }

    fn install(&self, options: &[&str]) -> Output {
        self.command(&self.address(), options).output().unwrap()
    }

    /// What was installed into a folder: what each program prints.
    fn installed(folder: &Path) -> BTreeMap<String, String> {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let run = |path: PathBuf| {
            let mode = std::fs::metadata(&path).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o755, "{}", path.display());
            let stdout_of = Command::new(&path).output().unwrap().stdout;
            String::from_utf8(stdout_of).unwrap().trim().to_owned()
        };
        entries
            .map(|entry| (entry.file_name().into_string().unwrap(), run(entry.path())))
            .collect()
    }

    fn names(&self) -> Vec<String> {
        Self::installed(&self.bin()).into_keys().collect()
    }
}

fn stdout_of(output: &Output) -> String {
    let out = String::from_utf8_lossy(&output.stdout);
    format!("{out}{}", String::from_utf8_lossy(&output.stderr))
}

#[test]
fn the_newest_release_goes_where_programs_of_a_person_are() {
    let stage = Stage::new();
    let output = stage.install(&[]);
    assert!(output.status.success(), "{}", stdout_of(&output));
    let installed = Stage::installed(&stage.bin());
    assert_eq!(installed.keys().collect::<Vec<_>>(), SEARCH);
    assert_eq!(installed["search-server"], "search-server v1.1.0");
    assert!(
        stdout_of(&output).contains("is not in your PATH"),
        "{}",
        stdout_of(&output)
    );
}

#[test]
fn options_choose_programs_and_release() {
    let cases: [(&[&str], &[&str]); 4] = [
        (
            &["--with-cli"],
            &["search-server", "service-agent", "service-cli"],
        ),
        (&["--cli-only"], &["service-cli"]),
        (&["--version", "1.0.0"], &SEARCH),
        (
            &["--all", "--version=v1.0.0", "--verbose"],
            &[
                "build-dispatch",
                "orchctl",
                "orchestrator",
                "platform",
                "search-server",
                "service-agent",
                "service-cli",
                "vm-guest",
                "vm-manager",
                "workflow-runner",
            ],
        ),
    ];
    for (options, expected) in cases {
        let stage = Stage::new();
        let output = stage.install(options);
        assert!(
            output.status.success(),
            "{options:?}: {}",
            stdout_of(&output)
        );
        assert_eq!(stage.names(), expected, "{options:?}");
        let old = options.iter().any(|option| option.contains("1.0.0"));
        let version = if old { "v1.0.0" } else { "v1.1.0" };
        for (program, says) in Stage::installed(&stage.bin()) {
            assert_eq!(says, format!("{program} {version}"));
        }
    }
}

#[test]
fn s17_a_wrong_checksum_stops_and_changes_nothing_unless_told_otherwise() {
    let stage = Stage::new();
    assert!(stage.install(&["--version", "v1.0.0"]).status.success());
    // The second of two archives: the first one must not be in place either.
    let folder = stage.releases().join("v1.1.0");
    std::fs::write(folder.join("service-agent"), "#!/bin/sh\necho evil\n").unwrap();
    stage.pack("v1.1.0", "service-agent");
    let output = stage.install(&[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stdout_of(&output).contains("is not what was released"),
        "{}",
        stdout_of(&output)
    );
    let before = Stage::installed(&stage.bin());
    assert_eq!(before["search-server"], "search-server v1.0.0");
    assert_eq!(before["service-agent"], "service-agent v1.0.0");

    let output = stage.install(&["--skip-verify"]);
    assert!(output.status.success(), "{}", stdout_of(&output));
    assert_eq!(Stage::installed(&stage.bin())["service-agent"], "evil");
}

#[test]
fn s17_checksums_that_are_missing_or_name_something_else_stop() {
    let stage = Stage::new();
    let sums = stage.releases().join("v1.1.0/SHA256SUMS");
    let lines = std::fs::read_to_string(&sums).unwrap();
    let others = lines.lines().filter(|line| !line.contains("service-agent"));
    std::fs::write(&sums, others.collect::<Vec<_>>().join("\n")).unwrap();
    let output = stage.install(&[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stdout_of(&output).contains("does not name service-agent"),
        "{}",
        stdout_of(&output)
    );
    std::fs::remove_file(&sums).unwrap();
    let output = stage.install(&[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stdout_of(&output).contains("checksums"),
        "{}",
        stdout_of(&output)
    );
    assert_eq!(stage.names(), Vec::<String>::new());
}

#[test]
fn s17_a_folder_with_spaces_and_quotes_is_a_folder_like_others() {
    let stage = Stage::new();
    let place = stage.home().join("my \"own\" $HOME programs; rm -rf");
    let output = stage.install(&["--install-dir", place.to_str().unwrap()]);
    assert!(output.status.success(), "{}", stdout_of(&output));
    let installed = Stage::installed(&place);
    assert_eq!(installed.keys().collect::<Vec<_>>(), SEARCH);
}

#[test]
fn a_program_that_runs_is_replaced_under_it() {
    let stage = Stage::new();
    assert!(stage.install(&["--version", "v1.0.0"]).status.success());
    // A real program keeps its file from being written: `Text file busy`.
    let place = stage.bin().join("search-server");
    std::fs::copy("/bin/sleep", &place).unwrap();
    let mut running = Command::new(&place).arg("60").spawn().unwrap();
    let output = stage.install(&[]);
    running.kill().unwrap();
    running.wait().unwrap();
    assert!(output.status.success(), "{}", stdout_of(&output));
    assert_eq!(
        Stage::installed(&stage.bin())["search-server"],
        "search-server v1.1.0"
    );
}

#[test]
fn what_cannot_be_done_is_said_and_nothing_is_changed() {
    let cases: [(&str, &[&str], i32, &str); 9] = [
        (
            "file",
            &["--frobnicate"],
            2,
            "there is no option --frobnicate",
        ),
        ("file", &["--version"], 2, "--version needs a value"),
        ("file", &["--version", "../../etc"], 2, "is no release"),
        ("file", &["--version", "v9.9.9"], 1, "cannot be fetched"),
        ("file", &["--cli-only", "--all"], 2, "exclude each other"),
        (
            "file",
            &["--install-dir", "/dev/null/x"],
            1,
            "choose another one",
        ),
        ("", &[], 1, "Set ORRERY_RELEASES"),
        ("http://127.0.0.1:9", &[], 1, "not protected by TLS"),
        ("ftp://example.org", &[], 1, "https:// or file://"),
    ];
    let stage = Stage::new();
    for (releases, options, code, reason) in cases {
        let address = stage.address();
        let releases = if releases == "file" {
            &address
        } else {
            releases
        };
        let output = stage.command(releases, options).output().unwrap();
        assert_eq!(
            output.status.code(),
            Some(code),
            "{options:?}: {}",
            stdout_of(&output)
        );
        assert!(
            stdout_of(&output).contains(reason),
            "{options:?}: {}",
            stdout_of(&output)
        );
        assert_eq!(stage.names(), Vec::<String>::new());
    }
    for option in ["--help", "-h"] {
        let output = stage.install(&[option]);
        assert!(output.status.success());
        for named in [
            "--install-dir",
            "--with-cli",
            "--cli-only",
            "--version",
            "--skip-verify",
        ] {
            assert!(stdout_of(&output).contains(named), "{named}");
        }
    }
}

#[test]
fn an_archive_that_leads_elsewhere_is_refused() {
    let stage = Stage::new();
    let folder = stage.releases().join("v1.1.0");
    std::os::unix::fs::symlink("/bin/sh", folder.join("search-server")).unwrap();
    stage.pack("v1.1.0", "search-server");
    stage.sum("v1.1.0");
    let output = stage.install(&[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stdout_of(&output).contains("is no file"),
        "{}",
        stdout_of(&output)
    );
    assert_eq!(stage.names(), Vec::<String>::new());
}

#[test]
fn a_release_is_fetched_over_tls_from_a_server_that_is_trusted() {
    let stage = Stage::new();
    let certificate = stage.folder.path().join("server.pem");
    let address = serve(stage.releases(), &certificate, None);
    let output = stage.command(&address, &[]).output().unwrap();
    assert_eq!(
        output.status.code(),
        Some(1),
        "nobody knows the certificate"
    );
    assert_eq!(stage.names(), Vec::<String>::new());
    let mut command = stage.command(&address, &[]);
    let output = command
        .env("CURL_CA_BUNDLE", &certificate)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", stdout_of(&output));
    assert_eq!(stage.names(), SEARCH);
}

#[test]
fn s17_a_redirect_to_a_server_without_tls_stops_unless_told_otherwise() {
    let stage = Stage::new();
    let certificate = stage.folder.path().join("server.pem");
    let plain = serve_plainly(stage.releases());
    let empty = stage.folder.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    let address = serve(empty, &certificate, Some(plain));
    let with = |options: &[&str]| {
        let mut command = stage.command(&address, options);
        command.env("CURL_CA_BUNDLE", &certificate);
        command.output().unwrap()
    };
    let output = with(&["--version", "v1.1.0"]);
    assert_eq!(output.status.code(), Some(1), "{}", stdout_of(&output));
    assert!(
        stdout_of(&output).contains("nothing was installed"),
        "{}",
        stdout_of(&output)
    );
    assert_eq!(stage.names(), Vec::<String>::new());
    let output = with(&["--version", "v1.1.0", "--skip-verify"]);
    assert!(output.status.success(), "{}", stdout_of(&output));
    assert_eq!(stage.names(), SEARCH);
}

#[test]
fn the_newest_release_of_a_forge_is_found_by_its_page() {
    let stage = Stage::new();
    let certificate = stage.folder.path().join("server.pem");
    // As forges lay it out: /releases/latest leads to /releases/tag/v1.1.0.
    let root = stage.folder.path().join("forge");
    let releases = root.join("me/orrery/releases");
    std::fs::create_dir_all(releases.join("tag")).unwrap();
    std::fs::rename(stage.releases(), releases.join("download")).unwrap();
    std::fs::write(releases.join("tag/v1.1.0"), "a page").unwrap();
    std::fs::write(
        releases.join("latest.moved"),
        "/me/orrery/releases/tag/v1.1.0",
    )
    .unwrap();
    let address = serve(root, &certificate, None);
    let mut command = stage.command(&format!("{address}/me/orrery/releases/download"), &[]);
    let output = command
        .env("CURL_CA_BUNDLE", &certificate)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", stdout_of(&output));
    assert_eq!(
        Stage::installed(&stage.bin())["service-agent"],
        "service-agent v1.1.0"
    );
}
