//! What calls of the REST API would bring onto branches and tags is looked at as a push is: a
//! stranger's workflows come onto none of them.

use std::sync::{Arc, Mutex};

use scripted_peers::Pull;
use serde_json::{Value, json};

use crate::gateway::workflow;
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
    let merge = json!({"Do": "merge", "Merge_When_Checks_Succeed": true});
    let twice = json!({"OLD_REF_NAME": "main", "old_ref_name": &evil, "new_branch_name": "x"});
    let short = json!({"ref": "refs/heads/x", "sha": &evil[..12]});
    let by_pull = json!({"new_branch_name": "x", "old_ref_name": "refs/pull/7/head"});
    let bound = json!({"Do": "merge", "head_commit_id": &evil});
    let moved = json!({"new_commit_id": &evil, "force": true});
    let odd = [
        ("POST", "/git/refs", short),
        ("POST", "/branches", by_pull),
        ("POST", "/branches", twice),
        ("PUT", "/branches/main", moved),
        ("POST", "/pulls/8/merge", merge),
        ("POST", "/pulls/8/merge", bound),
        ("POST", "/pulls/99/merge", json!({"Do": "merge"})),
    ];
    stage.job(&odd, &["422", "422", "403", "403", "403", "409", "404"]);
}

#[test]
fn i17_a_name_that_forges_read_otherwise_is_sent_as_its_commit() {
    let stage = stage();
    let (evil, _) = strangers(&stage);
    // Forges find the stranger's head by this name before they find the branch.
    stage.site.git(&["branch", "pull/7/head"]);
    let own = stage.site.git(&["rev-parse", "refs/heads/pull/7/head"]);
    let asked = Arc::<Mutex<Vec<Value>>>::default();
    let seen = Arc::clone(&asked);
    stage.site.forge.answer("POST", "/branches", move |body| {
        seen.lock().unwrap().push(body.clone());
        (201, json!({}))
    });
    let named = json!({"new_branch_name": "x", "old_branch_name": "pull/7/head"});
    stage.job(&[("POST", "/branches", named)], &["201"]);
    let sent = json!({"new_branch_name": "x", "old_ref_name": own});
    assert_eq!(*asked.lock().unwrap(), [sent]);
    // Pushed for review without a branch: it says that it is of the repository itself.
    let pull = Pull {
        head_branch: "refs/pull/9/head".to_owned(),
        ..Pull::new(9, "stranger", &evil, &own)
    };
    stage.site.forge.add_pull("acme/rocket", pull);
    stage.site.git(&["update-ref", "refs/pull/9/head", &evil]);
    let merge = ("POST", "/pulls/9/merge", json!({"Do": "merge"}));
    stage.job(&[merge], &["403"]);
}

#[test]
fn i17_files_of_a_draft_are_nothing_for_who_only_reads() {
    let stage = stage();
    let forge = &stage.site.forge;
    for (id, draft) in [("5", true), ("6", false)] {
        let about = json!({"id": 5, "draft": draft, "tag_name": "v1"});
        forge.answer("GET", &format!("/releases/{id}"), move |_| {
            (200, about.clone())
        });
        let files = json!([{"id": 1, "name": "a"}]);
        forge.answer("GET", &format!("/releases/{id}/assets"), move |_| {
            (200, files.clone())
        });
        let file = json!({"id": 1, "name": "a"});
        forge.answer("GET", &format!("/releases/{id}/assets/1"), move |_| {
            (200, file.clone())
        });
    }
    let untagged = "https://forge.example/acme/rocket/releases/download/untagged-1/a";
    let file = json!({"id": 9, "browser_download_url": untagged});
    forge.answer("GET", "/releases/assets/9", move |_| (200, file.clone()));
    let calls = [
        ("GET", "/releases/5", Value::Null),
        ("GET", "/releases/5/assets", Value::Null),
        ("GET", "/releases/5/assets/1", Value::Null),
        ("GET", "/releases/assets/9", Value::Null),
        ("GET", "/releases/6/assets", Value::Null),
        ("GET", "/releases/6/assets/1", Value::Null),
    ];
    stage.job(&calls, &["200"; 6]);
    stage
        .site
        .commit(&workflow("permissions: {contents: read}"));
    stage.job(&calls, &["404", "404", "404", "404", "200", "200"]);
}

#[test]
fn i17_no_job_approves_a_pull_request_or_merges_past_the_rules() {
    let stage = stage();
    let (_, fine) = strangers(&stage);
    let asked = Arc::<Mutex<Vec<Value>>>::default();
    for (method, path) in [
        ("POST", "/pulls/8/reviews"),
        ("POST", "/pulls/8/reviews/3"),
        ("POST", "/pulls/8/reviews/3/dismissals"),
        ("DELETE", "/pulls/8/reviews/3"),
        ("POST", "/pulls/8/merge"),
    ] {
        let asked = Arc::clone(&asked);
        stage.site.forge.answer(method, path, move |body| {
            asked.lock().unwrap().push(body.clone());
            (201, json!({}))
        });
    }
    let approved = json!({"event": "APPROVED", "body": "fine"});
    let calls = [
        ("POST", "/pulls/8/reviews", approved.clone()),
        // As GitHub's clients say it.
        ("POST", "/pulls/8/reviews", json!({"event": "APPROVE"})),
        ("POST", "/pulls/8/reviews", json!({"EVENT": "APPROVED"})),
        ("POST", "/pulls/8/reviews/3", approved.clone()),
        ("POST", "/pulls/8/reviews/3/events", approved),
        ("POST", "/pulls/8/reviews/3/dismissals", json!({})),
        ("DELETE", "/pulls/8/reviews/3", Value::Null),
        (
            "POST",
            "/pulls/8/merge",
            json!({"Do": "merge", "force_merge": true}),
        ),
        (
            "POST",
            "/pulls/8/merge",
            json!({"Do": "merge", "FORCE_MERGE": true}),
        ),
    ];
    stage.job(&calls, &["403"; 9]);
    assert_eq!(*asked.lock().unwrap(), [Value::Null; 0], "it was asked");
    let calls = [
        ("POST", "/pulls/8/reviews", json!({"event": "COMMENT"})),
        (
            "POST",
            "/pulls/8/merge",
            json!({"Do": "merge", "force_merge": false}),
        ),
    ];
    stage.job(&calls, &["201"; 2]);
    let bound = json!({"Do": "merge", "force_merge": false, "head_commit_id": fine});
    assert_eq!(asked.lock().unwrap()[1], bound);
}

#[test]
fn i17_nothing_but_a_release_s_file_is_fetched_with_the_runner_s_token() {
    let stage = stage();
    let forge = &stage.site.forge;
    forge.add_repo("acme/other");
    let url = forge.url();
    let places = [
        ("1", "/api/v1/repos/acme/other/contents/secret.txt", None),
        ("2", "/api/v1/admin/users", None),
        (
            "3",
            "/acme/rocket/../other/releases/download/v1/x",
            Some("attachment"),
        ),
        ("4", "/acme/rocket/releases/download/v1/x", Some("external")),
        (
            "5",
            "/acme/rocket/releases/download/..%2f..%2f..%2fother/x",
            None,
        ),
    ];
    let below = "/repos/acme/rocket/releases/7/assets";
    for (id, place, kind) in places {
        let about = json!({"id": 9, "browser_download_url": format!("{url}{place}"), "type": kind});
        forge.answer("GET", &format!("{below}/{id}"), move |_| {
            (200, about.clone())
        });
    }
    let calls = [
        ("GET", "/releases/7/assets/1", Value::Null),
        ("GET", "/releases/7/assets/2", Value::Null),
        ("GET", "/releases/7/assets/3", Value::Null),
        ("GET", "/releases/7/assets/4", Value::Null),
        ("GET", "/releases/7/assets/5", Value::Null),
        (
            "PATCH",
            "/releases/7/assets/9",
            json!({"Browser_Download_URL": url}),
        ),
        ("POST", "/releases/7/assets?external_url=x", json!("file")),
    ];
    let codes = ["200", "200", "200", "200", "200", "403", "403"];
    stage.job(&calls, &codes);
    let asked = forge.requests();
    let asked = asked.iter().map(|asked| asked.path.as_str());
    let asked: Vec<&str> = asked.filter(|path| !path.contains("/statuses/")).collect();
    for path in &asked {
        let is_described = path.contains("/repos/acme/rocket/releases/7/assets/");
        assert!(
            is_described || !path.contains("other") && !path.contains("download"),
            "{asked:#?}"
        );
        assert_ne!(*path, "/api/v1/admin/users", "{asked:#?}");
        assert!(!path.ends_with("/assets/9"), "{asked:#?}");
    }
}
