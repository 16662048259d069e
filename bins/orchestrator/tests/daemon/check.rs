//! `--check`, exit codes, and starts that are refused.

use std::process::Output;

use crate::harness::Site;

const AGENT: &str = "[mentions]\n[[agents]]\nproject = \"main\"\nname = \"greeter\"\ncli = \"sh\"\nscript = \"true\"\n";

fn check(site: &Site, more: &[&str]) -> (Option<i32>, String, String) {
    let Output {
        status,
        stdout,
        stderr,
    } = site
        .command()
        .arg("--check")
        .args(more)
        .output()
        .expect("the program runs");
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    (status.code(), text(&stdout), text(&stderr))
}

#[test]
fn a_right_configuration_prints_its_routing_table() {
    let site = Site::new("", AGENT);
    let (code, out, err) = check(&site, &[]);
    assert_eq!(code, Some(0), "{err}");
    assert!(out.contains("main     greeter  core   sh"), "{out}");
    assert!(
        err.contains("there is no `[forge]`"),
        "warnings are said: {err}"
    );
    let (code, out, _) = check(&site, &["--format", "json"]);
    let view: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!((code, &view["valid"]), (Some(0), &true.into()));
    assert_eq!(view["routes"][0]["agent"], "greeter");
}

#[test]
fn o21_a_wrong_configuration_is_refused_with_its_place() {
    let site = Site::new("tick_interval = 3", AGENT);
    let (code, out, err) = check(&site, &[]);
    assert_eq!((code, out.as_str()), (Some(1), ""), "{err}");
    assert!(
        err.contains("orchestrator.toml:4:1: unknown key `tick_interval`"),
        "{err}"
    );
    assert!(!err.contains(crate::harness::SECRET));
    let (code, out, _) = check(&site, &["--format", "json"]);
    let view: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!((code, &view["valid"]), (Some(1), &false.into()));
    assert_eq!(view["diagnostics"][0]["line"], 4);
    let started = site.command().output().expect("the program runs");
    assert_eq!(started.status.code(), Some(1), "it does not start either");
    std::fs::create_dir(site.path("conf.d")).expect("a folder");
    std::fs::write(
        site.path("conf.d/main.toml"),
        "[pr_dispatch]\nproject = \"main\"\n",
    )
    .expect("a file");
    let (_, _, err) = check(&site, &[]);
    assert!(
        err.contains("conf.d/main.toml:1:1: `[pr_dispatch]` belongs into orchestrator.toml"),
        "{err}"
    );
}

#[test]
fn w08_without_a_secret_nothing_starts() {
    let site = Site::new("", AGENT);
    let path = site.path("orchestrator.toml");
    let text = std::fs::read_to_string(&path)
        .expect("a file")
        .replace(crate::harness::SECRET, "");
    std::fs::write(&path, text).expect("a file");
    let (code, _, err) = check(&site, &[]);
    assert_eq!(code, Some(1), "{err}");
    assert_eq!(
        site.command().output().expect("it runs").status.code(),
        Some(1)
    );
}

#[test]
fn o07_o09_links_out_and_files_others_can_read_are_found() {
    let site = Site::new("", AGENT);
    std::fs::create_dir(site.path("personas")).expect("a folder");
    std::os::unix::fs::symlink("/etc/passwd", site.path("personas/evil.toml")).expect("a link");
    let (code, _, err) = check(&site, &[]);
    assert_eq!(code, Some(1), "{err}");
    assert!(
        err.contains("personas/evil.toml: the file is a symbolic link"),
        "{err}"
    );
    std::fs::remove_file(site.path("personas/evil.toml")).expect("the link");
    let exposed = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    std::fs::set_permissions(site.path("orchestrator.toml"), exposed).expect("permissions");
    let (code, _, err) = check(&site, &[]);
    assert_eq!(code, Some(0), "{err}");
    assert!(
        err.contains("other users of this machine can read the file"),
        "{err}"
    );
}

/// Before, a file of the samples, which names variables, was to be closed to others.
#[test]
fn i18_a_file_that_names_its_secrets_may_be_read_by_others() {
    let site = Site::new("", AGENT);
    let path = site.path("orchestrator.toml");
    let text = std::fs::read_to_string(&path).expect("a file");
    let named = text.replace(crate::harness::SECRET, "${THE_SECRET}");
    assert_ne!(named, text);
    std::fs::write(&path, named).expect("a file");
    let exposed = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    std::fs::set_permissions(&path, exposed).expect("permissions");
    let mut command = site.command();
    command
        .arg("--check")
        .env("THE_SECRET", crate::harness::SECRET);
    let checked = command.output().expect("the program runs");
    let err = String::from_utf8_lossy(&checked.stderr);
    assert_eq!(checked.status.code(), Some(0), "{err}");
    assert!(!err.contains("other users of this machine"), "{err}");
}

#[test]
fn usage_is_exit_code_2() {
    let run = |arguments: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_orchestrator"));
        command
            .args(arguments)
            .output()
            .expect("it runs")
            .status
            .code()
    };
    assert_eq!(run(&[]), Some(2));
    assert_eq!(run(&["--bogus", "x"]), Some(2));
    assert_eq!(run(&["/nonexistent/orchestrator.toml"]), Some(1));
}

/// V2: a token in the address of `origin` is refused, and said without repeating it.
#[test]
fn v2_an_origin_with_a_token_in_it_is_refused_with_what_to_do() {
    let site = Site::new("", AGENT);
    let origin = "https://ada:hidden-token@git.example.org/acme/main.git";
    crate::harness::git(&site.path("repo"), &["remote", "add", "origin", origin]);
    let (code, _, err) = check(&site, &[]);
    assert_eq!(code, Some(1), "{err}");
    assert!(err.contains("the address of `origin` there holds"), "{err}");
    assert!(
        err.contains("remote set-url origin https://git.example.org/acme/main.git"),
        "{err}"
    );
    assert!(!err.contains("hidden-token"), "{err}");
}

#[test]
fn t3_an_origin_by_ssh_without_a_forge_is_told_of() {
    let site = Site::new("", AGENT);
    let set = |origin: &str| {
        let repo = site.path("repo");
        crate::harness::git(&repo, &["config", "remote.origin.url", origin]);
        let (code, _, err) = check(&site, &[]);
        assert_eq!(code, Some(0), "{err}");
        err
    };
    for origin in [
        "git@git.example.org:acme/main.git",
        "ssh://git@git.example.org/acme/main.git",
    ] {
        let err = set(origin);
        assert!(
            err.contains("is reached by ssh") && err.contains("add `[forge]`"),
            "{err}"
        );
    }
    for origin in ["https://git.example.org/acme/main.git", "/srv/git/main.git"] {
        let err = set(origin);
        assert!(!err.contains("is reached by ssh"), "{origin}: {err}");
    }
}

#[test]
fn v13_what_the_start_or_the_first_run_would_refuse_is_refused() {
    let top = "admin_listen = \"127.0.0.1:3999\"\nadmin_token = \"a-token-of-the-tests-0123\"";
    let site = Site::new(top, AGENT);
    let text = std::fs::read_to_string(site.path("orchestrator.toml")).expect("a file");
    let text = text.replace("listen = \"127.0.0.1:0\"", "listen = \"127.0.0.1:3999\"");
    std::fs::write(site.path("orchestrator.toml"), text).expect("a file");
    let (code, _, err) = check(&site, &[]);
    assert_eq!(code, Some(1), "{err}");
    assert!(
        err.contains("`listen` is `127.0.0.1:3999` as well"),
        "{err}"
    );

    let site = Site::new("", AGENT);
    std::fs::create_dir(site.path("scenarios")).expect("a folder");
    let scenario = "name = \"login\"\nbase_url = \"http://127.0.0.1:1\"\n[[step]]\njump = \"/\"\n";
    std::fs::write(site.path("scenarios/login.toml"), scenario).expect("a file");
    let (code, _, err) = check(&site, &[]);
    assert_eq!(code, Some(1), "{err}");
    assert!(err.contains("scenarios/login.toml"), "{err}");
    assert!(err.contains("jump"), "{err}");

    let table = |more: &str| {
        format!(
            "[forge]\nkind = \"gitea\"\nurl = \"http://git.example.org:3000\"\ntoken = \"t-0123456789\"\n{more}\n{AGENT}"
        )
    };
    let (code, _, err) = check(&Site::new("", &table("")), &[]);
    assert_eq!(code, Some(0), "{err}");
    assert!(
        err.contains("tokens go to http://git.example.org:3000/ without encryption"),
        "{err}"
    );
    let (_, _, err) = check(&Site::new("", &table("allow_http = true")), &[]);
    assert!(!err.contains("without encryption"), "{err}");
}

#[test]
fn i18_a_check_asks_the_database_and_offline_asks_nobody() {
    let server = scripted_peers::postgres::PostgresServer::start();
    server.sql("CREATE ROLE guest LOGIN PASSWORD 'guest'");
    let database = server.sql("SELECT current_database()");
    let guest = server.url_of("guest", "guest", &database);
    let check_store = |url: &str, more: &[&str]| {
        let site = Site::new("", &format!("{AGENT}[store]\nurl = \"{url}\"\n"));
        check(&site, more)
    };
    let (code, _, said) = check_store(&server.url(), &[]);
    assert_eq!(code, Some(0), "{said}");
    let (code, _, said) = check_store(&guest, &[]);
    assert_eq!(code, Some(1), "{said}");
    assert!(
        said.contains("`url` in [store]") && said.contains("the role may not make the schema"),
        "{said}"
    );
    let away = "postgresql://orrery@127.0.0.1:9/orrery";
    let (code, out, said) = check_store(away, &["--format", "json"]);
    assert_eq!(code, Some(6), "{said}");
    let view: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    let message = view["diagnostics"][0]["message"]
        .as_str()
        .unwrap_or_default();
    assert!(message.contains("see that the server runs"), "{out}");
    let (code, _, said) = check_store(away, &["--offline"]);
    assert_eq!(code, Some(0), "{said}");
}
