//! The samples of a cluster: every file is taken by its program, and they agree with each other.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use scripted_peers::postgres::PostgresServer;
use scripted_peers::s3::{ACCESS_KEY, BUCKET, S3Server, SECRET_KEY};
use vm_core::token::{TokenKey, TokenScope};

fn samples() -> PathBuf {
    std::path::absolute("../../config-samples/cluster").expect("a folder to work in")
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
    // The folder of the file is not to be written: agents could not leave reports there.
    let settings: toml::Table = read("orchestrator.toml").parse().expect("TOML");
    for written in ["data_dir", "reports_dir"] {
        let folder = settings[written].as_str().expect("a folder");
        assert!(
            folder.starts_with("${ORCH_DATA_DIR}/"),
            "{written}: {folder}"
        );
    }
    let (storage, database) = (S3Server::start(), PostgresServer::start());
    let check = |advertise: Option<&str>| {
        let mut check = program("orchestrator");
        check.arg("--check").arg(&file).env("HOME", folder.path());
        check.env("ORCH_PROJECT_DIR", &project);
        check.env("ORCH_DATA_DIR", folder.path());
        for name in [
            "ORCH_WEBHOOK_SECRET",
            "ORCH_FORGE_TOKEN",
            "ORCH_ADMIN_TOKEN",
            "VM_1_TOKEN",
            "VM_2_TOKEN",
        ] {
            check.env(name, "0123456789abcdef0123456789abcdef");
        }
        check.env("ORRERY_OBJECTS_ENDPOINT", storage.endpoint());
        check.env("AWS_ACCESS_KEY_ID", ACCESS_KEY);
        check.env("AWS_SECRET_ACCESS_KEY", SECRET_KEY);
        check.env("ORCH_STORE_URL", database.url());
        check.envs(advertise.map(|advertise| ("ORRERY_ADVERTISE", advertise)));
        let checked = check.output().expect("`cargo xtask test` has built it");
        let printed = String::from_utf8_lossy(&checked.stderr).into_owned();
        // Its VM hosts are nobody's.
        let is_away = !printed.contains("[store]") && !printed.contains("[objects]");
        (checked.status.code() == Some(6) && is_away, printed)
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
    show.env("HOME", "/nonexistent");
    let (taken, printed) = output(&mut show);
    assert!(
        !taken && printed.contains("ORRERY_OBJECTS_ENDPOINT"),
        "{printed}"
    );
    show.env("ORRERY_OBJECTS_ENDPOINT", "https://storage.example");
    let (taken, printed) = output(&mut show);
    assert!(!taken && printed.contains("AWS_ACCESS_KEY_ID"), "{printed}");
    show.env("AWS_ACCESS_KEY_ID", ACCESS_KEY);
    show.env("AWS_SECRET_ACCESS_KEY", SECRET_KEY);
    let (taken, printed) = output(&mut show);
    assert!(taken && printed.contains("vm-1.example"), "{printed}");
    assert!(printed.contains("s3://orrery-ci/vms"), "{printed}");
}

/// The command of the sample makes tokens that the service takes: with its user, folder and
/// variables, and none of a shell.
#[test]
fn i18_the_token_of_the_vm_managers_sample_is_one_of_the_service() {
    let sample = read("vm-manager.toml");
    let command = sample
        .lines()
        .find_map(|line| line.strip_prefix("#   systemd-run "))
        .expect("how a token is made");
    let unit = samples().join("../../bins/dist/systemd/orrery-vm-manager.service");
    let unit = std::fs::read_to_string(unit).expect("the unit");
    let of_unit = |key: &str| {
        let mut lines = unit.lines();
        let line = lines.find_map(|line| line.strip_prefix(&format!("{key}=")));
        line.expect(key).trim_start_matches('-').to_owned()
    };
    for said in [
        format!("-p User={}", of_unit("User")),
        format!("-p EnvironmentFile={}", of_unit("EnvironmentFile")),
        format!("-E {}", of_unit("Environment")),
    ] {
        assert!(command.contains(&said), "{said}: {command}");
    }
    let (_, arguments) = command.split_once(" vm-manager ").expect("the program");
    let (folder, data) = ("/var/lib/orrery-vm", tempfile::tempdir().expect("a folder"));
    assert_eq!(of_unit("Environment"), format!("VM_MANAGER_DATA={folder}"));
    let mut made = program("vm-manager");
    made.args(arguments.split(' ').map(|word| match word {
        "/etc/orrery/vm-manager.toml" => samples().join("vm-manager.toml"),
        word => word.into(),
    }));
    made.env("VM_MANAGER_DATA", data.path());
    // What the head of the sample names.
    for (name, value) in [
        ("AWS_ACCESS_KEY_ID", ACCESS_KEY),
        ("AWS_SECRET_ACCESS_KEY", SECRET_KEY),
        ("ORRERY_OBJECTS_ENDPOINT", "https://storage.example"),
    ] {
        assert!(sample.contains(&format!("#   {name}")) || sample.contains(&format!(", {name}")));
        made.env(name, value);
    }
    let made = made.output().expect("`cargo xtask test` has built it");
    let said = String::from_utf8_lossy(&made.stderr).into_owned();
    let token = String::from_utf8(made.stdout).expect("text");
    let key = std::fs::read(data.path().join("token.key")).expect(&said);
    let key = TokenKey::new(&key).expect("long enough");
    let claims = key.verify(token.trim(), TokenScope::Write, vm_actors::wall());
    let claims = claims.expect("it is this manager's");
    assert_eq!(claims.exp - claims.iat, 365 * 86_400, "{said}");
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
                .all(|line| line.ends_with(&format!(":{port}}}\""))),
            "{section}"
        );
        let hosts = settings["hosts"].as_array().expect("names");
        let host = hosts[0].as_str().expect("a name");
        assert!(section.contains(&format!("hdr Host {host}")), "{section}");
    }
    let searcher = read("searcher.env");
    let setting = |name: &str| {
        let mut lines = searcher.lines();
        let value = lines.find_map(|line| line.strip_prefix(&format!("{name}=")));
        value.expect("it is set").to_owned()
    };
    let listen = setting("SERVICE_SERVER_HOSTNAME");
    let port = listen.rsplit(':').next().expect("a port");
    let (_, section) = balancer
        .split_once("\nbackend searchers\n")
        .expect("a backend");
    assert!(section.contains("option httpchk GET /readyz"), "{section}");
    let host = format!("hdr Host {}", setting("SERVICE_HOSTS"));
    assert!(section.contains(&host), "{section}");
    assert!(section.contains("cookie searcher insert"), "{section}");
    for number in 1..=2 {
        let server = format!(":{port}}}\" cookie search-{number}");
        assert!(section.contains(&server), "{section}");
    }
    // Gitea waits for an answer for five seconds in all: whoever is asked instead has most of them.
    assert!(balancer.contains("    timeout connect 1s\n"), "{balancer}");
    assert!(balancer.contains("    option redispatch 1\n"), "{balancer}");
    // The certificate is the site's, and so are the names.
    let file = tempfile::NamedTempFile::new().expect("a file");
    let plain = balancer.replace(" ssl crt /etc/haproxy/ci.example.pem", "");
    let plain = ["ci-1", "ci-2", "search-1", "search-2"]
        .iter()
        .fold(plain, |plain, host| {
            plain.replace(&format!("{host}.example:"), "127.0.0.1:")
        });
    std::fs::write(file.path(), plain).expect("it is new");
    let mut judge = Command::new("/usr/sbin/haproxy");
    let (taken, said) = output(judge.args(["-c", "-f"]).arg(file.path()));
    assert!(taken, "{said}");
    // A host that is gone from the names' server keeps it from starting no more.
    let unknown = std::fs::read_to_string(file.path()).expect("it is there");
    let unknown = unknown.replacen("127.0.0.1:3000", "ci-1.invalid:3000", 1);
    std::fs::write(file.path(), unknown).expect("room");
    let (taken, said) = output(&mut judge);
    assert!(taken, "{said}");
    // As compose.yaml sets it.
    judge
        .env("RUNNER_1", "127.0.0.1:3000")
        .env("ORCHESTRATOR_2", "no address");
    let (taken, said) = output(&mut judge);
    assert!(taken && said.contains("no address"), "{said}");
}

/// systemd says nothing about the units: no key that it does not know, no value it cannot read.
#[test]
fn i18_systemd_knows_every_line_of_the_units() {
    let units = std::path::absolute("../dist/systemd").expect("a folder to work in");
    let folder = tempfile::tempdir().expect("a folder");
    let mut judge = Command::new("systemd-analyze");
    judge.args(["verify", "--man=no"]);
    for entry in std::fs::read_dir(units).expect("units") {
        let path = entry.expect("a unit").path();
        let unit = std::fs::read_to_string(&path).expect("text");
        // The programs are not installed here.
        let unit = unit.lines().map(|line| match line.split_once('=') {
            Some((key, _)) if key.starts_with("Exec") => format!("{key}=/bin/true\n"),
            _ => format!("{line}\n"),
        });
        let copy = folder.path().join(path.file_name().expect("a name"));
        std::fs::write(&copy, unit.collect::<String>()).expect("it is new");
        judge.arg(copy);
    }
    let (taken, said) = output(&mut judge);
    assert!(taken && said.is_empty(), "{said}");
}

/// What `compose.yaml` names, against the samples and the programs. That it starts is seen by hand:
/// its database, storage and balancer come from where no test reaches.
#[test]
fn i18_the_compose_file_starts_programs_as_they_are_started() {
    let compose = read("compose.yaml");
    let version = env!("CARGO_PKG_VERSION");
    for name in [
        "workflow-runner",
        "orchestrator",
        "vm-manager",
        "search-server",
    ] {
        let image = format!("image: orrery-{name}:v{version}\n");
        assert_eq!(
            compose.matches(&image).count(),
            1,
            "{image}, and the second by its anchor"
        );
    }
    // Its balancer is no root in its container, and listens at 443.
    let below_1024 = "sysctls: { net.ipv4.ip_unprivileged_port_start: \"0\" }";
    assert_eq!(compose.matches(below_1024).count(), 1);
    let commands = compose
        .lines()
        .filter_map(|line| line.trim().strip_prefix("command: "));
    let commands: Vec<Vec<String>> = commands
        .map(|list| serde_json::from_str(list).expect("a list in one line"))
        .collect();
    let of_ours = ["workflow-runner", "orchestrator", "vm-manager"];
    assert_eq!(
        commands.len(),
        of_ours.len() + 1,
        "the storage has one, too"
    );
    for (name, command) in of_ours.into_iter().zip(&commands[1..]) {
        let (_, help) = output(program(name).arg("--help"));
        for flag in command.iter().filter(|word| word.starts_with("--")) {
            assert!(help.contains(flag.as_str()), "{name} {flag}: {help}");
        }
        let file = command
            .iter()
            .find(|word| word.starts_with("/etc/orrery/"))
            .expect("its settings");
        let sample = file.rsplit('/').next().expect("a name");
        assert!(samples().join(sample).is_file(), "{sample}");
        assert_eq!(compose.matches(&format!("./{sample}:{file}:ro")).count(), 2);
    }
}

/// What the search servers of the compose file are started with; `${NAME}` as it stands.
fn search_variables(compose: &str) -> BTreeMap<String, String> {
    let (_, variables) = compose
        .split_once("environment: &of_search\n")
        .expect("they are there");
    let lines = variables
        .lines()
        .take_while(|line| line.starts_with("      "));
    let variables = lines.filter_map(|line| line.trim().split_once(": "));
    let bare = |value: &str| value.trim_matches('"').to_owned();
    variables
        .map(|(name, value)| (name.to_owned(), bare(value)))
        .collect()
}

/// Publishing to the bucket and fetching from it, with the storage of the compose file: it has no
/// TLS and is not this machine. Only a server of the test's own is asked.
#[test]
fn i18_the_search_servers_of_the_compose_file_take_its_storage() {
    let (storage, folder) = (S3Server::start(), tempfile::tempdir().expect("a folder"));
    let roles =
        read("search-roles.json").replace("/srv/docs", &folder.path().display().to_string());
    let path = folder.path().join("roles.json");
    std::fs::write(&path, roles).expect("room");
    let checked = |mode: &str, further: &[(&str, &str)]| {
        let mut check = program("search-server");
        check.arg("--check").env("HOME", folder.path());
        check.envs(search_variables(&read("compose.yaml")));
        check
            .env("SERVICE_SEARCH_MODE", mode)
            .env("SERVICE_SETTINGS_PATH", &path);
        check.env("SERVICE_DATA_PATH", folder.path().join("data"));
        check.env("CLOUDSTORE_ACCESS_KEY_ID", ACCESS_KEY);
        check.env("CLOUDSTORE_SECRET_ACCESS_KEY", SECRET_KEY);
        check.envs(further.iter().copied());
        output(&mut check)
    };
    let endpoint = storage.endpoint();
    let own = [
        ("SERVICE_PROFILE_OBJSTORE_ENDPOINT", endpoint.as_str()),
        ("SERVICE_SNAPSHOTS", &format!("s3://{BUCKET}/production")),
    ];
    for mode in ["indexer", "searcher"] {
        let (taken, said) = checked(mode, &own);
        assert!(taken, "{mode}: {said}");
        // The settings are taken; that name is nobody's here.
        let (taken, said) = checked(mode, &[]);
        assert!(!taken && !said.contains("has no TLS"), "{mode}: {said}");
        let plain = [("SERVICE_PROFILE_OBJSTORE_ALLOW_HTTP", "false")];
        let (taken, said) = checked(mode, &plain);
        assert!(
            !taken && said.contains("http://storage:8333 has no TLS"),
            "{mode}: {said}"
        );
    }
}

#[test]
fn i18_names_of_the_compose_file_are_those_of_the_samples() {
    let compose = read("compose.yaml");
    let runner: toml::Table = read("runner.toml").parse().expect("TOML");
    let hosts = runner["vm_hosts"].as_table().expect("hosts");
    assert_eq!(hosts.len(), 2);
    for host in hosts.values() {
        let url = host["url"].as_str().expect("an address");
        let name = url.trim_start_matches("http://").trim_end_matches(":3100");
        assert!(compose.contains(&format!("aliases: [{name}]")), "{name}");
        assert!(
            read("vm-manager.toml").contains(&format!("\"{name}\"")),
            "{name}"
        );
    }
    let managers: toml::Table = read("vm-manager.toml").parse().expect("TOML");
    let (_, made) = compose.split_once("for name in ").expect("buckets");
    let (made, command) = made.split_once("; do until ").expect("a loop");
    // The shell of the storage never fails.
    for part in ["s3.bucket.create -name $$name", "grep -q $$name; do"] {
        assert!(command.contains(part), "{part}");
    }
    let made: Vec<&str> = made.split(' ').collect();
    let of_search = search_variables(&compose)["SERVICE_SNAPSHOTS"].clone();
    let of = |settings: &toml::Table| settings["objects"]["url"].as_str().map(str::to_owned);
    for url in [of(&runner), of(&managers), Some(of_search)] {
        let url = url.expect("an address");
        let bucket = url.trim_start_matches("s3://").split('/').next();
        assert!(made.contains(&bucket.expect("a bucket")), "{url}: {made:?}");
    }
    let balancer = read("haproxy.cfg");
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
        let (name, _) = service.split_once(':').expect("a port");
        let variable = name.to_uppercase().replace('-', "_");
        assert!(
            compose.contains(&format!("{variable}: \"{service}\"")),
            "{variable}"
        );
        assert!(balancer.contains(&format!("${{{variable}-")), "{variable}");
    }
    for number in 1..=2 {
        let searcher = format!("SEARCHER_{number}: \"searcher-{number}:8000\"");
        assert!(compose.contains(&searcher), "{searcher}");
        assert!(balancer.contains(&format!("${{SEARCHER_{number}-")));
    }
    // A volume that search servers share where there is no bucket belongs to their user.
    let image = samples().join("../../bins/dist/Containerfile");
    let image = std::fs::read_to_string(image).expect("it is there");
    assert!(image.contains("COPY --chown=10001:10001 data/ /srv/snapshots/\n"));
    let environment = read("searcher.env") + &read("indexer.env");
    for variable in [
        "SERVICE_SEARCH_MODE",
        "SERVICE_SNAPSHOTS",
        "SERVICE_SETTINGS_PATH",
    ] {
        assert!(compose.contains(&format!("{variable}: ")), "{variable}");
        assert!(environment.contains(&format!("{variable}=")), "{variable}");
    }
}
