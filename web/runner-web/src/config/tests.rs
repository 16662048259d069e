//! The settings, from variables and files.

use std::net::ToSocketAddrs;
use std::path::Path;

use http_clients::llm::LlmProtocol;

use super::*;

fn environment(pairs: &[(&str, &str)]) -> Environment {
    Environment::from_os(
        pairs
            .iter()
            .map(|(name, value)| (name.into(), value.into())),
    )
}

fn parse(pairs: &[(&str, &str)], file: &str) -> Result<RunnerConfig, Diagnostics> {
    let file =
        (!file.is_empty()).then_some(("runner.toml", file.as_bytes(), Path::new("/etc/orrery")));
    RunnerConfig::parse(file, &RunnerFlags::default(), &environment(pairs))
}

#[test]
fn w08_without_a_secret_it_does_not_start() {
    for pairs in [vec![], vec![("FORGE_WEBHOOK_SECRET", "")]] {
        let wrong = parse(&pairs, "").expect_err("no secret").to_string();
        assert!(wrong.contains("FORGE_WEBHOOK_SECRET is not set"), "{wrong}");
    }
}

#[test]
fn the_contract_s_variables_are_read() {
    let config = parse(
        &[
            ("PORT", "3001"),
            ("HOST", "0.0.0.0"),
            ("FORGE_WEBHOOK_SECRET", "s3cret"),
            ("FORGE_TOKEN", "t"),
            ("VMM_API_URL", "http://127.0.0.1:9/"),
            ("VMM_AUTH_TOKEN", "jwt"),
            ("USE_LLM_PARSER", "true"),
            ("LOCALLLM_BASE_URL", "http://127.0.0.1:11434"),
            ("LOCALLLM_MODEL", "m"),
            ("REPOSITORY_PATH", "/srv/repositories"),
        ],
        "",
    )
    .unwrap();
    assert_eq!(config.listen.to_string(), "0.0.0.0:3001");
    assert_eq!(config.runner.repositories, Path::new("/srv/repositories"));
    let hosts = config.runner.vm_hosts;
    assert_eq!(hosts[0].url.as_str(), "http://127.0.0.1:9/");
    assert_eq!((hosts.len(), hosts[0].name.as_str()), (1, "default"));
    assert_eq!(config.runner.model.unwrap().protocol, LlmProtocol::Ollama);
    assert!(!format!("{:?}", config.secrets).contains("s3cret"));
}

#[test]
fn contract_the_listen_address_may_be_a_name() {
    let listen = |host: &str| {
        let pairs = [
            ("FORGE_WEBHOOK_SECRET", "s3cret"),
            ("HOST", host),
            ("PORT", "3001"),
        ];
        parse(&pairs, "").map(|config| config.listen)
    };
    assert_eq!(listen("localhost").unwrap().to_string(), "127.0.0.1:3001");
    assert_eq!(listen("::1").unwrap().to_string(), "[::1]:3001");
    // What this machine calls itself, where it can be found by that.
    let own = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let own = own.trim();
    let found = (own, 3001).to_socket_addrs().ok();
    if let Some(address) = found.and_then(|mut all| all.next()) {
        assert_eq!(listen(own).unwrap(), address);
    }
    let wrong = listen("no-such-name.invalid")
        .expect_err("nobody")
        .to_string();
    assert!(wrong.contains("or a name of this machine"), "{wrong}");
}

#[test]
fn contract_the_host_of_the_public_address_is_answered_for() {
    let file = "public_url = \"https://ci.example.org/\"\nhosts = [\"runner\"]\n";
    let config = parse(&[("FORGE_WEBHOOK_SECRET", "s3cret")], file).unwrap();
    assert_eq!(config.hosts, ["runner", "ci.example.org"]);
}

#[test]
fn all_mistakes_at_once() {
    let wrong = parse(
        &[
            ("PORT", "99999"),
            ("USE_LLM_PARSER", "yes"),
            ("VMM_API_URL", "vm"),
        ],
        "",
    )
    .expect_err("three mistakes");
    let text = wrong.to_string();
    for part in [
        "PORT",
        "USE_LLM_PARSER",
        "VMM_API_URL",
        "FORGE_WEBHOOK_SECRET",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let model = parse(
        &[("FORGE_WEBHOOK_SECRET", "x"), ("USE_LLM_PARSER", "true")],
        "",
    )
    .expect_err("no model")
    .to_string();
    assert!(model.contains("LOCALLLM_BASE_URL"), "{model}");
}

#[test]
fn the_file_names_machines_and_secrets() {
    let file = "allow_addresses = [\"127.0.0.1\"]\nmax_jobs = 2\n[machines.ubuntu-latest]\nmemory = \"1GiB\"\nvcpus = 2\nisolation_min = \"emulated-vm\"\n[secrets]\nKEY = \"v\"\n";
    let config = parse(&[("FORGE_WEBHOOK_SECRET", "x")], file).unwrap();
    let (label, machine) = &config.runner.machines[0];
    let vm = &machine.vm;
    assert_eq!(
        (label.as_str(), vm.mem_mib, vm.vcpus),
        ("ubuntu-latest", Some(1024), Some(2))
    );
    assert!(!format!("{:?}", config.runner).contains("\"v\""));
    let wrong = parse(&[("FORGE_WEBHOOK_SECRET", "x")], "max_job = 2\n")
        .expect_err("a typo")
        .to_string();
    assert!(
        wrong.contains("runner.toml:1:1") && wrong.contains("max_jobs"),
        "{wrong}"
    );
}

#[test]
fn a_machines_network_is_read_and_its_mistakes_are_shown_where_they_are() {
    let secret = [("FORGE_WEBHOOK_SECRET", "x")];
    let file =
        "[machines.online]\nnetwork = \"user\"\nallow = [\"PKG.Test\", \"*.dists.test:8080\"]\n";
    let config = parse(&secret, file).unwrap();
    let vm = &config.runner.machines[0].1.vm;
    assert_eq!(vm.network, Some(http_clients::vmm::Network::User));
    let allow = vm.allow.clone().unwrap().0;
    let allow: Vec<String> = allow.iter().map(ToString::to_string).collect();
    assert_eq!(allow, ["pkg.test", "*.dists.test:8080"]);
    let wrong = |file| parse(&secret, file).expect_err(file).to_string();
    let url = wrong("[machines.a]\nnetwork = \"user\"\nallow = [\"https://pkg.test\"]\n");
    assert!(
        url.contains("runner.toml:3:10") && url.contains("is a URL"),
        "{url}"
    );
    let alone = wrong("[machines.a]\nallow = [\"pkg.test\"]\n");
    assert!(
        alone.contains("runner.toml:2:9") && alone.contains("needs"),
        "{alone}"
    );
}

#[test]
fn what_no_manager_would_take_of_a_machine_is_a_mistake_with_its_place() {
    let secret = [("FORGE_WEBHOOK_SECRET", "x")];
    for (line, place, said) in [
        ("image = \"My Image\"", "2:9", "vm-manager image"),
        ("network = \"bridge\"", "2:11", "user"),
        ("memory = \"64MiB\"", "2:10", "128MiB"),
        ("memory = \"2TiB\"", "2:10", "1TiB"),
        ("disk = \"1MiB\"", "2:8", "256MiB"),
        ("vcpus = 0", "2:9", "1"),
        ("vcpus = 256", "2:9", "255"),
    ] {
        let file = format!("[machines.a]\n{line}\n");
        let wrong = parse(&secret, &file).expect_err(line).to_string();
        let place = format!("runner.toml:{place}");
        assert!(
            wrong.contains(&place) && wrong.contains(said),
            "{line}: {wrong}"
        );
    }
    let long = "x".repeat(101);
    let groups = format!("[machines.a]\ngroups = [\"Large runners\", {long:?}]\n");
    let group = parse(&secret, &groups).expect_err("a group").to_string();
    assert!(
        group.contains("runner.toml:2:28") && group.contains("is no group of machines"),
        "{group}"
    );
    let groups = parse(&secret, "[machines.a]\ngroups = [\"Large runners\"]\n").unwrap();
    assert_eq!(groups.runner.machines[0].1.groups, ["Large runners"]);
    let user = parse(&secret, "[machines.a]\nuser = \"runner\"\n").unwrap();
    assert_eq!(user.runner.machines[0].1.user.as_deref(), Some("runner"));
    for wrong in ["-x", "a b", "1000", "$(id)"] {
        let file = format!("[machines.a]\nuser = {wrong:?}\n");
        let said = parse(&secret, &file).expect_err(wrong).to_string();
        assert!(said.contains("runner.toml:2:8"), "{said}");
        assert!(said.contains("is no name of a user"), "{said}");
    }
    let label = parse(&secret, "[machines.\"a b\"]\nvcpus = 1\n").expect_err("a label");
    assert!(label.to_string().contains("is no label"), "{label}");
    let right =
        "[machines.a]\nimage = \"default\"\nnetwork = \"none\"\nmemory = \"128MiB\"\nvcpus = 255\n";
    assert_eq!(
        parse(&secret, right).unwrap().runner.machines[0]
            .1
            .vm
            .mem_mib,
        Some(128)
    );
}

#[test]
fn v13_what_the_first_push_would_refuse_is_found_before() {
    let problems = |pairs: &[(&str, &str)], file: &str| {
        let secret = [("FORGE_WEBHOOK_SECRET", "x")];
        let pairs = [pairs, &secret[..]].concat();
        parse(&pairs, file).unwrap().problems()
    };
    let forge = [("FORGE_URL", "http://forge.lan:3000")];
    let found = problems(&forge, "");
    assert!(found[0].contains("allow_http = true"), "{found:?}");
    assert!(problems(&forge, "allow_http = true\n").is_empty());
    assert!(problems(&[("FORGE_URL", "https://forge.lan")], "").is_empty());
    let found = problems(&[], "repositories = [\"a/b\"]\n");
    assert!(found[0].contains("forge_url"), "{found:?}");
}

#[test]
fn contract_a_token_without_its_forge_is_told() {
    let unused = |pairs: &[(&str, &str)]| {
        let secret = [("FORGE_WEBHOOK_SECRET", "x")];
        let config = parse(&[pairs, &secret[..]].concat(), "").unwrap();
        assert!(
            config.problems().is_empty(),
            "it starts, and --check is right"
        );
        crate::boot::unused(&config)
    };
    let (token, url) = (("FORGE_TOKEN", "t"), ("FORGE_URL", "https://forge.lan"));
    assert!(unused(&[token]).unwrap().contains("FORGE_URL"));
    assert_eq!(unused(&[token, url]), None);
    assert_eq!(unused(&[]), None);
}

#[test]
fn t6_limits_of_checkouts_are_read_and_checked() {
    let secret = [("FORGE_WEBHOOK_SECRET", "x")];
    let file = "[checkouts]\nentries = 10\nbytes = \"2MiB\"\nmemory = \"64MiB\"\ntime = \"10s\"\nat_once = 1\n";
    let limits = parse(&secret, file).unwrap().runner.checkouts;
    assert_eq!(
        (limits.tree.entries, limits.tree.bytes, limits.at_once),
        (10, 2 << 20, 1)
    );
    assert_eq!(limits.tree.depth, 100, "the default");
    for (line, said) in [
        ("entries = 0", "1"),
        ("bytes = \"1KiB\"", "1MiB"),
        ("memory = \"1MiB\"", "64MiB"),
        ("time = \"0s\"", "1 to 86400"),
        ("entry = 5", "entries"),
    ] {
        let wrong = parse(&secret, &format!("[checkouts]\n{line}\n")).expect_err(line);
        let wrong = wrong.to_string();
        assert!(
            wrong.contains("runner.toml:2:") && wrong.contains(said),
            "{line}: {wrong}"
        );
    }
    let wrong = parse(&secret, "catch_up = \"1s\"\n")
        .expect_err("too often")
        .to_string();
    assert!(wrong.contains("10 to"), "{wrong}");
    let wrong = parse(&secret, "repositories = [\"rocket\"]\n").expect_err("no owner");
    assert!(wrong.to_string().contains("runner.toml:1:"), "{wrong}");
}

#[test]
fn v13_the_sample_is_right() {
    let text = include_str!("../../../../config-samples/workflow-runner/workflow-runner.toml");
    let pairs = [
        ("FORGE_WEBHOOK_SECRET", "sixteen--letters"),
        ("HOME", "/home/ada"),
    ];
    let config = parse(&pairs, text).unwrap();
    assert_eq!(config.problems(), [""; 0]);
    let defaults = runner_actors::CheckoutLimits::default();
    assert_eq!(config.runner.checkouts, defaults, "it shows the defaults");
}

#[test]
fn a_short_secret_works_and_is_warned_of() {
    let is_short = |secret| {
        parse(&[("FORGE_WEBHOOK_SECRET", secret)], "")
            .unwrap()
            .short_secret
    };
    assert!(is_short("fifteen-letters"));
    assert!(!is_short("sixteen--letters"));
}

#[test]
fn i18_an_advertised_address_is_a_host_and_a_port() {
    let secret = ("FORGE_WEBHOOK_SECRET", "sixteen--letters");
    let url = ("WORKFLOW_RUNNER_STORE_URL", "postgresql://db.test/ci");
    let advertised = |text: &str| {
        let file = format!("[store]\nadvertise = \"{text}\"\n");
        parse(&[secret, url], &file)
    };
    let config = advertised("ci-1.example:3000").unwrap();
    assert_eq!(
        config.replica.advertise.as_deref(),
        Some("ci-1.example:3000")
    );
    for text in [
        "",
        "ci-1.example",
        "http://ci-1.example:3000",
        "ci-1.example:99999",
        ":3000",
    ] {
        let wrong = advertised(text).expect_err(text).to_string();
        assert!(wrong.contains("advertise"), "{text}: {wrong}");
    }
}

#[test]
fn i18_a_runner_of_several_without_its_database_is_refused() {
    let secret = ("FORGE_WEBHOOK_SECRET", "sixteen--letters");
    let file = "[store]\nstandby = true\nadvertise = \"ci-1.example:3000\"\n";
    let wrong = parse(&[secret], file).expect_err("no store").to_string();
    assert!(wrong.contains("WORKFLOW_RUNNER_STORE_URL"), "{wrong}");
    let sample = include_str!("../../../../config-samples/cluster/runner.toml");
    let wrong = parse(&[secret], sample).expect_err("no variables");
    let wrong = wrong.to_string();
    assert!(wrong.contains("WORKFLOW_RUNNER_STORE_URL"), "{wrong}");
}

#[test]
fn i18_the_address_of_the_store_comes_from_file_or_variable_and_is_shown_nowhere() {
    let secret = ("FORGE_WEBHOOK_SECRET", "sixteen--letters");
    let config = parse(&[secret], "").unwrap();
    assert!(config.store.is_none(), "in the data folder unless said");
    let file = "[store]\nurl = \"postgresql://ci:geheim@db.test/ci\"\n";
    let config = parse(&[secret], file).unwrap();
    let shown = format!("{:?}", config.store);
    assert!(shown.contains("ci:***@db.test/ci"), "{shown}");
    let variable = ("WORKFLOW_RUNNER_STORE_URL", "postgresql://other.test/ci");
    let config = parse(&[secret, variable], file).unwrap();
    assert_eq!(config.store.unwrap().to_string(), variable.1);
    for url in [
        "mysql://ci:geheim@db.test/ci",
        "postgresql://ci:geheim@db.test",
    ] {
        let file = format!("[store]\nurl = \"{url}\"\n");
        let wrong = parse(&[secret], &file).expect_err("no address").to_string();
        assert!(
            wrong.contains("postgresql://user:password@host/database"),
            "{wrong}"
        );
        assert!(!wrong.contains("geheim"), "{wrong}");
        let variable = ("WORKFLOW_RUNNER_STORE_URL", url);
        let wrong = parse(&[secret, variable], "")
            .expect_err("no address")
            .to_string();
        assert!(!wrong.contains("geheim"), "{wrong}");
    }
}

#[test]
fn i18_hosts_of_vms_stand_beside_the_one_of_the_environment_and_mistakes_are_shown() {
    let secret = ("FORGE_WEBHOOK_SECRET", "sixteen--letters");
    let file = "[vm_hosts.east]\nurl = \"https://east.test:3100\"\ntoken = \"geheim\"\nlabels = [\"gpu\"]\n[machines.train]\nhost_labels = [\"gpu\"]\n";
    let names = |config: &RunnerConfig| {
        let hosts = config.runner.vm_hosts.iter();
        hosts.map(|host| host.name.clone()).collect::<Vec<_>>()
    };
    let config = parse(&[secret], file).unwrap();
    assert_eq!(names(&config), ["east"], "only what is listed");
    assert_eq!(config.runner.vm_hosts[0].labels, ["gpu"]);
    assert_eq!(config.runner.machines[0].1.host_labels, ["gpu"]);
    assert!(!format!("{config:?}").contains("geheim"));
    let variable = ("VMM_API_URL", "http://127.0.0.1:3100");
    let config = parse(&[secret, variable], file).unwrap();
    assert_eq!(names(&config), ["default", "east"]);
    assert_eq!(names(&parse(&[secret], "").unwrap()), ["default"]);
    for (file, said) in [
        (
            "[vm_hosts.default]\nurl = \"https://a.test\"\n",
            "`VMM_API_URL`",
        ),
        ("[vm_hosts.east]\nlabels = []\n", "url"),
        ("[vm_hosts.east]\nurl = \"east\"\n", "url"),
        ("[vm_hosts.\"a b\"]\nurl = \"https://a.test\"\n", "no label"),
        ("[machines.x]\nhost_labels = [\"a b\"]\n", "no label"),
    ] {
        let wrong = parse(&[secret], file).expect_err(file).to_string();
        assert!(wrong.contains("runner.toml:"), "{wrong}");
        assert!(wrong.contains(said), "{file}: {wrong}");
    }
}

#[test]
fn i17_the_kind_of_forge_says_where_actions_come_from_and_what_tokens_may() {
    let secret = [("FORGE_WEBHOOK_SECRET", "0123456789abcdef")];
    let runner = |file: &str| parse(&secret, file).unwrap().runner;
    for (forge, server) in [
        ("forgejo", "https://data.forgejo.org/"),
        ("gitea", "https://github.com/"),
        ("github", "https://github.com/"),
    ] {
        let found = runner(&format!("forge = {forge:?}\n"));
        assert_eq!(found.actions.server.as_str(), server);
        assert_eq!(found.counts_at_forge(), forge != "github", "{forge}");
        assert!(!found.token_approves, "nobody said so");
        assert_eq!(
            (found.token_permissions, found.cancel_previous),
            (None, None)
        );
    }
    let found = runner(
        "token_at_forge = false\ntoken_approves = true\ntoken_permissions = \"read\"\ncancel_previous = false\n[machines.default]\ncontainer = \"node:22-bookworm\"\n[owner.acme]\ntoken_permissions = \"write\"\n",
    );
    assert_eq!(found.cancel_previous, Some(false));
    assert!(!found.counts_at_forge() && found.token_approves);
    assert_eq!(
        found.machines[0].1.container.as_deref(),
        Some("node:22-bookworm")
    );
    let wrong = parse(&secret, "[machines.default]\ncontainer = \"A B\"\n");
    assert!(wrong.is_err());
}

#[test]
fn i17_actions_without_a_host_are_of_the_own_forge_where_it_says_self() {
    let secret = [("FORGE_WEBHOOK_SECRET", "0123456789abcdef")];
    let server = |file: &str| {
        let file = format!("actions_url = \"self\"\n{file}");
        parse(&secret, &file).map(|config| config.runner.actions.server.to_string())
    };
    for (file, expected) in [
        (
            "forge_url = \"https://git.example\"\n",
            "https://git.example/",
        ),
        (
            "forge = \"forgejo\"\nforge_url = \"https://git.example\"\n",
            "https://git.example/",
        ),
        ("forge = \"github\"\n", "https://github.com/"),
        (
            "forge = \"github\"\nforge_url = \"https://api.github.com\"\n",
            "https://github.com/",
        ),
        (
            "forge = \"github\"\nforge_url = \"https://ghe.example\"\n",
            "https://ghe.example/",
        ),
    ] {
        assert_eq!(server(file).unwrap(), expected, "{file}");
    }
    let wrong = server("").expect_err("no forge").to_string();
    assert!(
        wrong.contains("`self`") && wrong.contains("forge_url"),
        "{wrong}"
    );
    let wrong = parse(&secret, "actions_url = \"mine\"\n").expect_err("no URL");
    assert!(wrong.to_string().contains("actions_url"), "{wrong}");
}
