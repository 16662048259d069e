//! A home with two files and a role, and a real server for it.

use std::path::Path;
use std::time::{Duration, Instant};

use config_core::Environment;
use search_actors::SearchSettings;
use search_core::answer::SourceHealth;
use search_core::concepts::ConceptsState;
use search_web::{SearchServer, SearchServerOptions};
use serde_json::json;
use tokio::sync::oneshot;

/// A home with documents about planets and the moon, and a role `Sky`.
pub(crate) fn home() -> tempfile::TempDir {
    let home = tempfile::tempdir().expect("a temporary folder");
    let write =
        |name: &str, text: &str| std::fs::write(home.path().join(name), text).expect("a file");
    std::fs::create_dir(home.path().join("files")).expect("a folder");
    write(
        "files/orbit.md",
        "# Orbit of planets\n\nPlanets move in ellipses.\n",
    );
    write("files/moon.txt", "The moon\n\nTides follow the moon.\n");
    let role = json!({"name": "Sky", "relevance_function": "ServiceGraph", "theme": "spacelab",
        "haystacks": [{"name": "Files", "service": "LocalFiles", "location": home.path().join("files")}]});
    write("role.json", &role.to_string());
    home
}

/// The token of the configuration, where the clients of this machine look for it: in the data
/// folder that tests name, and in the usual one.
fn keep_token(home: &Path) -> String {
    let token = "0123456789abcdef".repeat(4);
    for data in [home.join("data"), home.join(".local/share/service")] {
        std::fs::create_dir_all(&data).expect("a folder");
        std::fs::write(search_web::boot::token_file(&data), &token).expect("a file");
    }
    token
}

/// A server in a thread; ended, and its clean end asserted, when dropped.
pub(crate) struct Server {
    /// With a slash at the end.
    pub(crate) url: String,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<std::io::Result<()>>>,
}

impl Server {
    /// Starts it and waits until everything is indexed.
    pub(crate) fn start(home: &Path, token: Option<&str>) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}/", listener.local_addr().expect("an address"));
        let path = home.join("role.json");
        let (configuration, _) =
            search_web::boot::read_configuration(&path, &Environment::default(), home)
                .expect("valid roles");
        let settings = SearchSettings {
            roles: configuration.view().roles(),
            data: home.join("server"),
            max_concurrent_searches: 4,
            search_timeout: Duration::from_secs(20),
            search_threads: 1,
            learning_rests: search_actors::LearningRests::default(),
            limits: search_actors::SearchLimits::default(),
        };
        let options = SearchServerOptions {
            token: token.map(str::to_owned),
            configuration_token: Some(keep_token(home)),
            configuration: Some(configuration),
            ..SearchServerOptions::default()
        };
        let (stop, stopped) = oneshot::channel::<()>();
        let (ready, is_ready) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            actix_rt::System::new().block_on(async move {
                let server = SearchServer::prepare(&settings, options).start();
                let role_set = server.roles();
                let deadline = Instant::now() + Duration::from_secs(60);
                // Files and concepts: whoever asks at once is to find all.
                let is_ready = || {
                    let read = |source: &SourceHealth| {
                        let concepts = source.concepts.as_ref().map(|concepts| concepts.state);
                        !matches!(
                            concepts,
                            Some(ConceptsState::Waiting | ConceptsState::Reading)
                        )
                    };
                    role_set.is_settled() && role_set.health().iter().all(read)
                };
                while !is_ready() && Instant::now() < deadline {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
                ready.send(is_ready()).expect("the test waits");
                server.serve(listener, async { drop(stopped.await) }).await
            })
        });
        assert!(is_ready.recv().expect("it starts"), "not indexed in time");
        Self {
            url,
            stop: Some(stop),
            thread: Some(thread),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.stop.take());
        let ended = self.thread.take().map(std::thread::JoinHandle::join);
        if !std::thread::panicking() {
            ended
                .expect("a thread")
                .expect("no panic")
                .expect("a clean end");
        }
    }
}
