//! The samples of a cluster: every file is taken by its program, and they agree with each other.

use std::path::{Path, PathBuf};
use std::process::Command;

use s3_server::{ACCESS_KEY, S3Server, SECRET_KEY};

fn samples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config-samples/cluster")
}

fn read(name: &str) -> String {
    std::fs::read_to_string(samples().join(name)).expect("a sample")
}

/// A program that is built beside this one, without this machine's settings.
fn program(name: &str) -> Command {
    let path = Path::new(env!("CARGO_BIN_EXE_platform")).with_file_name(name);
    let mut command = Command::new(path);
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command
}

fn output(command: &mut Command) -> (bool, String) {
    let output = command.output().expect("`cargo xtask test` has built it");
    let both = [output.stdout, output.stderr].concat();
    (
        output.status.success(),
        String::from_utf8_lossy(&both).into_owned(),
    )
}

#[test]
fn i18_the_orchestrators_sample_is_taken_on_every_host() {
    let folder = tempfile::tempdir().expect("a folder");
    let project = folder.path().join("project");
    let made = Command::new("git")
        .args(["init", "--quiet"])
        .arg(&project)
        .status();
    assert!(made.expect("git").success());
    let file = folder.path().join("orchestrator.toml");
    std::fs::copy(samples().join("orchestrator.toml"), &file).expect("it is new");
    let storage = S3Server::start();
    let check = |advertise: Option<&str>| {
        let mut check = program("orchestrator");
        check.arg("--check").arg(&file).env("HOME", folder.path());
        check.env("ORCH_PROJECT_DIR", &project);
        for name in [
            "ORCH_WEBHOOK_SECRET",
            "ORCH_FORGE_TOKEN",
            "ORCH_ADMIN_TOKEN",
        ] {
            check.env(name, "0123456789abcdef0123456789abcdef");
        }
        check.env("ORRERY_OBJECTS_ENDPOINT", storage.endpoint());
        check.env("AWS_ACCESS_KEY_ID", ACCESS_KEY);
        check.env("AWS_SECRET_ACCESS_KEY", SECRET_KEY);
        check.env("ORCH_STORE_URL", "postgresql://o:p@db.example/orrery");
        check.envs(advertise.map(|advertise| ("ORRERY_ADVERTISE", advertise)));
        output(&mut check)
    };
    for host in ["ci-1.example:3200", "orchestrator-2:3200"] {
        let (taken, printed) = check(Some(host));
        assert!(taken, "{printed}");
    }
    let (taken, printed) = check(None);
    assert!(!taken && printed.contains("ORRERY_ADVERTISE"), "{printed}");
    let (taken, printed) = check(Some("no port"));
    assert!(!taken && printed.contains("advertise"), "{printed}");
}

#[test]
fn i18_the_vm_managers_sample_is_understood() {
    let mut show = program("vm-manager");
    show.args(["config", "--show", "--config"])
        .arg(samples().join("vm-manager.toml"));
    let (taken, printed) = output(show.env("HOME", "/nonexistent"));
    assert!(taken && printed.contains("vm-1.example"), "{printed}");
}

#[test]
fn i18_the_balancer_leads_where_the_processes_listen() {
    let balancer = read("haproxy.cfg");
    for (backend, file) in [
        ("runners", "runner.toml"),
        ("orchestrators", "orchestrator.toml"),
    ] {
        let settings: toml::Table = read(file).parse().expect("TOML");
        let listen = settings["listen"].as_str().expect("an address");
        let port = listen.rsplit(':').next().expect("a port");
        let (_, section) = balancer
            .split_once(&format!("\nbackend {backend}\n"))
            .expect("a backend");
        let section = section.split("\nbackend ").next().expect("its lines");
        assert!(section.contains("option httpchk GET /readyz"), "{section}");
        let servers = section
            .lines()
            .filter(|line| line.trim().starts_with("server "));
        let servers: Vec<&str> = servers.collect();
        assert_eq!(servers.len(), 2, "{section}");
        assert!(
            servers
                .iter()
                .all(|line| line.ends_with(&format!(":{port}"))),
            "{section}"
        );
        let hosts = settings["hosts"].as_array().expect("names");
        let host = hosts[0].as_str().expect("a name");
        assert!(section.contains(&format!("hdr Host {host}")), "{section}");
    }
    // Where it is installed, it judges its own file; the certificate is the site's.
    let file = tempfile::NamedTempFile::new().expect("a file");
    let plain = balancer.replace(" ssl crt /etc/haproxy/ci.example.pem", "");
    let plain = plain
        .replace("ci-1.example:", "127.0.0.1:")
        .replace("ci-2.example:", "127.0.0.1:");
    std::fs::write(file.path(), plain).expect("it is new");
    if let Ok(judged) = Command::new("haproxy")
        .arg("-c")
        .arg("-f")
        .arg(file.path())
        .output()
    {
        let said = String::from_utf8_lossy(&judged.stderr);
        assert!(judged.status.success(), "{said}");
    }
}

#[test]
fn i18_the_compose_file_starts_programs_as_they_are_started() {
    let compose = read("compose.yaml");
    let commands = compose
        .lines()
        .filter_map(|line| line.trim().strip_prefix("command: "));
    let commands: Vec<Vec<String>> = commands
        .map(|list| serde_json::from_str(list).expect("a list in one line"))
        .collect();
    assert_eq!(commands.len(), 2, "the second of each has its first one's");
    for (name, command) in ["workflow-runner", "orchestrator"]
        .into_iter()
        .zip(&commands)
    {
        assert!(
            compose.contains(&format!("image: orrery-{name}:")),
            "{name}"
        );
        let (_, help) = output(program(name).arg("--help"));
        for flag in command.iter().filter(|word| word.starts_with("--")) {
            assert!(help.contains(flag.as_str()), "{name} {flag}: {help}");
        }
        let file = command.last().expect("a file");
        let sample = file.rsplit('/').next().expect("a name");
        assert!(samples().join(sample).is_file(), "{sample}");
        assert_eq!(compose.matches(&format!("./{sample}:{file}:ro")).count(), 2);
    }
    for service in [
        "runner-1:3000",
        "runner-2:3000",
        "orchestrator-1:3200",
        "orchestrator-2:3200",
    ] {
        assert!(
            compose.contains(&format!("ORRERY_ADVERTISE: \"{service}\"")),
            "{service}"
        );
    }
}
