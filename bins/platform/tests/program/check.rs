//! `--check`, and what is refused before anything starts.

use std::net::TcpListener;
use std::path::Path;

use crate::site::{Site, complaint};

/// A VM manager that needs nothing made first.
const MACHINES: &str = "[vm_manager]\ndriver = \"namespace-sandbox\"\nagent = \"/bin/true\"\n";

#[test]
fn v13_a_check_looks_for_what_vms_are_made_of() {
    let site = Site::new();
    let text = std::fs::read_to_string(site.path("platform.toml")).expect("it is there");
    let check = |agent: &str| {
        site.write(
            "platform.toml",
            &text.replace("agent = \"/bin/true\"\n", agent),
        );
        let mut command = site.command(&site.path("platform.toml"));
        command.arg("--check").output().expect("it runs")
    };
    let output = check("agent = \"/nowhere/vm-guest\"\n");
    assert_eq!(output.status.code(), Some(1), "{}", complaint(&output));
    let printed = complaint(&output);
    assert!(
        printed.contains("there is no program /nowhere/vm-guest"),
        "{printed}"
    );
    let output = check("agent = \"/bin/true\"\n");
    assert_eq!(output.status.code(), Some(0), "{}", complaint(&output));
}

#[test]
fn i18_a_check_tries_the_object_storage() {
    let site = Site::new();
    let text = std::fs::read_to_string(site.path("platform.toml")).expect("it is there");
    let folder = site.path("shared");
    let check = || {
        let objects = format!(
            "\n[runner.objects]\nurl = \"file://{}\"\n",
            folder.display()
        );
        site.write("platform.toml", &format!("{text}{objects}"));
        let mut command = site.command(&site.path("platform.toml"));
        command.arg("--check").output().expect("it runs")
    };
    std::fs::write(&folder, "no folder").expect("it is new");
    let output = check();
    assert_eq!(output.status.code(), Some(1), "{}", complaint(&output));
    assert!(
        complaint(&output).contains("[runner.objects]"),
        "{}",
        complaint(&output)
    );
    std::fs::remove_file(&folder).expect("it is ours");
    std::fs::create_dir(&folder).expect("it is new");
    let output = check();
    assert_eq!(output.status.code(), Some(0), "{}", complaint(&output));
}

#[test]
fn the_samples_are_valid() {
    let site = Site::new();
    let samples = std::path::absolute("../../config-samples").expect("a folder to work in");
    for (name, product) in [
        ("platform.toml", "search: 1 roles"),
        ("all-products.toml", "orchestrator: 7 agents"),
    ] {
        let text = std::fs::read_to_string(samples.join("platform").join(name));
        let text = text.expect("the sample");
        // A machine of tests need not have what VMs are made of.
        let text = text
            .replace("\"../", &format!("\"{}/", samples.display()))
            .replace("[vm_manager]\n", MACHINES);
        site.write(name, &text);
        let output = site
            .command(&site.path(name))
            .arg("--check")
            .output()
            .expect("it runs");
        assert_eq!(
            output.status.code(),
            Some(0),
            "{name}: {}",
            complaint(&output)
        );
        let summary = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(summary.contains(product), "{name}: {summary}");
    }
}

#[test]
fn mistakes_of_all_products_are_told_in_one_pass() {
    let site = Site::new();
    site.write("roles.json", "{\"name\": 5}");
    site.write(
        "orchestrator/orchestrator.toml",
        "tick_interval_secs = \"soon\"\n",
    );
    site.write(
        "platform.toml",
        "data_dri = \"state\"\n[search]\nsettings = \"roles.json\"\n[vm_manager.capacity]\nvms = \"many\"\n\
         [runner]\nlisten = \"here\"\n[orchestrator]\nsettings = \"orchestrator/orchestrator.toml\"\n",
    );
    let mut command = site.command(&site.path("platform.toml"));
    command.env_remove("FORGE_WEBHOOK_SECRET");
    command.env("LOG_LEVEL", "loud");
    let output = command.arg("--check").output().expect("it runs");
    assert_eq!(output.status.code(), Some(1));
    let printed = complaint(&output);
    for expected in [
        "platform.toml:1:1",
        "platform.toml:5:7",
        "platform.toml:7:10",
        "roles.json:1:",
        "orchestrator.toml:1:22",
        "LOG_LEVEL",
    ] {
        assert!(
            printed.contains(expected),
            "{expected} is missing in:\n{printed}"
        );
    }
    assert_eq!(printed.matches("LOG_LEVEL").count(), 1, "{printed}");
    assert!(!site.path("state").exists(), "a check makes nothing");
}

#[test]
fn a_missing_secret_or_file_is_named() {
    let site = Site::new();
    let mut command = site.command(&site.path("platform.toml"));
    command.env_remove("FORGE_WEBHOOK_SECRET");
    std::fs::remove_file(site.path("roles.json")).expect("it was there");
    let output = command.output().expect("it runs");
    assert_eq!(output.status.code(), Some(1));
    let printed = complaint(&output);
    assert!(
        printed.contains("FORGE_WEBHOOK_SECRET is not set"),
        "{printed}"
    );
    assert!(printed.contains("there is no role file at"), "{printed}");
    let output = site.command(&site.path("nowhere.toml")).output();
    let output = output.expect("it runs");
    assert_eq!(output.status.code(), Some(1));
    assert!(complaint(&output).contains("nowhere.toml"));
}

#[test]
fn wrong_usage_is_exit_code_2() {
    let site = Site::new();
    let mut command = site.command(Path::new("x"));
    let output = command.arg("--chekc").output().expect("it runs");
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn a_taken_address_is_told_with_its_product_and_nothing_is_left() {
    let site = Site::new();
    let taken = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = taken.local_addr().expect("it is bound").to_string();
    let text = std::fs::read_to_string(site.path("platform.toml")).expect("it is there");
    let runner = text.replace(
        "[runner]\nlisten = \"127.0.0.1:0\"",
        &format!("[runner]\nlisten = \"{address}\""),
    );
    assert_ne!(runner, text);
    site.write("platform.toml", &runner);
    let output = site.command(&site.path("platform.toml")).output();
    let output = output.expect("it runs");
    assert_eq!(output.status.code(), Some(1));
    let printed = complaint(&output);
    assert!(
        printed.contains("the workflow runner cannot be started") && printed.contains(&address),
        "{printed}"
    );
    site.write("platform.toml", &text);
    let mut platform = site.start();
    assert_eq!(platform.end(rustix::process::Signal::TERM), Some(0));
}
