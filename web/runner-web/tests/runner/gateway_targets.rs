//! What calls of the REST API would bring onto branches and tags is looked at as a push is: a
//! stranger's workflows come onto none of them.

use std::sync::{Arc, Mutex};

use scripted_peers::Pull;
use serde_json::{Value, json};

use crate::gateway_calls::{Stage, stage};

/// A stranger's pull requests: with a workflow of its own, and without; their heads.
fn strangers(stage: &Stage) -> (String, String) {
    let site = &stage.site;
    let base = site.git(&["rev-parse", "HEAD"]);
    let head = |number: u64| {
        site.git(&["add", "--all"]);
        site.git(&["commit", "--quiet", "-m", "a stranger's"]);
        let sha = site.git(&["rev-parse", "HEAD"]);
        site.git(&["update-ref", &format!("refs/pull/{number}/head"), &sha]);
        site.git(&["reset", "--quiet", "--hard", &base]);
        let pull = Pull {
            number,
            title: "a stranger's".to_owned(),
            author: "stranger".to_owned(),
            head_repo: Some("stranger/rocket".to_owned()),
            head_branch: "main".to_owned(),
            head_sha: sha.clone(),
            base_branch: "main".to_owned(),
            base_sha: base.clone(),
            open: true,
            merged: false,
        };
        site.forge.add_pull("acme/rocket", pull);
        sha
    };
    site.write(".gitea/workflows/evil.yml", "on: push\njobs: {}\n");
    let evil = head(7);
    site.write("fine.txt", "fine\n");
    (evil, head(8))
}

#[test]
fn i17_rest_calls_bring_no_workflow_of_a_stranger_onto_a_reference() {
    let stage = stage();
    let (evil, fine) = strangers(&stage);
    let asked = Arc::<Mutex<Vec<(String, Value)>>>::default();
    for (method, path) in [
        ("POST", "/git/refs"),
        ("PATCH", "/git/refs/heads/x"),
        ("POST", "/branches"),
        ("POST", "/tags"),
        ("POST", "/releases"),
        ("POST", "/merges"),
        ("POST", "/pulls/7/merge"),
        ("POST", "/pulls/8/merge"),
    ] {
        let asked = Arc::clone(&asked);
        stage.site.forge.answer(method, path, move |body| {
            asked
                .lock()
                .unwrap()
                .push((format!("{method} {path}"), body.clone()));
            (201, json!({}))
        });
    }
    let calls = |sha: &str, pull: &'static str| {
        vec![
            (
                "POST",
                "/git/refs",
                json!({"ref": "refs/heads/x", "sha": sha}),
            ),
            ("PATCH", "/git/refs/heads/x", json!({"sha": sha})),
            (
                "POST",
                "/branches",
                json!({"new_branch_name": "x", "old_ref_name": sha}),
            ),
            ("POST", "/tags", json!({"tag_name": "v9", "target": sha})),
            (
                "POST",
                "/releases",
                json!({"tag_name": "v9", "target_commitish": sha}),
            ),
            ("POST", "/merges", json!({"base": "main", "head": sha})),
            ("POST", pull, json!({"Do": "merge"})),
        ]
    };
    stage.job(&calls(&evil, "/pulls/7/merge"), &["403"; 7]);
    assert_eq!(*asked.lock().unwrap(), [], "the forge was asked");
    stage.job(&calls(&fine, "/pulls/8/merge"), &["201"; 7]);
    let asked = asked.lock().unwrap();
    assert_eq!(asked.len(), 7, "{asked:#?}");
    // It is merged as it was looked at, or not at all.
    assert_eq!(asked[6].1, json!({"Do": "merge", "head_commit_id": fine}));
    drop(asked);
    let odd = [
        (
            "POST",
            "/git/refs",
            json!({"ref": "refs/heads/x", "sha": &evil[..12]}),
        ),
        (
            "POST",
            "/branches",
            json!({"new_branch_name": "x", "old_ref_name": "refs/pull/7/head"}),
        ),
        (
            "POST",
            "/pulls/8/merge",
            json!({"Do": "merge", "merge_when_checks_succeed": true}),
        ),
        (
            "POST",
            "/pulls/8/merge",
            json!({"Do": "merge", "head_commit_id": evil}),
        ),
        ("POST", "/pulls/99/merge", json!({"Do": "merge"})),
    ];
    stage.job(&odd, &["422", "422", "403", "409", "404"]);
}
