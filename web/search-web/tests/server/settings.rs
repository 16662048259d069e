//! `GET` and `PUT /api/config`, and the role file on disk.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use config_core::Environment;
use search_web::{SearchServerOptions, boot};
use serde_json::{Value, json};

use crate::harness::{Answer, Home, Server};

const KEY: &str = "sk-very-secret";
/// The token of the configuration.
const TOKEN: &str = "t0ken-of-the-configuration";
/// The same, as a header.
const BEARER: &str = "Bearer t0ken-of-the-configuration";

/// A server whose roles come from a file.
pub(crate) struct Configured {
    pub(crate) home: Home,
    pub(crate) server: Server,
}

impl Configured {
    pub(crate) fn start(roles: &Value) -> Self {
        let running = Self::launch(roles, |_| {});
        running.server.wait_until_indexed();
        running
    }

    pub(crate) fn launch(roles: &Value, change: impl FnOnce(&mut SearchServerOptions)) -> Self {
        let home = Home::new();
        std::fs::create_dir(home.path().join("more")).expect("a folder");
        home.write("valve.md", "# Valve\n\nthe valve leaks\n");
        home.write("pump.md", "# Pump\n\nthe pump and the valve\n");
        std::fs::write(home.path().join("more/seal.md"), "# Seal\n\na seal\n").expect("a file");
        let file = role_file(&home);
        std::fs::write(&file, serde_json::to_string_pretty(roles).expect("JSON")).expect("written");
        let environment = Environment::from_iter([("HOME", "/nowhere")]);
        let (configuration, _) =
            boot::read_configuration(&file, &environment, home.path()).expect("a valid file");
        let document = configuration.view().now().document;
        let roles: Value = serde_json::from_str(document.text()).expect("JSON");
        let roles = absolute(roles, home.path());
        let server = home.launch(&roles, |options| {
            options.configuration = Some(configuration);
            options.configuration_token = Some(TOKEN.to_owned());
            change(options);
        });
        Self { home, server }
    }

    pub(crate) fn show(&self) -> (String, Value) {
        let answer = self.server.get("/api/config");
        assert_eq!(answer.status, 200, "{}", answer.text());
        let tag = answer.header("etag").expect("a version").to_owned();
        (tag, answer.json())
    }

    pub(crate) fn put(&self, tag: &str, document: &str) -> Answer {
        let headers = [
            ("Content-Type", "application/json"),
            ("If-Match", tag),
            ("Authorization", BEARER),
        ];
        self.server
            .send("PUT", "/api/config", &headers, document.as_bytes())
    }

    /// Changes the configuration in force.
    pub(crate) fn change(&self, change: impl FnOnce(&mut Value)) -> Answer {
        let (tag, mut document) = self.show();
        change(&mut document);
        self.put(&tag, &document.to_string())
    }

    pub(crate) fn on_disk(&self) -> String {
        std::fs::read_to_string(role_file(&self.home)).expect("the file is there")
    }

    fn health(&self) -> Value {
        self.server.get("/health").json()
    }
}

pub(crate) fn role_file(home: &Home) -> PathBuf {
    home.path().join("roles.json")
}

/// The harness reads roles without a file, so without its folder.
fn absolute(mut roles: Value, folder: &Path) -> Value {
    let list = roles["roles"].as_array_mut().expect("roles");
    for haystack in list
        .iter_mut()
        .flat_map(|role| role["haystacks"].as_array_mut())
        .flatten()
    {
        let location = haystack["location"]
            .as_str()
            .expect("a location")
            .to_owned();
        if haystack["service"] == "LocalFiles" {
            haystack["location"] = json!(folder.join(location));
        }
    }
    roles
}

fn folder(name: &str, location: &str) -> Value {
    json!({"name": name, "service": "LocalFiles", "location": location})
}

pub(crate) fn roles() -> Value {
    json!({"allowed_roots": {"files": ["more"]}, "roles": [{"name": "Reader", "relevance_function": "BM25F", "haystacks": [folder("Files", "files")],
        "extra": {"llm_provider": "cloudllm", "cloudllm_api_key": KEY, "cloudllm_model": "m"}}]})
}

#[test]
fn s06_the_configuration_shows_keys_as_set_only() {
    let running = Configured::start(&roles());
    let answer = running.server.get("/api/config");
    assert!(!answer.text().contains(KEY), "{}", answer.text());
    assert_eq!(
        answer.json()["roles"][0]["extra"]["cloudllm_api_key"],
        "***"
    );
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    for path in [
        "/health",
        "/api/roles",
        "/admin/actors",
        "/api/config/schema",
        "/metrics",
    ] {
        assert!(!running.server.get(path).text().contains(KEY), "{path}");
    }
    let tag = answer.header("etag").expect("a version").to_owned();
    let again = running
        .server
        .send("GET", "/api/config", &[("If-None-Match", &tag)], b"");
    assert_eq!((again.status, again.body.len()), (304, 0));
}

#[test]
fn a_saved_configuration_is_in_force_at_once_and_searches_go_on() {
    let running = Configured::start(&roles());
    assert_eq!(running.server.found("valve").len(), 2);
    let updated = running.health()["sources"][0]["updated_at"].clone();
    let (ended, failed) = (AtomicBool::new(false), AtomicUsize::new(0));
    let saved = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !ended.load(Ordering::Relaxed) {
                let body = json!({"search_term": "valve", "limit": 10});
                let answer = running.server.post("/api/documents/search", &body);
                if answer.status != 200 || answer.json()["total"].as_u64() < Some(2) {
                    failed.fetch_add(1, Ordering::Relaxed);
                }
            }
        });
        let saved = running.change(|document| {
            let haystacks = document["roles"][0]["haystacks"]
                .as_array_mut()
                .expect("a list");
            haystacks.push(folder("More", "more"));
        });
        running
            .server
            .eventually("the new source is searchable", || {
                running.server.found("seal").len() == 1
            });
        // The same source with other settings: what it knows stays searchable.
        running
            .change(|document| document["roles"][0]["relevance_function"] = "ServiceGraph".into());
        running.server.eventually("its concepts are looked at", || {
            running.health()["sources"][0]["concepts"]["state"] == "too_few"
        });
        ended.store(true, Ordering::Relaxed);
        saved
    });
    assert_eq!(saved.status, 200, "{}", saved.text());
    assert_eq!(saved.json()["roles"][0]["haystacks"][1]["name"], "More");
    assert_eq!(
        failed.load(Ordering::Relaxed),
        0,
        "searches while it changed"
    );
    assert_eq!(
        updated.as_str().map(str::len),
        running.health()["sources"][0]["updated_at"]
            .as_str()
            .map(str::len)
    );

    let on_disk = running.on_disk();
    assert!(on_disk.contains(KEY), "the secret is kept: {on_disk}");
    assert!(!on_disk.contains("***"), "{on_disk}");

    let removed = running.change(|document| {
        let haystacks = document["roles"][0]["haystacks"]
            .as_array_mut()
            .expect("a list");
        haystacks.remove(0);
    });
    assert_eq!(removed.status, 200, "{}", removed.text());
    assert!(running.server.found("valve").is_empty());
    assert_eq!(running.server.found("seal").len(), 1);
    running
        .server
        .eventually("the indexer of the removed source has stopped", || {
            let tree = running.server.get("/admin/actors").json();
            let indexers = find(&tree, "indexers").expect("the supervisor of indexers");
            indexers["children"].as_array().map(Vec::len) == Some(1)
        });
    let left = std::fs::read_dir(running.home.path()).expect("a folder");
    let names: Vec<_> = left.map(|one| one.expect("an entry").file_name()).collect();
    assert!(
        !names
            .iter()
            .any(|name| name.to_string_lossy().ends_with(".new")),
        "{names:?}"
    );
}

fn find<'t>(node: &'t Value, name: &str) -> Option<&'t Value> {
    if node["name"] == name {
        return Some(node);
    }
    let children = node["children"].as_array()?;
    children.iter().find_map(|child| find(child, name))
}

#[test]
fn an_answer_of_the_former_configuration_is_not_given_again() {
    let running = Configured::start(&roles());
    let body = json!({"search_term": "valve"});
    assert_eq!(running.server.search(&body)["relevance_function"], "BM25F");
    let saved = running
        .change(|document| document["roles"][0]["relevance_function"] = "title-scorer".into());
    assert_eq!(saved.status, 200, "{}", saved.text());
    let answer = running.server.search(&body);
    assert_eq!(answer["relevance_function"], "TitleScorer");
    assert_eq!(answer["total"], 1);
}

#[test]
fn a_change_names_the_version_it_replaces() {
    let running = Configured::start(&roles());
    let (tag, document) = running.show();
    let text = document.to_string();
    let headers = [
        ("Content-Type", "application/json"),
        ("Authorization", BEARER),
    ];
    let without = running
        .server
        .send("PUT", "/api/config", &headers, text.as_bytes());
    without.problem(428);
    running.put("\"0123\"", &text).problem(412);
    running.put(&format!("W/{tag}"), &text).problem(412);
    assert_eq!(running.put(&tag, &text).status, 200);
    // The text is another one now, if only by its blanks.
    running.put(&tag, &text).problem(412);

    // Somebody edits the file, and has not finished.
    std::fs::write(role_file(&running.home), "{").expect("written");
    let (tag, _) = running.show();
    let refused = running.put(&tag, &text).problem(412);
    assert!(
        refused["detail"]
            .as_str()
            .is_some_and(|it| it.contains("If-Match: *")),
        "{refused}"
    );
    assert_eq!(running.on_disk(), "{");
    assert_eq!(running.put("*", &text).status, 200);
    assert!(running.on_disk().contains(KEY));
}

#[test]
fn mistakes_are_told_with_their_places_and_change_nothing() {
    let running = Configured::start(&roles());
    let (tag, _) = running.show();
    let (before, found) = (running.on_disk(), running.server.found("valve"));
    let wrong = "{\"roles\": [\n  {\"name\": \"R\", \"relevance_function\": \"BM52\",\n   \"haystacks\": [{\"name\": \"H\", \"service\": \"LocalFiles\", \"location\": \"x\", \"extra_parameters\": {\"glob\": \"[\"}}]}\n]}";
    let problem = running.put(&tag, wrong).problem(422);
    assert_eq!(problem["type"], "urn:orrery:problem:invalid-configuration");
    let errors = problem["errors"].as_array().expect("errors");
    let places: Vec<(&str, u64)> = errors
        .iter()
        .map(|one| {
            (
                one["pointer"].as_str().expect("a pointer"),
                one["line"].as_u64().expect("a line"),
            )
        })
        .collect();
    assert_eq!(
        places,
        [
            ("/roles/0/relevance_function", 2),
            ("/roles/0/haystacks/0/extra_parameters/glob", 3)
        ]
    );
    let all_told = errors
        .iter()
        .all(|one| one["column"].as_u64() > Some(1) && one["detail"].is_string());
    assert!(all_told, "{problem}");
    let not_json = running.put(&tag, "{\"roles\": [}").problem(400);
    assert_eq!(not_json["errors"][0]["line"], 1);
    let headers = [
        ("Content-Type", "text/plain"),
        ("If-Match", tag.as_str()),
        ("Authorization", BEARER),
    ];
    running
        .server
        .send("PUT", "/api/config", &headers, b"{}")
        .problem(415);
    running
        .server
        .send("DELETE", "/api/config", &[], b"")
        .problem(405);
    let big = format!("{{\"x\": \"{}\"}}", "y".repeat(3 << 20));
    running.put(&tag, &big).problem(413);
    assert_eq!(running.on_disk(), before);
    assert_eq!(running.server.found("valve"), found);
    assert_eq!(running.show().0, tag);
}

#[test]
fn a_file_changed_on_disk_is_followed_and_a_broken_one_is_not() {
    let running = Configured::start(&roles());
    let (first, _) = running.show();
    std::fs::write(role_file(&running.home), "{\"roles\": [\n{]").expect("written");
    running.server.eventually("the mistake is told", || {
        let health = running.health();
        health["status"] == "degraded"
            && health["configuration"]["error"]
                .as_str()
                .is_some_and(|error| error.contains("roles.json:2:"))
    });
    assert_eq!(running.show().0, first, "the former one stays in force");
    assert_eq!(running.server.found("valve").len(), 2);

    let mut changed = roles();
    changed["roles"][0]["name"] = "Renamed".into();
    // As editors do it.
    let beside = running.home.path().join("edited");
    std::fs::write(&beside, changed.to_string()).expect("written");
    std::fs::rename(&beside, role_file(&running.home)).expect("renamed");
    running.server.eventually("the new name is in force", || {
        running.server.get("/api/roles").json()["default_role"] == "Renamed"
    });
    running.server.eventually("nothing is wrong any more", || {
        running.health()["status"] == "ok"
    });
    let health = running.health();
    assert_eq!(
        format!(
            "{:?}",
            health["configuration"]["version"]
                .as_str()
                .expect("a version")
        ),
        running.show().0
    );
    assert_eq!(running.server.found("valve").len(), 2);
}
