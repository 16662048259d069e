//! Load on the search server and its alternatives, interleaved round by round.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::load;
use crate::process::{Running, pause};
use crate::queries;
use crate::report::STORED;
use crate::server::{Setup, free_port, get};
use crate::table::{Figures, Learning, Serving};

/// How long one connection pattern is kept up, each round.
const PHASE: Duration = Duration::from_secs(3);

/// An alternative that is served for as long as it is compared with.
struct Contender {
    row: usize,
    port: u16,
    process: Running,
}

impl Contender {
    fn start(row: usize, name: &str, index: &Path) -> Self {
        let port = free_port();
        let own = std::env::current_exe().expect("a program knows its own path");
        let process = Running::start(
            Command::new(own)
                .args(["--contender", name])
                .arg(index)
                .arg(port.to_string()),
        );
        while get(port, "/health").is_none() {
            pause(Duration::from_millis(20));
        }
        Self { row, port, process }
    }
}

pub(crate) fn serve(
    setup: &Setup,
    tree: &Path,
    scratch: &Path,
    rounds: usize,
    figures: &mut Figures,
) {
    let mix = queries::make(tree, 20_000);
    let minimal = Contender::start(0, "minimal-server", &index_folder(&setup.data()));
    let snippets = Contender::start(1, "snippet-server", &scratch.join(STORED));
    let server = Setup {
        port: free_port(),
        binary: setup.binary.clone(),
        home: setup.home.clone(),
    };
    for connections in [1, 16] {
        let mut rows = serving(
            connections,
            &[
                "minimal actix-web + tantivy, no excerpts",
                "actix-web + tantivy, stored texts",
                "search-server, no result cache",
                "search-server",
            ],
        );
        for (row, cache, contenders) in [
            (2, "0B", &[&minimal, &snippets][..]),
            (3, "16MB", &[&minimal][..]),
        ] {
            let running = server.start(cache);
            server.wait_for("/livez", Duration::from_millis(5));
            server.wait_until_indexed();
            for round in 0..rounds {
                let mut phase = |row: usize, port: u16| {
                    let load = load::phase(port, &mix, round * 4_000, connections, PHASE);
                    rows[row].rounds.push(load);
                };
                for contender in contenders {
                    phase(contender.row, contender.port);
                }
                phase(row, server.port);
            }
            figures.memory_after_load = running.usage();
            running.stop();
        }
        figures.serving.extend(rows);
    }
    minimal.process.stop();
    snippets.process.stop();
}

/// The same server ranking by concepts, beside itself ranking by BM25F over the same index.
pub(crate) fn learnt(setup: &Setup, tree: &Path, rounds: usize, figures: &mut Figures) {
    let mix = queries::make(tree, 20_000);
    let began = Instant::now();
    setup.write_role(tree, "ServiceGraph");
    let server = setup.start("0B");
    setup.wait_for("/livez", Duration::from_millis(5));
    setup.wait_until_indexed();
    let documents = setup.wait_until_learnt();
    let (wall_s, usage) = (began.elapsed().as_secs_f64(), server.usage());
    for connections in [1, 16] {
        let mut rows = serving(connections, &["search-server, ServiceGraph"]);
        for round in 0..rounds {
            let load = load::phase(setup.port, &mix, round * 4_000, connections, PHASE);
            rows[0].rounds.push(load);
        }
        figures.serving.extend(rows);
    }
    figures.learning = Some(Learning {
        documents,
        wall_s,
        usage,
        memory_after_load: server.usage(),
    });
    server.stop();
}

fn serving(connections: usize, who: &[&'static str]) -> Vec<Serving> {
    let row = |who: &&'static str| Serving {
        who,
        connections,
        rounds: Vec::new(),
    };
    who.iter().map(row).collect()
}

/// The folder that holds tantivy's `meta.json` below the data folder.
fn index_folder(data: &Path) -> PathBuf {
    let entries = std::fs::read_dir(data)
        .expect("the data folder")
        .flatten()
        .map(|entry| entry.path());
    let mut folders: Vec<PathBuf> = entries.filter(|path| path.is_dir()).collect();
    while let Some(folder) = folders.pop() {
        if folder.join("meta.json").is_file() {
            return folder;
        }
        let inner = std::fs::read_dir(&folder)
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path());
        folders.extend(inner.filter(|path| path.is_dir()));
    }
    panic!("{} holds no index", data.display());
}
