//! The samples of a cluster are valid: with the test's own storage and folders in place of theirs.

use scripted_peers::s3::{ACCESS_KEY, BUCKET, S3Server, SECRET_KEY};

use super::servers::Home;

#[test]
fn i18_the_samples_of_indexer_and_searcher_are_valid() {
    let storage = S3Server::start();
    let home = Home::new();
    let samples = std::path::absolute("../../config-samples/cluster").expect("a folder to work in");
    let roles = std::fs::read_to_string(samples.join("search-roles.json")).expect("a sample");
    let docs = home.docs().display().to_string();
    let path = home.data("search-roles.json");
    std::fs::write(&path, roles.replace("/srv/docs", &docs)).expect("room");
    for mode in ["indexer", "searcher"] {
        let text = std::fs::read_to_string(samples.join(format!("{mode}.env"))).expect("a sample");
        let mut command = home.command("data", mode);
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let (name, value) = line.split_once('=').expect("a variable");
            command.env(name, value);
        }
        command
            .env("SERVICE_SETTINGS_PATH", &path)
            .env("SERVICE_DATA_PATH", home.data("data"))
            .env("SERVICE_SNAPSHOTS", format!("s3://{BUCKET}/production"))
            .env("SERVICE_PROFILE_OBJSTORE_ENDPOINT", storage.endpoint())
            .env("CLOUDSTORE_ACCESS_KEY_ID", ACCESS_KEY)
            .env("CLOUDSTORE_SECRET_ACCESS_KEY", SECRET_KEY)
            .env("SERVICE_API_TOKEN", "a-token-of-the-test-0123456789")
            .arg("--check");
        let output = command.output().expect("it runs");
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{mode}: {text}");
    }
}

/// Before: "nothing is published or fetched in mode `local`".
#[test]
fn i18_what_is_published_is_looked_at_from_a_shell_without_a_mode() {
    let home = Home::new();
    for command in ["list", "verify"] {
        let mut look = home.command("look", "searcher");
        look.env_remove("SERVICE_SEARCH_MODE");
        let output = look.args(["snapshot", command]).output().expect("it runs");
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{text}");
        let said = String::from_utf8_lossy(&output.stdout);
        assert_eq!(said, "nothing is published here\n");
    }
    // A server of this mode would neither publish nor fetch: that is still refused.
    let mut serve = home.command("serve", "searcher");
    serve.env_remove("SERVICE_SEARCH_MODE").arg("--check");
    let output = serve.output().expect("it runs");
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("in mode `local`"), "{text}");
}
