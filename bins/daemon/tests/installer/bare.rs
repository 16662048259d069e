//! The installer on a machine that has little, and what it takes away again.

use std::os::unix::fs::symlink;

use super::*;

/// What every Debian system has, of which the installer may use anything: coreutils, and the
/// essential packages tar, gzip, grep, sed and mawk.
const ESSENTIAL: [&str; 31] = [
    "cat",
    "chmod",
    "cksum",
    "cp",
    "cut",
    "dirname",
    "basename",
    "head",
    "id",
    "ln",
    "ls",
    "mkdir",
    "mktemp",
    "mv",
    "printf",
    "rm",
    "rmdir",
    "sha256sum",
    "sort",
    "tail",
    "touch",
    "tr",
    "uname",
    "wc",
    "env",
    "tar",
    "gzip",
    "grep",
    "sed",
    "awk",
    "sh",
];

/// A folder of these programs alone, to be the `PATH`.
fn path_of(stage: &Stage, getter: Option<&str>) -> PathBuf {
    let folder = stage.folder.path().join("path");
    std::fs::create_dir_all(&folder).unwrap();
    for name in ESSENTIAL.iter().copied().chain(getter) {
        let place = ["/usr/bin", "/bin"].map(|place| Path::new(place).join(name));
        let place = place.iter().find(|place| place.exists());
        let place = place.unwrap_or_else(|| panic!("{name} is not on this machine"));
        let _ = symlink(place, folder.join(name));
    }
    folder
}

fn bare(stage: &Stage, getter: Option<&str>, releases: &str, options: &[&str]) -> Command {
    let mut command = stage.command(releases, options);
    command.env_clear().env("HOME", stage.home());
    command.env("PATH", path_of(stage, getter));
    command.env("ORRERY_RELEASES", releases);
    command
}

/// Manuals, completions and units for the releases of a stage.
fn share(stage: &Stage) {
    for version in ["v1.0.0", "v1.1.0"] {
        let folder = stage.releases().join(version);
        let work = stage.folder.path().join("share-work");
        for (place, text) in [
            ("share/man/man1/search-server.1", ".TH search-server 1\n"),
            ("share/man/man1/orchctl.1", ".TH orchctl 1\n"),
            (
                "share/bash-completion/completions/search-server",
                "complete\n",
            ),
            ("share/zsh/vendor-completions/_search-server", "#compdef\n"),
            (
                "share/fish/vendor_completions.d/search-server.fish",
                "complete\n",
            ),
            (
                "systemd/orrery-search.service",
                "ExecStart=/usr/local/bin/search-server\n",
            ),
        ] {
            let path = work.join(place);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, format!("{text}# {version}\n")).unwrap();
        }
        let mut tar = Command::new("tar");
        tar.arg("-czf")
            .arg(folder.join(format!("orrery-share-{version}.tar.gz")));
        tar.arg("-C").arg(&work).args(["share", "systemd"]);
        assert!(tar.status().unwrap().success());
        stage.sum(version);
    }
}

/// Everything below a folder, with the text of files.
fn tree(folder: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut open = vec![folder.to_owned()];
    while let Some(place) = open.pop() {
        for entry in std::fs::read_dir(&place).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(folder).unwrap().display().to_string();
            if path.is_dir() {
                found.insert(name, String::new());
                open.push(path);
            } else {
                found.insert(name, std::fs::read_to_string(&path).unwrap());
            }
        }
    }
    found
}

#[test]
fn wget_fetches_where_curl_is_missing_and_follows_no_redirect_without_tls() {
    let stage = Stage::new();
    share(&stage);
    let certificate = stage.folder.path().join("server.pem");
    let address = serve(stage.releases(), &certificate, None);
    let refused = bare(&stage, Some("wget"), &address, &[]).output().unwrap();
    assert_eq!(
        refused.status.code(),
        Some(1),
        "nobody knows the certificate"
    );
    assert_eq!(stage.names(), Vec::<String>::new());
    let settings = stage.folder.path().join("wgetrc");
    std::fs::write(
        &settings,
        format!("ca_certificate = {}\n", certificate.display()),
    )
    .unwrap();
    let with = |address: &str, options: &[&str]| {
        let mut command = bare(&stage, Some("wget"), address, options);
        command.env("WGETRC", &settings).output().unwrap()
    };
    let output = with(&address, &[]);
    assert!(output.status.success(), "{}", stdout_of(&output));
    assert_eq!(stage.names(), SEARCH);
    assert!(
        stage
            .home()
            .join(".local/share/man/man1/search-server.1")
            .exists()
    );

    let empty = stage.folder.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    let plain = serve_plainly(stage.releases());
    let elsewhere = stage.folder.path().join("other.pem");
    let leads_away = serve(empty, &elsewhere, Some(plain));
    std::fs::write(
        &settings,
        format!("ca_certificate = {}\n", elsewhere.display()),
    )
    .unwrap();
    let output = with(&leads_away, &["--version", "v1.0.0"]);
    assert_eq!(output.status.code(), Some(1), "{}", stdout_of(&output));
    assert!(
        stdout_of(&output).contains("is not protected by TLS"),
        "{}",
        stdout_of(&output)
    );
    let output = with(&leads_away, &["--version", "v1.0.0", "--skip-verify"]);
    assert!(output.status.success(), "{}", stdout_of(&output));
    assert_eq!(
        Stage::installed(&stage.bin())["search-server"],
        "search-server v1.0.0"
    );
}

#[test]
fn a_folder_of_archives_is_enough_and_nothing_is_fetched() {
    let stage = Stage::new();
    share(&stage);
    let releases = stage.releases().display().to_string();
    let output = bare(&stage, None, "", &["--from", &releases])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", stdout_of(&output));
    assert_eq!(
        Stage::installed(&stage.bin())["search-server"],
        "search-server v1.1.0"
    );
    // The archives of one release, as somebody carried them over.
    let alone = stage.releases().join("v1.0.0").display().to_string();
    let output = bare(&stage, None, "", &["--from", &alone])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", stdout_of(&output));
    assert_eq!(
        Stage::installed(&stage.bin())["search-server"],
        "search-server v1.0.0"
    );
    std::fs::write(stage.archive("v1.0.0", "service-agent"), "something else").unwrap();
    let output = bare(&stage, None, "", &["--from", &alone])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stdout_of(&output).contains("is not what was released"),
        "{}",
        stdout_of(&output)
    );
}

#[test]
fn uninstall_leaves_what_was_there_before_and_what_was_changed_since() {
    for (shell, profile) in [
        ("/bin/bash", ".bashrc"),
        ("/usr/bin/zsh", ".zshrc"),
        ("/usr/bin/fish", ".config/fish/conf.d/orrery.fish"),
    ] {
        let stage = Stage::new();
        share(&stage);
        std::fs::write(stage.home().join(".bashrc"), "# mine\n").unwrap();
        std::fs::create_dir_all(stage.home().join(".local/share/orrery/search")).unwrap();
        let before = tree(&stage.home());
        let releases = stage.releases().display().to_string();
        let run = |options: &[&str]| {
            let mut command = bare(&stage, None, "", options);
            let output = command.env("SHELL", shell).output().unwrap();
            assert!(output.status.success(), "{}", stdout_of(&output));
            stdout_of(&output)
        };
        run(&["--from", &releases, "--version", "v1.0.0"]);
        let said = run(&["--from", &releases]);
        assert!(said.contains(profile), "{said}");
        let text = std::fs::read_to_string(stage.home().join(profile)).unwrap();
        assert_eq!(
            text.matches(">>> orrery").count(),
            1,
            "once, however often: {text}"
        );
        let after = tree(&stage.home());
        for name in [
            ".local/share/man/man1/search-server.1",
            ".local/share/bash-completion/completions/search-server",
            ".local/share/zsh/site-functions/_search-server",
            ".local/share/fish/vendor_completions.d/search-server.fish",
        ] {
            assert!(after[name].contains("v1.1.0"), "{name}");
        }
        assert!(
            !after.contains_key(".local/share/man/man1/orchctl.1"),
            "not installed"
        );
        let changed = stage.home().join(".local/share/man/man1/search-server.1");
        std::fs::write(&changed, "mine now").unwrap();
        let said = run(&["--uninstall"]);
        assert!(said.contains("was changed since, and is kept"), "{said}");
        assert!(said.contains("data are kept in"), "{said}");
        std::fs::remove_file(&changed).unwrap();
        for folder in [".local/share/man/man1", ".local/share/man"] {
            std::fs::remove_dir(stage.home().join(folder)).unwrap();
        }
        assert_eq!(tree(&stage.home()), before, "{shell}");
    }
}

#[test]
fn a_line_of_the_profile_is_understood_by_its_shell() {
    let stage = Stage::new();
    let releases = stage.releases().display().to_string();
    let place = stage.home().join("it's here/bin");
    let options = [
        "--from",
        &releases,
        "--install-dir",
        &place.display().to_string(),
    ];
    for (shell, arguments) in [
        ("bash", ["-i", "-c"]),
        ("zsh", ["-i", "-c"]),
        ("fish", ["-i", "-c"]),
    ] {
        let Some(program) = ["/usr/bin", "/bin"]
            .iter()
            .map(|folder| Path::new(folder).join(shell))
            .find(|program| program.exists())
        else {
            continue;
        };
        let mut install = bare(&stage, None, "", &options);
        let output = install.env("SHELL", &program).output().unwrap();
        assert!(output.status.success(), "{}", stdout_of(&output));
        let mut ask = Command::new(&program);
        ask.args(arguments).arg("search-server").env_clear();
        ask.env("HOME", stage.home())
            .env("PATH", "/usr/bin:/bin")
            .env("TERM", "dumb");
        let said = ask.output().unwrap();
        assert!(
            stdout_of(&said).contains("search-server v1.1.0"),
            "{shell}: {}",
            stdout_of(&said)
        );
    }
}
