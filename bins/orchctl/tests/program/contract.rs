//! What the interface says of `trigger` and `cancel`.

use std::fs;

use crate::bridge::{SECRET, Script};
use crate::local::{ask, bridge};
use crate::{code, err, orchctl, out, text};

/// The contract: it builds the payload, signs it and posts it. Only waiting takes the bridge.
#[test]
fn contract_a_trigger_needs_the_receiver_alone() {
    let (folder, bridge) = bridge(Script::default());
    let config = folder.path().join("orchestrator.toml");
    let written = format!(
        "main_project = \"main\"\n[webhook]\nsecret = \"{SECRET}\"\n\
         [[projects]]\nid = \"main\"\nrepository = \"acme/main\"\n"
    );
    fs::write(&config, written).unwrap();
    fs::create_dir(folder.path().join("conf.d")).unwrap();
    let tools = "[project]\nid = \"tools\"\nrepository = \"acme/${REPO}\"\n";
    fs::write(folder.path().join("conf.d/tools.toml"), tools).unwrap();
    let receiver = bridge.place().remove(0);
    let trigger = |more: &[&str]| {
        let args = [
            "--config",
            text(&config),
            &receiver,
            "--admin=./nobody.sock",
        ];
        let args: Vec<&str> = ["trigger", "developer"]
            .iter()
            .chain(&args)
            .chain(more)
            .copied()
            .collect();
        orchctl(&args, &[("REPO", "tools")])
    };
    let output = trigger(&[]);
    assert_eq!(code(&output), 0, "{}", err(&output));
    assert_eq!(out(&output), "run-1  main/developer is queued\n");
    let output = trigger(&["--project", "tools"]);
    assert_eq!(code(&output), 0, "{}", err(&output));
    let output = trigger(&["--wait"]);
    assert_eq!(code(&output), 6, "waiting takes the bridge");
    let output = trigger(&["--project", "third"]);
    assert_eq!(code(&output), 6, "{}", err(&output));
    let said = err(&output);
    assert!(said.contains("the repository of a project third"), "{said}");
    let script = bridge.script.lock().unwrap();
    let names = script
        .seen
        .iter()
        .map(|body| &body["repository"]["full_name"]);
    assert_eq!(names.collect::<Vec<_>>(), ["acme/main", "acme/tools"]);
    assert!(script.asked.is_empty(), "{:?}", script.asked);
}

#[test]
fn contract_an_agent_s_only_run_is_cancelled_by_the_agent_s_name() {
    let (_folder, one) = bridge(Script::default());
    let output = ask(&one, &["cancel", "developer"], &[]);
    assert_eq!(code(&output), 0, "{}", err(&output));
    assert!(out(&output).contains("run-1 is being ended"));
    let output = ask(&one, &["cancel", "nobody"], &[]);
    assert_eq!(code(&output), 4, "{}", err(&output));
    let (_folder, two) = bridge(Script {
        more_runs: true,
        ..Script::default()
    });
    let output = ask(&two, &["cancel", "developer"], &[]);
    assert_eq!(code(&output), 4, "{}", err(&output));
    let said = err(&output);
    assert!(said.contains("run-1 (main), run-0 (main)"), "{said}");
    let asked = two.script.lock().unwrap().asked.clone();
    assert!(
        asked.iter().all(|path| path.starts_with("GET ")),
        "{asked:?}"
    );
}
