//! Real servers that are programs.

use std::time::Duration;

use super::{PATIENT, file, found, mcp_error, npm_server, python, source, titles};

#[actix_rt::test]
async fn the_memory_server_s_entities_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let memory = folder.path().join("memory.jsonl");
    let line = r#"{"type":"entity","name":"Impeller","entityType":"part","observations":["the valve leaks"]}"#;
    std::fs::write(&memory, line).unwrap();
    let server = npm_server("memory");
    let location = format!(
        "stdio:env MEMORY_FILE_PATH={} node {server}",
        memory.display()
    );
    let found = found(&location, "{}", "valve").await;
    // What the tool finds comes first; the server has the whole graph as a resource too.
    assert_eq!(titles(&found)[0], "Impeller");
    assert_eq!(found.items[0].body, "the valve leaks");
    assert_eq!(found.items[0].tags, ["part"]);
}

#[actix_rt::test]
async fn the_filesystem_server_is_searched_with_arguments_of_the_configuration() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    std::fs::create_dir(root.join("deep")).unwrap();
    std::fs::write(root.join("deep/old-valve-manual.md"), "x").unwrap();
    std::fs::write(root.join("pump.md"), "x").unwrap();
    let location = format!("stdio:node {} {}", npm_server("filesystem"), root.display());
    let parameters = format!(
        r#"{{"tool": "search_files", "arguments": {{"path": "{}", "pattern": "**/*{{query}}*"}}}}"#,
        root.display()
    );
    let found = found(&location, &parameters, "valve").await;
    assert_eq!(found.items.len(), 1, "{:?}", titles(&found));
    assert!(found.items[0].title.ends_with("deep/old-valve-manual.md"));
}

#[actix_rt::test]
async fn the_reference_server_s_resources_are_found_by_their_text() {
    let location = format!("stdio:node {} stdio", npm_server("everything"));
    let found = found(&location, "{}", "instructions").await;
    assert!(
        !found.items.is_empty(),
        "its documents speak of instructions"
    );
    assert!(found.items.iter().all(|item| !item.key.is_empty()));
}

#[actix_rt::test]
async fn a_server_of_the_newer_generation_is_spoken_to_without_a_handshake() {
    let location = format!("stdio:{} {} stdio", python(), file("shelf.py"));
    let source = source(&location, "{}", PATIENT);
    let pumps = source.search("valve", 10).await.unwrap();
    assert_eq!(titles(&pumps), ["Pumps"]);
    assert_eq!(
        pumps.items[0].url.as_deref(),
        Some("https://books.example/Pumps")
    );
    let rules = source.search("gasket", 10).await.unwrap();
    assert_eq!(titles(&rules), ["rules"], "a resource, by its text");
    let kept = source.search("valve", 10).await.unwrap();
    assert!(kept.cached);
}

#[actix_rt::test]
async fn the_git_server_s_log_is_searched_by_a_tool_that_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let git = |arguments: &[&str]| {
        let done = std::process::Command::new("git")
            .current_dir(folder.path())
            .args(["-c", "user.name=a", "-c", "user.email=a@example.org"])
            .args(arguments)
            .output()
            .unwrap();
        assert!(done.status.success(), "{done:?}");
    };
    git(&["init", "--quiet"]);
    git(&[
        "commit",
        "--quiet",
        "--allow-empty",
        "-m",
        "Replace the worn valve",
    ]);
    let repository = folder.path().display();
    let location = format!(
        "stdio:{} -m mcp_server_git --repository {repository}",
        python()
    );
    let parameters =
        format!(r#"{{"tool": "git_log", "arguments": {{"repo_path": "{repository}"}}}}"#);
    let found = found(&location, &parameters, "valve").await;
    let text: String = found.items.iter().map(|item| item.body.as_str()).collect();
    assert!(text.contains("Replace the worn valve"), "{text}");
}

#[actix_rt::test]
async fn a_tool_that_is_not_there_is_named_with_those_that_are() {
    let location = format!("stdio:node {}", npm_server("memory"));
    let source = source(&location, r#"{"tool": "find_all"}"#, PATIENT);
    let error = mcp_error(source.search("x", 10).await).to_string();
    assert!(
        error.contains("\"find_all\"") && error.contains("search_nodes"),
        "{error}"
    );
}

#[actix_rt::test]
async fn a_server_that_is_not_installed_is_named() {
    let source = source("stdio:no-such-server --x", "{}", Duration::from_secs(20));
    let error = mcp_error(source.search("x", 10).await).to_string();
    assert!(
        error.contains("`no-such-server` cannot be started"),
        "{error}"
    );
}
