//! A scripted forge: takes statuses and comments, and remembers them.

use std::collections::{BTreeMap, VecDeque};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

/// What was posted, and what it replies.
#[derive(Debug, Default)]
struct ForgeState {
    /// Commit, context, state; in the order of their arrival.
    statuses: Vec<(String, String, String)>,
    comments: Vec<(String, String)>,
    /// Answers to the next posts: status, and a header line.
    planned: VecDeque<(u16, String)>,
    /// What users may do, by login; everybody else may write. An empty word: the forge fails.
    permissions: BTreeMap<String, String>,
    /// Descriptions of statuses: context and text.
    descriptions: Vec<(String, String)>,
    /// What comments were posted with.
    tokens: Hidden,
}

/// What does not show where everything else does.
#[derive(Default)]
struct Hidden(Vec<String>);

impl std::fmt::Debug for Hidden {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Hidden")
    }
}

/// The forge; its thread ends with the process.
pub(crate) struct Forge {
    port: u16,
    state: Arc<Mutex<ForgeState>>,
}

impl Forge {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let state = Arc::new(Mutex::new(ForgeState::default()));
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let state = Arc::clone(&shared);
                std::thread::spawn(move || while answer(&stream, &state).is_some() {});
            }
        });
        Self { port, state }
    }

    /// The `[forge]` table.
    pub(crate) fn table(&self) -> String {
        format!(
            "[forge]\nkind = \"gitea\"\nurl = \"http://127.0.0.1:{}\"\ntoken = \"forge-token-0123\"\n",
            self.port
        )
    }

    pub(crate) fn fail(&self, times: u32) {
        for _ in 0..times {
            self.plan(500, "");
        }
    }

    /// What the next post is answered with, and a header line of it.
    pub(crate) fn plan(&self, status: u16, header: &str) {
        let mut state = self.state.lock().expect("not poisoned");
        state.planned.push_back((status, header.to_owned()));
    }

    /// What a user may do; empty: the forge cannot say.
    pub(crate) fn permit(&self, login: &str, word: &str) {
        let mut state = self.state.lock().expect("not poisoned");
        state.permissions.insert(login.to_owned(), word.to_owned());
    }

    /// The last description of a status.
    pub(crate) fn description(&self, context: &str) -> Option<String> {
        let state = self.state.lock().expect("not poisoned");
        let mut of = state
            .descriptions
            .iter()
            .rev()
            .filter(|(name, _)| name == context);
        of.next().map(|(_, text)| text.clone())
    }

    /// Everything that was posted, as text.
    pub(crate) fn everything(&self) -> String {
        format!("{:?}", self.state.lock().expect("not poisoned"))
    }

    /// The states of one status, in the order they were posted.
    pub(crate) fn states(&self, sha: &str, context: &str) -> Vec<String> {
        let state = self.state.lock().expect("not poisoned");
        let same = state
            .statuses
            .iter()
            .filter(|(of, name, _)| of == sha && name == context);
        same.map(|(_, _, state)| state.clone()).collect()
    }

    /// The latest state of one status.
    pub(crate) fn state(&self, sha: &str, context: &str) -> Option<String> {
        self.states(sha, context).pop()
    }

    /// What the last comment was posted with.
    pub(crate) fn last_token(&self) -> String {
        let state = self.state.lock().expect("not poisoned");
        state.tokens.0.last().cloned().unwrap_or_default()
    }

    pub(crate) fn comments(&self) -> Vec<(String, String)> {
        self.state.lock().expect("not poisoned").comments.clone()
    }

    /// Forgets a status, as if somebody had removed it.
    pub(crate) fn forget(&self, sha: &str) {
        self.state
            .lock()
            .expect("not poisoned")
            .statuses
            .retain(|(of, _, _)| of != sha);
    }
}

/// Serves one request; `None` when the connection is over.
fn answer(stream: &TcpStream, state: &Mutex<ForgeState>) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
    let mut parts = line.split(' ');
    let (method, path) = (parts.next()?.to_owned(), parts.next()?.to_owned());
    let (mut length, mut token) = (0, String::new());
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        if header.trim().is_empty() {
            break;
        }
        let Some((name, value)) = header.split_once(':') else {
            continue;
        };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().ok()?;
        } else if name.eq_ignore_ascii_case("authorization") {
            value.trim().clone_into(&mut token);
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    if method == "POST" && path.ends_with("/comments") {
        state.lock().expect("not poisoned").tokens.0.push(token);
    }
    let (status, header, reply) = reply(
        &method,
        &path,
        &body,
        &mut state.lock().expect("not poisoned"),
    );
    let reply = reply.to_string();
    let mut stream = stream;
    write!(
        stream,
        "HTTP/1.1 {status} X\r\nContent-Type: application/json\r\n{header}Content-Length: {}\r\n\r\n{reply}",
        reply.len()
    )
    .ok()
}

/// Status, one more header line, and the body.
fn reply(method: &str, path: &str, body: &Value, state: &mut ForgeState) -> (u16, String, Value) {
    if method == "POST"
        && let Some((status, header)) = state.planned.pop_front()
    {
        return (status, header, json!({"message": "planned"}));
    }
    let (status, reply) = answer_of(method, path, body, state);
    (status, String::new(), reply)
}

fn answer_of(method: &str, path: &str, body: &Value, state: &mut ForgeState) -> (u16, Value) {
    let path = path.split('?').next().unwrap_or_default();
    let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
    if method == "POST" && path.contains("/statuses/") {
        let sha = path.rsplit('/').next().unwrap_or_default().to_owned();
        state.statuses.push((sha, text("context"), text("state")));
        state
            .descriptions
            .push((text("context"), text("description")));
        let id = state.statuses.len();
        return (
            201,
            json!({"id": id, "status": text("state"), "context": text("context"), "description": "", "target_url": ""}),
        );
    }
    if method == "POST" && path.ends_with("/comments") {
        state.comments.push((path.to_owned(), text("body")));
        return (
            201,
            json!({"id": state.comments.len(), "body": text("body"), "user": {"login": "orch-bot"},
            "created_at": "2026-11-21T10:00:00Z", "updated_at": "2026-11-21T10:00:00Z", "html_url": "", "issue_url": ""}),
        );
    }
    if let Some(rest) = path.split("/collaborators/").nth(1) {
        let login = rest.split('/').next().unwrap_or_default();
        return match state.permissions.get(login).map(String::as_str) {
            Some("") => (500, json!({"message": "planned"})),
            Some(word) => (200, json!({"permission": word, "role_name": word})),
            None => (200, json!({"permission": "write", "role_name": "write"})),
        };
    }
    if path.ends_with("/user") {
        return (200, json!({"login": "orch-bot"}));
    }
    if path.ends_with("/statuses") {
        let sha = path.rsplit('/').nth(1).unwrap_or_default();
        let listed = state
            .statuses
            .iter()
            .enumerate()
            .filter(|(_, (of, _, _))| of == sha);
        let listed: Vec<Value> = listed
            .map(|(id, (_, context, state))| json!({"id": id + 1, "status": state, "context": context, "description": "", "target_url": ""}))
            .collect();
        return (200, json!(listed));
    }
    if path.ends_with("/comments") || path.ends_with("/pulls") {
        return (200, json!([]));
    }
    (200, json!({"sha": "x"}))
}
