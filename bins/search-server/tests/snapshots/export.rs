//! `export` against a scripted peer that holds it to the bulk interface: no Elasticsearch is run.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::servers::{Home, Server, write_corpus};

/// What the peer has, and what it is to do.
#[derive(Default)]
pub(super) struct Peer {
    mapping: Option<Value>,
    pub(super) documents: BTreeMap<String, Value>,
    /// Statuses of the next answers to `_bulk`, in place of what it would say.
    faults: Vec<u16>,
    /// Ids that are answered 429 once each.
    busy: Vec<String>,
    bulks: usize,
    /// Batches that are taken; the others are refused.
    takes: Option<usize>,
    /// The longest batch that is taken.
    most_bytes: Option<usize>,
    /// What the index is called; another one each time that it is made.
    uuid: usize,
    /// What was against the interface.
    pub(super) wrong: Vec<String>,
}

impl Peer {
    pub(super) fn start() -> (Arc<Mutex<Self>>, String) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = format!("http://{}", listener.local_addr().expect("an address"));
        let peer: Arc<Mutex<Self>> = Arc::default();
        let shared = Arc::clone(&peer);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let shared = Arc::clone(&shared);
                std::thread::spawn(move || while serve(&stream, &shared).is_some() {});
            }
        });
        (peer, address)
    }

    fn answer(
        &mut self,
        line: &str,
        headers: &BTreeMap<String, String>,
        body: &str,
    ) -> (u16, Value) {
        if headers.get("authorization").map(String::as_str) != Some("ApiKey secret") {
            self.wrong
                .push(format!("{line}: {:?}", headers.get("authorization")));
        }
        match line {
            "GET /docs" if self.mapping.is_none() => (404, json!({"status": 404})),
            "GET /docs" => {
                let uuid = format!("index-{}", self.uuid);
                let said = json!({"docs": {"settings": {"index": {"uuid": uuid}}}});
                (200, said)
            }
            "PUT /docs" => {
                self.mapping = serde_json::from_str(body).ok();
                self.uuid += 1;
                (200, json!({"acknowledged": true}))
            }
            "POST /docs/_bulk" => {
                self.bulks += 1;
                let kind = headers.get("content-type").map(String::as_str);
                if kind != Some("application/x-ndjson") || !body.ends_with('\n') {
                    self.wrong.push(format!("{kind:?}"));
                }
                if !self.faults.is_empty() {
                    return (
                        self.faults.remove(0),
                        json!({"error": {"reason": "too much to do"}}),
                    );
                }
                match &mut self.takes {
                    Some(0) => return (403, json!({})),
                    Some(left) => *left -= 1,
                    None => {}
                }
                if self.most_bytes.is_some_and(|most| body.len() > most) {
                    return (413, json!({}));
                }
                self.bulk(body)
            }
            line => {
                self.wrong.push(line.to_owned());
                (405, json!({}))
            }
        }
    }

    fn bulk(&mut self, body: &str) -> (u16, Value) {
        let mut lines = body.lines();
        let mut items = Vec::new();
        while let Some(line) = lines.next() {
            let action: Value = serde_json::from_str(line).expect("an action");
            let id = |kind: &str| action[kind]["_id"].as_str().map(str::to_owned);
            if let Some(id) = id("delete") {
                let status = match self.documents.remove(&id) {
                    Some(_) => 200,
                    None => 404,
                };
                items.push(json!({"delete": {"_id": id, "status": status}}));
                continue;
            }
            let id = id("index").expect("index or delete");
            let document: Value =
                serde_json::from_str(lines.next().expect("a document")).expect("JSON");
            let is_busy = self.busy.iter().position(|one| id.contains(one.as_str()));
            let status = match is_busy {
                Some(place) => {
                    self.busy.remove(place);
                    429
                }
                None if document["title"] == "refused" => 400,
                None => {
                    self.documents.insert(id.clone(), document);
                    201
                }
            };
            let error = json!({"reason": "the peer does not want it"});
            items.push(json!({"index": {"_id": id, "status": status, "error": error}}));
        }
        (200, json!({"errors": false, "items": items}))
    }
}

/// One request; `None` at the end of the connection.
fn serve(stream: &TcpStream, peer: &Mutex<Peer>) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let mut first = String::new();
    reader
        .read_line(&mut first)
        .ok()
        .filter(|length| *length > 0)?;
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim().split_once(':') else {
            break;
        };
        headers.insert(name.to_lowercase(), value.trim().to_owned());
    }
    let length = headers
        .get("content-length")
        .and_then(|text| text.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    let body = String::from_utf8(body).expect("text");
    let line = first.rsplit_once(' ').map_or("", |(line, _)| line);
    let (status, answer) = peer.lock().expect("whole").answer(line, &headers, &body);
    let answer = answer.to_string();
    let mut stream = stream;
    write!(
        stream,
        "HTTP/1.1 {status} x\r\nRetry-After: 0\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{answer}",
        answer.len()
    )
    .ok()
}

/// Runs the export: its exit code, what it has done, what it says.
fn exported(home: &Home, address: &str, key: &Path) -> (Option<i32>, Value, String) {
    exported_by(home.command("data", "local"), address, key)
}

/// The same of whatever server has this command.
pub(super) fn exported_by(
    mut command: Command,
    address: &str,
    key: &Path,
) -> (Option<i32>, Value, String) {
    let arguments = ["export", "--elasticsearch", address, "--index", "docs"];
    let command = command.args(arguments).args(["--format", "json"]);
    let output = command.arg("--authorization-file").arg(key).output();
    let output = output.expect("it runs");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    (output.status.code(), report, text)
}

#[test]
fn i18_an_export_is_gone_on_with_and_follows_what_changes() {
    let home = Home::new();
    write_corpus(&home.docs(), 700);
    std::fs::write(home.docs().join("refused.md"), "# refused\n\ntext\n").expect("room");
    home.write_roles(&["BM25F"]);
    let mut server = home.start("data", "local");
    server.settle(701, false);
    let (peer, address) = Peer::start();
    let key = home.data("key");
    std::fs::write(&key, "ApiKey secret\n").expect("room");
    let export = || exported(&home, &address, &key);
    // The server is asked again where it has too much to do, and ends the export by refusing.
    peer.lock().expect("whole").faults = vec![429, 503];
    peer.lock().expect("whole").busy = vec!["note-0003".to_owned()];
    let (code, report, text) = export();
    assert_eq!(code, Some(1), "one was refused: {text}");
    assert!(
        text.contains("refused.md: refused: 400: the peer does not want it"),
        "{text}"
    );
    assert_eq!(
        (&report["put"], &report["refused"]),
        (&json!(700), &json!(1)),
        "{text}"
    );
    {
        let mut peer = peer.lock().expect("whole");
        assert_eq!(peer.wrong, Vec::<String>::new());
        assert_eq!(peer.documents.len(), 700);
        // Two that were put off, two batches, one document again.
        assert_eq!(peer.bulks, 5);
        let mapping = peer.mapping.as_ref().expect("it was made");
        assert_eq!(mapping["mappings"]["properties"]["url"]["type"], "keyword");
        let body = peer.documents.values().next().expect("one")["body"].to_string();
        assert!(body.contains("stands beside"), "{body}");
        peer.bulks = 0;
    }
    // Nothing has changed: only what was refused is tried again.
    let (_, report, text) = export();
    assert_eq!(
        (&report["unchanged"], &report["put"]),
        (&json!(700), &json!(0)),
        "{text}"
    );
    assert_eq!(peer.lock().expect("whole").bulks, 1);
    // What changes, comes and goes.
    std::fs::remove_file(home.docs().join("refused.md")).expect("there");
    std::fs::remove_file(home.docs().join("part0/note-0000.md")).expect("there");
    std::fs::write(
        home.docs().join("part1/note-0001.md"),
        "# Changed\n\nzanzibar\n",
    )
    .expect("room");
    server.settle(699, false);
    super::servers::wait(
        "the change",
        || server.finds("BM25F", "zanzibar"),
        String::new,
    );
    let (code, report, text) = export();
    assert_eq!(code, Some(0), "{text}");
    assert_eq!(
        (&report["put"], &report["removed"]),
        (&json!(1), &json!(1)),
        "{text}"
    );
    let documents = &peer.lock().expect("whole").documents;
    assert_eq!(documents.len(), 699);
    assert!(documents.values().any(|one| one["title"] == "Changed"));
}

/// An export that ends in the middle has noted what the server has.
#[test]
fn i18_an_export_that_ended_early_sends_the_rest() {
    let home = Home::new();
    write_corpus(&home.docs(), 700);
    home.write_roles(&["BM25F"]);
    let mut server = home.start("data", "local");
    server.settle(700, false);
    let (peer, address) = Peer::start();
    let key = home.data("key");
    std::fs::write(&key, "ApiKey secret").expect("room");
    let export = || exported(&home, &address, &key);
    // The server takes a batch and refuses the next one.
    peer.lock().expect("whole").takes = Some(1);
    let (code, _, text) = export();
    assert_eq!(code, Some(1), "{text}");
    assert_eq!(peer.lock().expect("whole").documents.len(), 500);
    peer.lock().expect("whole").takes = None;
    let (code, report, text) = export();
    assert_eq!(code, Some(0), "{text}");
    let sent = (&report["put"], &report["unchanged"]);
    assert_eq!(sent, (&json!(200), &json!(500)));
    assert_eq!(peer.lock().expect("whole").documents.len(), 700);
}

/// A server that has indexed so many documents.
fn indexed(documents: usize) -> (Home, Server) {
    let home = Home::new();
    write_corpus(&home.docs(), documents);
    home.write_roles(&["BM25F"]);
    let mut server = home.start("data", "local");
    server.settle(documents, false);
    (home, server)
}

/// The file with what the peer asks for.
pub(super) fn key_of(home: &Home) -> PathBuf {
    let key = home.data("key");
    std::fs::write(&key, "ApiKey secret").expect("room");
    key
}

/// What an export reads stands in an index that the server is making again: what is not in it is
/// not gone.
#[test]
fn i18_an_export_from_an_index_that_is_made_again_removes_nothing() {
    let (home, server) = indexed(40);
    let (peer, address) = Peer::start();
    let key = key_of(&home);
    let export = || exported(&home, &address, &key);
    assert_eq!(export().1["put"], 40);
    server.end();
    // The index is lost, and its source is away: the server waits, with an empty index.
    let indices = home.data("data").join("index");
    for entry in std::fs::read_dir(&indices).expect("a folder").flatten() {
        if entry.path().is_dir() {
            std::fs::remove_dir_all(entry.path()).expect("there");
        }
    }
    let away = home.data("away");
    std::fs::rename(home.docs(), &away).expect("there");
    let mut server = home.start("data", "local");
    server.program.next_with("source.unreadable");
    server.end();
    std::fs::rename(&away, home.docs()).expect("there");
    let (code, report, text) = export();
    assert_eq!((code, &report["removed"]), (Some(0), &json!(0)), "{text}");
    assert!(text.contains("is removed by a later run"), "{text}");
    assert_eq!(peer.lock().expect("whole").documents.len(), 40);
    // And in step again, it removes what is gone.
    std::fs::remove_file(home.docs().join("part0/note-0000.md")).expect("there");
    let mut server = home.start("data", "local");
    server.settle(39, false);
    let (_, report, text) = export();
    assert_eq!(
        (&report["removed"], &report["put"]),
        (&json!(1), &json!(0)),
        "{text}"
    );
}

#[test]
fn i18_an_index_that_was_made_anew_gets_all_documents_again() {
    let (home, _server) = indexed(40);
    let (peer, address) = Peer::start();
    let key = key_of(&home);
    let export = || exported(&home, &address, &key);
    assert_eq!(export().1["put"], 40);
    // It was lost; somebody else has made it anew; its documents are those of an old snapshot.
    for lost in ["index", "documents"] {
        {
            let mut peer = peer.lock().expect("whole");
            peer.documents.clear();
            match lost {
                "index" => peer.mapping = None,
                _ => peer.uuid += 1,
            }
            peer.takes = Some(0);
        }
        // A run that ends early is gone on with.
        assert_eq!(export().0, Some(1), "{lost}");
        peer.lock().expect("whole").takes = None;
        let (code, report, text) = export();
        assert_eq!(
            (code, &report["put"]),
            (Some(0), &json!(40)),
            "{lost}: {text}"
        );
        assert_eq!(peer.lock().expect("whole").documents.len(), 40);
        assert_eq!(export().1["unchanged"], 40, "{lost}");
    }
}

#[test]
fn i18_a_document_that_is_too_large_for_the_server_holds_up_no_other() {
    let home = Home::new();
    write_corpus(&home.docs(), 40);
    let long = format!("# Long\n\n{}\n", "one word ".repeat(60_000));
    std::fs::write(home.docs().join("long.md"), long).expect("room");
    home.write_roles(&["BM25F"]);
    let mut server = home.start("data", "local");
    server.settle(41, false);
    let (peer, address) = Peer::start();
    peer.lock().expect("whole").most_bytes = Some(300_000);
    let key = home.data("key");
    std::fs::write(&key, "ApiKey secret").expect("room");
    let (code, report, text) = exported(&home, &address, &key);
    assert_eq!(code, Some(1), "{text}");
    let counts = (&report["put"], &report["refused"]);
    assert_eq!(counts, (&json!(40), &json!(1)), "{text}");
    assert!(text.contains("long.md: refused: 413"), "{text}");
    assert_eq!(peer.lock().expect("whole").documents.len(), 40);
}
