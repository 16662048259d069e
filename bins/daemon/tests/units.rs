//! The units for systemd: each starts a program of this workspace, and waits for what the programs
//! tell it.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::collections::BTreeMap;
use std::path::PathBuf;

fn bins() -> PathBuf {
    std::path::absolute("..").expect("a folder to work in")
}

/// The directives of a unit, by key; a key may stand more than once.
fn directives(text: &str) -> BTreeMap<&str, Vec<&str>> {
    let mut found: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    for (key, value) in lines.filter_map(|line| line.split_once('=')) {
        found.entry(key).or_default().push(value);
    }
    found
}

fn units() -> Vec<(String, String)> {
    let folder = bins().join("dist/systemd");
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap());
    let units: Vec<(String, String)> = files
        .map(|file| {
            let name = file.file_name().into_string().unwrap();
            (name, std::fs::read_to_string(file.path()).unwrap())
        })
        .collect();
    assert_eq!(
        units.len(),
        5,
        "one for each server, and one for all of them"
    );
    units
}

#[test]
fn i18_each_unit_checks_offline_and_starts_a_program_that_is_built_here() {
    for (name, text) in units() {
        let unit = directives(&text);
        for command in ["ExecStartPre", "ExecStart"] {
            let [line] = unit[command][..] else {
                panic!("{name}: one {command}");
            };
            let program = line.split(' ').next().unwrap();
            let program = program.strip_prefix("/usr/local/bin/").unwrap();
            let manifest = bins().join(program).join("Cargo.toml");
            assert!(manifest.exists(), "{name}: {command} of {program}");
            let checks = line.contains(" --check");
            assert_eq!(checks, command == "ExecStartPre", "{name}: {line}");
            // What is not on this machine may be away for a moment.
            let asks_nobody = line.contains(" --check --offline");
            assert_eq!(asks_nobody, checks, "{name}: {line}");
        }
    }
}

#[test]
fn each_unit_waits_for_ready_watches_and_gives_up_some_day() {
    for (name, text) in units() {
        let unit = directives(&text);
        for (key, value) in [
            ("Type", "notify"),
            ("WatchdogSec", "30"),
            ("Restart", "on-failure"),
            ("NoNewPrivileges", "yes"),
            ("UMask", "0077"),
            ("LimitNOFILE", "65536"),
            ("ProtectSystem", "strict"),
        ] {
            assert_eq!(unit[key], [value], "{name}: {key}");
        }
        // A folder that is written has to be one that systemd makes: everything else is read-only.
        let state = unit["StateDirectory"][0];
        assert_eq!(unit["WorkingDirectory"], [format!("/var/lib/{state}")]);
        assert_ne!(unit["User"], ["root"], "{name}");
    }
}

#[test]
fn whoever_starts_sandboxes_may_name_them() {
    // What a Debian machine showed: ProtectHostname= forbids `sethostname` in the sandbox's own
    // namespace too, and no sandbox starts.
    for (name, text) in units() {
        let starts = ["orrery-vm-manager.service", "orrery.service"].contains(&name.as_str());
        assert_eq!(text.contains("\nProtectHostname="), !starts, "{name}");
    }
}

#[test]
fn the_orchestrators_socket_has_a_folder_that_systemd_makes() {
    let units = units();
    let orchestrator = units
        .iter()
        .find(|(name, _)| name == "orrery-orchestrator.service");
    let unit = directives(&orchestrator.unwrap().1);
    assert_eq!(unit["RuntimeDirectory"], ["orrery-agents"]);
    // The settings of the package name it, and write nowhere else.
    let settings = std::fs::read_to_string(bins().join("dist/debian/etc/orchestrator.toml"));
    let settings = settings.unwrap();
    assert!(
        settings.contains("admin_socket = \"/run/orrery-agents/"),
        "{settings}"
    );
    for key in ["data_dir", "reports_dir", "worktree_root"] {
        let below = format!("{key} = \"/var/lib/orrery-agents/");
        assert!(settings.contains(&below), "{key}");
    }
}

#[test]
fn i18_the_samples_of_indexer_and_searcher_are_for_the_folders_of_their_unit() {
    let units = units();
    let search = units
        .iter()
        .find(|(name, _)| name == "orrery-search.service");
    let unit = directives(&search.unwrap().1);
    // What a file of variables says wins over the unit, a flag over both.
    assert_eq!(unit["EnvironmentFile"], ["-/etc/orrery/search.env"]);
    let data = unit["Environment"].iter();
    let data = data.filter_map(|line| line.strip_prefix("SERVICE_DATA_PATH="));
    let data: Vec<&str> = data.collect();
    let (_, roles) = unit["ExecStart"][0].split_once("--config ").unwrap();
    for sample in ["indexer.env", "searcher.env"] {
        let file = bins().join("../config-samples/cluster").join(sample);
        let text = std::fs::read_to_string(file).unwrap();
        let said = directives(&text);
        assert_eq!(said["SERVICE_DATA_PATH"], data, "{sample}");
        assert_eq!(said["SERVICE_SETTINGS_PATH"], [roles], "{sample}");
    }
}
