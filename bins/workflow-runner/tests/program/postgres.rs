//! The runner with its store in PostgreSQL: its end when another takes the store, and the command
//! `store`.
#![allow(
    clippy::unwrap_used,
    reason = "a test that fails here should say where"
)]

use std::path::Path;
use std::process::{Command, Output};

use scripted_peers::Program;
use scripted_peers::postgres::{PostgresServer, Stop};
use scripted_peers::s3::{ACCESS_KEY, S3Server, SECRET_KEY};

fn runner() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_workflow-runner"));
    command
        .env("FORGE_WEBHOOK_SECRET", "sixteen--letters")
        .env("VMM_API_URL", "http://127.0.0.1:9")
        .env("LOG_LEVEL", "info")
        .env_remove("WORKFLOW_RUNNER_STORE_URL");
    command
}

#[test]
fn i18_a_runner_whose_store_was_taken_ends_and_says_by_whom() {
    let server = PostgresServer::start();
    let folder = tempfile::tempdir().unwrap();
    // Without others that stand by, it is as with a folder.
    let config = folder.path().join("alone.toml");
    std::fs::write(&config, "[store]\nstandby = false\n").unwrap();
    let on = |folder: &Path| {
        let mut command = runner();
        command
            .args(["--listen", "127.0.0.1:0", "--data"])
            .arg(folder)
            .arg("--config")
            .arg(&config)
            .env("WORKFLOW_RUNNER_STORE_URL", server.url());
        command
    };
    let mut first = Program::start(on(folder.path()));
    let second = tempfile::tempdir().unwrap();
    let refused = on(second.path()).output().unwrap();
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(1), "{said}");
    assert!(said.contains("is in use by workflow-runner on "), "{said}");
    assert!(
        said.contains(&format!("(pid {}", first.child.id())),
        "{said}"
    );
    // Another has taken it meanwhile: nothing is asked of the runner, it notices by itself.
    server.sql("UPDATE workflow_runner.owner SET epoch = epoch + 1, program = 'other'");
    let (code, output) = first.ended();
    assert!(output.contains("server.store_taken_over"), "{output}");
    let by_whom = "the store was taken over by other on ";
    assert!(output.contains(by_whom), "{output}");
    assert_eq!(code, Some(1));
}

fn store(config: &Path, arguments: &[&str]) -> (String, Output) {
    let output = runner()
        .arg("store")
        .args(arguments)
        .arg("--config")
        .arg(config)
        .output()
        .unwrap();
    let text = [output.stdout.clone(), output.stderr.clone()].concat();
    (String::from_utf8_lossy(&text).into_owned(), output)
}

#[test]
fn i18_the_store_is_moved_checked_saved_and_restored_by_command() {
    let server = PostgresServer::start();
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let options = store::StoreOptions::new("workflow-runner").schema("workflow_runner");
    let rows: store::Table<u64, String> = store::Table::new("rows");
    let local = store::Store::open(&folder.path().join("local"), &options).unwrap();
    let wrote = local.write_blocking(move |txn| txn.put(&rows, &1, &"one".to_owned()));
    let _: Result<(), store::StoreError> = wrote;
    local.close();
    let config = folder.path().join("runner.toml");
    let text = format!("data_dir = \"data\"\n[store]\nurl = \"{}\"\n", server.url());
    std::fs::write(&config, text).unwrap();

    let (said, output) = store(
        &config,
        &["migrate", "--from", &path("local"), "--to", "config"],
    );
    assert!(output.status.success(), "{said}");
    assert!(
        said.contains("both are equal") && said.contains("1 rows"),
        "{said}"
    );
    assert!(!said.contains("correct"), "the password is in {said}");
    let (said, output) = store(&config, &["check"]);
    assert!(
        output.status.success() && said.contains("is whole"),
        "{said}"
    );
    let (said, output) = store(&config, &["backup", "--to", &path("saved")]);
    assert!(output.status.success(), "{said}");
    let (said, output) = store(&config, &["restore", "--from", &path("saved")]);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("is not empty"), "{said}");
    server.sql("DROP SCHEMA workflow_runner CASCADE");
    let (said, output) = store(&config, &["restore", "--from", &path("saved")]);
    assert!(output.status.success(), "{said}");
    let (said, output) = store(
        &config,
        &["migrate", "--from", "config", "--to", &path("back")],
    );
    assert!(output.status.success(), "{said}");
    let back = store::Store::open(&folder.path().join("back"), &options).unwrap();
    let row = back.read_blocking(|txn| store::ReadRows::get(txn, &rows, &1));
    let row: Result<Option<String>, store::StoreError> = row;
    assert_eq!(row.unwrap().as_deref(), Some("one"));
    // What is damaged is named, and the code tells.
    server.sql("DELETE FROM workflow_runner.rows WHERE tbl = 'rows'");
    let (said, output) = store(&config, &["check"]);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("error: table rows: 1 rows are counted, 0 are there"),
        "{said}"
    );
}

#[test]
fn i18_the_sample_of_a_cluster_is_taken_on_every_host() {
    let (storage, server) = (S3Server::start(), PostgresServer::start());
    let sample = std::path::absolute("../../config-samples/cluster/runner.toml")
        .expect("a folder to work in");
    let check = |advertise: Option<&str>| {
        let mut check = runner();
        check
            .args(["--check", "--config"])
            .arg(&sample)
            .env_remove("VMM_API_URL")
            .env(
                "WORKFLOW_RUNNER_API_TOKEN",
                "0123456789abcdef0123456789abcdef",
            )
            .env("WORKFLOW_RUNNER_STORE_URL", server.url())
            .env("AWS_ACCESS_KEY_ID", ACCESS_KEY)
            .env("AWS_SECRET_ACCESS_KEY", SECRET_KEY)
            .env("ORRERY_OBJECTS_ENDPOINT", storage.endpoint())
            .env("VM_1_TOKEN", "1123456789abcdef0123456789abcdef")
            .env("VM_2_TOKEN", "2123456789abcdef0123456789abcdef");
        if let Some(advertise) = advertise {
            check.env("ORRERY_ADVERTISE", advertise);
        }
        let output = check.output().unwrap();
        let printed = String::from_utf8_lossy(&output.stderr).into_owned();
        // Its VM hosts are nobody's.
        let mut lines = printed.lines();
        let is_away = lines.all(|line| line.starts_with("error: [vm_hosts]: the host `vm-"));
        (output.status.code() == Some(6) && is_away, printed)
    };
    for host in ["ci-1.example:3000", "ci-2.example:3000"] {
        let (taken, printed) = check(Some(host));
        assert!(taken, "{printed}");
    }
    let (taken, printed) = check(None);
    assert!(!taken && printed.contains("ORRERY_ADVERTISE"), "{printed}");
    let (taken, printed) = check(Some("no port"));
    assert!(!taken && printed.contains("advertise"), "{printed}");
}

#[test]
fn i18_a_check_tells_what_is_wrong_from_who_is_away_and_offline_asks_nobody() {
    let mut server = PostgresServer::start();
    server.sql("CREATE ROLE guest LOGIN PASSWORD 'guest'");
    let database = server.sql("SELECT current_database()");
    let guest = server.url_of("guest", "guest", &database);
    let folder = tempfile::tempdir().unwrap();
    let objects = folder.path().join("objects.toml");
    let away = "[objects]\nurl = \"s3://ci\"\nendpoint = \"http://127.0.0.1:9\"\n";
    std::fs::write(&objects, away).unwrap();
    let check = |url: &str, more: &[&str]| {
        let checked = runner()
            .args(["serve", "--check", "--data"])
            // The one of this machine may start later.
            .env_remove("VMM_API_URL")
            .arg(folder.path())
            .args(more)
            .env("WORKFLOW_RUNNER_STORE_URL", url)
            .env("AWS_ACCESS_KEY_ID", ACCESS_KEY)
            .env("AWS_SECRET_ACCESS_KEY", SECRET_KEY)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&checked.stderr).into_owned();
        (checked.status.code(), said)
    };
    let with_objects = ["--config", objects.to_str().unwrap()];
    let offline = ["--config", objects.to_str().unwrap(), "--offline"];
    assert_eq!(check(&server.url(), &[]), (Some(0), String::new()));
    let (code, said) = check(&guest, &[]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("`url` in [store]"), "{said}");
    assert!(said.contains("the role may not make the schema"), "{said}");
    let (code, said) = check(&server.url(), &with_objects);
    assert_eq!(code, Some(6), "{said}");
    assert!(said.contains("error: [objects]: s3://ci"), "{said}");
    let (code, said) = check(&guest, &with_objects);
    assert_eq!(code, Some(1), "one is wrong: {said}");
    server.stop(Stop::Fast);
    let (code, said) = check(&server.url(), &with_objects);
    assert_eq!(code, Some(6), "{said}");
    assert!(said.contains("see that the server runs"), "{said}");
    assert_eq!(check(&server.url(), &offline), (Some(0), String::new()));
    let away = "[vm_hosts.east]\nurl = \"http://127.0.0.1:9\"\n";
    std::fs::write(&objects, away).unwrap();
    let (code, said) = check("", &with_objects);
    assert_eq!(code, Some(6), "{said}");
    let expected = "error: [vm_hosts]: the host `east`: the VM manager is not reachable";
    assert!(said.contains(expected), "{said}");
    assert_eq!(check("", &offline), (Some(0), String::new()));
    std::fs::write(&objects, "port = \"none\"\n").unwrap();
    let (code, said) = check(&server.url(), &offline);
    assert_eq!(code, Some(1), "what is wrong is refused: {said}");
}
