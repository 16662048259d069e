//! Branches, tags and commits of real repositories as sources.

use std::path::Path;

use scripted_peers::git;
use serde_json::{Value, json};

use crate::graph_links::eventually_joined;
use crate::harness::{Home, Running, keys};
use crate::shown::log;

fn commit(home: &Home) -> String {
    git(&home.files(), &["add", "--all"]);
    git(&home.files(), &["commit", "--quiet", "-m", "change"]);
    git(&home.files(), &["rev-parse", "HEAD"])
}

/// A repository of two commits: `pump.rs` is in both, `valve.rs` came with the second.
fn repository() -> (Home, [String; 2]) {
    let home = Home::new();
    git(&home.files(), &["init", "--quiet", "-b", "main", "."]);
    home.write(
        "src/pump.rs",
        "//! A pump.\n\nfn first() {}\n\npub fn lift() {}\n",
    );
    home.write(".ssh/secret.rs", "fn pump() {}\n");
    let first = commit(&home);
    home.write("src/valve.rs", "//! A valve of the pump.\n");
    let second = commit(&home);
    (home, [first, second])
}

fn role(repository: &Path, parameters: &Value) -> Value {
    json!({"name": "Test", "relevance_function": "BM25F", "haystacks": [
        {"name": "History", "service": "GitRepository", "location": repository,
         "extra_parameters": parameters}]})
}

fn found(server: &Running, words: &str) -> Vec<String> {
    let mut keys = keys(&server.search(&json!({"search_term": words})));
    keys.sort();
    keys
}

#[test]
fn i16_a_commit_is_searched_and_shown_without_a_checkout() {
    let (home, [first, _]) = repository();
    // Neither the work tree nor what is not committed counts.
    home.write("src/pump.rs", "nothing of it is left\n");
    let server = home.start(&role(&home.files(), &json!({"revision": first})));
    assert_eq!(found(&server, "pump"), ["src/pump.rs"]);
    let answer = server.search(&json!({"search_term": "lift"}));
    let result = &answer["results"][0];
    let snippet = result["snippet"].as_str().expect("a text");
    assert!(snippet.ends_with("pub fn lift() {}"), "{snippet}");
    assert_eq!(result["line"], 5);
    assert_eq!(result["path"], Value::Null);
    let url = result["url"].as_str().expect("an address");
    assert!(url.ends_with(&format!("#{first}:src/pump.rs")), "{url}");
    let document = server.document(result["id"].as_str().expect("an id"));
    assert!(document["body"].as_str().expect("a text").contains("lift"));
    assert_eq!(document["definitions"][0]["name"], "first");
    assert_eq!(document["modified"], result["modified"]);
    // Phrases are verified in the same texts.
    assert_eq!(found(&server, "\"pub fn lift\""), ["src/pump.rs"]);
}

#[test]
fn i16_a_branch_is_followed_as_it_moves() {
    let (home, [first, second]) = repository();
    let server = home.start(&role(
        &home.files(),
        &json!({"revision": "main", "glob": "*.rs"}),
    ));
    assert_eq!(found(&server, "pump"), ["src/pump.rs", "src/valve.rs"]);
    home.write("src/crane.rs", "//! A crane beside the pump.\n");
    std::fs::remove_file(home.files().join("src/valve.rs")).expect("removed");
    commit(&home);
    server.eventually("the new commit is searched", || {
        found(&server, "pump") == ["src/crane.rs", "src/pump.rs"]
    });
    // Back to where it was, by force, and with its names packed.
    git(&home.files(), &["reset", "--quiet", "--hard", &first]);
    git(&home.files(), &["pack-refs", "--all"]);
    server.eventually("the first commit is searched", || {
        found(&server, "pump") == ["src/pump.rs"]
    });
    // A branch that is deleted takes nothing along, and is followed again once it is back.
    git(&home.files(), &["checkout", "--quiet", "--detach"]);
    git(&home.files(), &["branch", "--quiet", "-D", "main"]);
    server.eventually("the source says that its branch is gone", || {
        let error = server.health()[0]["error"].to_string();
        error.contains("no branch, tag or commit `main`")
    });
    assert_eq!(found(&server, "pump"), ["src/pump.rs"]);
    git(&home.files(), &["branch", "main", &second]);
    server.eventually("the branch is followed again", || {
        found(&server, "pump") == ["src/pump.rs", "src/valve.rs"]
            && server.health()[0]["error"] == Value::Null
    });
}

#[test]
fn i16_a_bare_repository_is_compared_again_after_a_restart() {
    let (home, _) = repository();
    let bare = home.path().join("bare.git");
    let from = home.files();
    let clone = [
        "clone",
        "--quiet",
        "--bare",
        "--no-local",
        from.to_str().expect("text"),
        "bare.git",
    ];
    git(home.path(), &clone);
    let roles = role(&bare, &json!({}));
    let server = home.start(&roles);
    assert_eq!(found(&server, "pump"), ["src/pump.rs", "src/valve.rs"]);
    drop(server);
    home.write("src/crane.rs", "//! A crane of the pump.\n");
    commit(&home);
    git(
        &bare,
        &[
            "fetch",
            "--quiet",
            from.to_str().expect("text"),
            "+main:main",
        ],
    );
    let server = home.start(&roles);
    assert_eq!(found(&server, "crane"), ["src/crane.rs"]);
    assert_eq!(server.health()[0]["documents"], 3);
}

#[test]
fn i16_what_is_no_file_of_a_commit_is_counted() {
    let (home, [first, _]) = repository();
    std::os::unix::fs::symlink("src/pump.rs", home.files().join("link.rs")).expect("a link");
    home.write("big.txt", "pump ".repeat(1000));
    home.write(
        "model.bin",
        "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n",
    );
    git(&home.files(), &["add", "--all"]);
    let link = format!("160000,{first},other");
    git(
        &home.files(),
        &["update-index", "--add", "--cacheinfo", &link],
    );
    git(&home.files(), &["commit", "--quiet", "-m", "more"]);
    let server = home.start(&role(&home.files(), &json!({"max_file_size": "1kB"})));
    let skipped = &server.health()[0]["skipped"];
    let expected =
        json!({"too_large": 1, "symlink": 1, "submodule": 1, "lfs_pointer": 1, "secret": 1});
    assert_eq!(skipped, &expected);
    // A link that becomes a file is none of them any more.
    std::fs::remove_file(home.files().join("link.rs")).expect("removed");
    home.write("link.rs", "//! A pump.\n");
    commit(&home);
    server.eventually("the link is a file", || {
        found(&server, "pump").contains(&"link.rs".to_owned())
            && server.health()[0]["skipped"]["symlink"] == Value::Null
    });
}

#[test]
fn i16_a_repository_that_comes_later_is_waited_for() {
    let home = Home::new();
    let server = home.start(&role(&home.files(), &json!({})));
    let error = server.health()[0]["error"].to_string();
    assert!(error.contains("is no git repository"), "{error}");
    git(&home.files(), &["init", "--quiet", "-b", "main", "."]);
    home.write("pump.md", "# Pump\n");
    commit(&home);
    server.eventually("it is searched", || found(&server, "pump") == ["pump.md"]);
}

#[test]
fn i16_hidden_files_of_a_commit_are_searched_unless_they_are_not_wanted() {
    let (home, _) = repository();
    home.write(".github/workflows/ci.yml", "name: pump check\n");
    home.write(".env", "PUMP=1\n");
    commit(&home);
    let server = home.start(&role(&home.files(), &json!({"revision": "main"})));
    let expected = [".github/workflows/ci.yml", "src/pump.rs", "src/valve.rs"];
    assert_eq!(found(&server, "pump"), expected);
    // Code comes first, and who names the file gets it.
    let ranked = |words: &str| keys(&server.search(&json!({"search_term": words})));
    assert_eq!(ranked("pump").last(), Some(&expected[0].to_owned()));
    assert_eq!(ranked("ci.yml").first(), Some(&expected[0].to_owned()));
    drop(server);
    let parameters = json!({"revision": "main", "hidden": false});
    let server = home.start(&role(&home.files(), &parameters));
    assert_eq!(found(&server, "pump"), &expected[1..]);
}

#[test]
fn i16_long_files_of_a_commit_are_shown_as_far_as_the_source_says() {
    let (home, _) = repository();
    let (text, line) = log(12 << 20, 95, "zyzzyva9");
    home.write("long.log", text);
    commit(&home);
    let server = home.start(&role(&home.files(), &json!({"max_file_size": "64MB"})));
    let asked = json!({"search_term": "zyzzyva9", "matches": 3, "budget_tokens": 400});
    let answer = server.search(&asked);
    let first = &answer["results"][0];
    assert_eq!(
        (&first["line"], keys(&answer)),
        (&json!(line), vec!["long.log".to_owned()])
    );
    let passages = answer["passages"].to_string();
    for text in [&first["snippet"], &first["matches"], &answer["passages"]] {
        assert!(text.to_string().contains("zyzzyva9"), "{first} {passages}");
    }
    let id = first["id"].as_str().expect("an id");
    let document = server.document_at(id, Some(line));
    let body = document["body"].as_str().expect("a text");
    assert!(body.contains("zyzzyva9"), "{}", document["first_line"]);
}

#[test]
fn i16_concepts_are_learnt_of_files_as_long_as_the_source_says() {
    let (home, _) = repository();
    // Longer than what is read where nothing is said.
    let blank = "\n".repeat(11 << 20);
    home.write(
        "guide.md",
        format!("# Guide\n\nSee [it](pump.md).\n{blank}"),
    );
    home.write("pump.md", "# Pump\n\nIt lifts.\n");
    commit(&home);
    let mut role = role(
        &home.files(),
        &json!({"max_file_size": "64MB", "glob": "*.md"}),
    );
    role["relevance_function"] = "ServiceGraph".into();
    let server = home.start(&role);
    eventually_joined(&server, "pump", &["guide"]);
}
