//! A scripted server that embeds by counting words, as Ollama does, and reranks by the same, as
//! llama.cpp does: what means the same has the same number.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use serde_json::{Value, json};

/// How it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    /// Gives vectors.
    Works,
    /// Closes each connection.
    Away,
    /// Breaks off in the middle of the vectors.
    HalfJson,
    /// Says nothing, and keeps the connection.
    Hangs,
    /// One vector too few.
    TooFew,
    /// Vectors of nothing but zeros.
    Zeros,
}

#[derive(Debug)]
struct State {
    manner: Manner,
    width: usize,
    /// Whether words without a meaning count as well.
    reads_all: bool,
    /// Texts with this word are refused.
    poison: Option<&'static str>,
    /// Batches with this word wait for a permit.
    held: Option<&'static str>,
    permits: usize,
    /// The texts of each question.
    asked: Vec<Vec<String>>,
}

/// The server; it ends with the process.
#[derive(Debug)]
pub struct EmbeddingPeer {
    address: SocketAddr,
    state: Arc<(Mutex<State>, Condvar)>,
}

/// Words of one meaning.
const MEANINGS: [&[&str]; 4] = [
    &["motor", "vehicle", "automobile", "engine", "truck", "car"],
    &["bread", "baking", "flour", "ovens"],
    &["cats", "animals"],
    &["guide"],
];

impl EmbeddingPeer {
    /// Starts one that works.
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let state = State {
            manner: Manner::Works,
            width: 16,
            reads_all: false,
            poison: None,
            held: None,
            permits: 0,
            asked: Vec::new(),
        };
        let peer = Self {
            address: listener.local_addr().expect("an address"),
            state: Arc::new((Mutex::new(state), Condvar::new())),
        };
        let state = Arc::clone(&peer.state);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let state = Arc::clone(&state);
                // A connection that breaks is the other side's affair.
                std::thread::spawn(move || serve(stream, &state).unwrap_or_default());
            }
        });
        peer
    }

    /// Where it listens.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state.0.lock().expect("no panic"));
        self.state.1.notify_all();
    }

    /// From now on it answers so.
    pub fn manner(&self, manner: Manner) {
        self.change(|state| state.manner = manner);
    }

    /// From now on its vectors have so many numbers.
    pub fn width(&self, width: usize) {
        self.change(|state| state.width = width);
    }

    /// From now on words without a meaning count as well, each in one of the other numbers.
    pub fn reads_all(&self) {
        self.change(|state| state.reads_all = true);
    }

    /// Texts with this word are refused.
    pub fn refuses(&self, word: &'static str) {
        self.change(|state| state.poison = Some(word));
    }

    /// Batches, and queries of rerankings, with this word wait for a permit.
    pub fn holds(&self, word: &'static str) {
        self.change(|state| state.held = Some(word));
    }

    /// So many more batches are let through.
    pub fn permit(&self, batches: usize) {
        self.change(|state| state.permits += batches);
    }

    /// The texts of each question so far.
    pub fn asked(&self) -> Vec<Vec<String>> {
        self.state.0.lock().expect("no panic").asked.clone()
    }
}

fn serve(stream: TcpStream, state: &(Mutex<State>, Condvar)) -> std::io::Result<()> {
    let mut output = stream.try_clone()?;
    let mut input = BufReader::new(stream);
    loop {
        let (mut line, mut first, mut length) = (String::new(), String::new(), 0);
        while line != "\r\n" {
            line.clear();
            if input.read_line(&mut line)? == 0 {
                return Ok(());
            }
            if first.is_empty() {
                first.clone_from(&line);
            }
            let lower = line.to_ascii_lowercase();
            if let Some(value) = lower.strip_prefix("content-length:") {
                length = value.trim().parse().unwrap_or(0);
            }
        }
        let mut body = vec![0; length];
        input.read_exact(&mut body)?;
        let body: Value = serde_json::from_slice(&body).unwrap_or_default();
        let Some((status, answer, cut)) = answer(&first, &body, state) else {
            return Ok(());
        };
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            answer.len()
        );
        output.write_all(head.as_bytes())?;
        output.write_all(&answer.as_bytes()[..answer.len() - cut])?;
        if cut > 0 {
            return Ok(());
        }
    }
}

/// Status, body, and the bytes at its end that are not sent; `None` closes the connection.
fn answer(
    first: &str,
    body: &Value,
    state: &(Mutex<State>, Condvar),
) -> Option<(u16, String, usize)> {
    let mut now = state.0.lock().expect("no panic");
    if now.manner == Manner::Away {
        return None;
    }
    if first.contains("/api/tags") {
        let list = json!({"models": [{"name": "words:latest"}]});
        return Some((200, list.to_string(), 0));
    }
    if first.contains("/v1/rerank") && body["model"] == "words" {
        let answer = reranked(body, &mut now);
        let query = body["query"].as_str().unwrap_or_default();
        drop(let_through(now, &state.1, |word| query.contains(word)));
        return answer;
    }
    if !first.contains("/api/embed") || body["model"] != "words" {
        return Some((404, json!({"error": "model not found"}).to_string(), 0));
    }
    let list = body["input"].as_array().cloned().unwrap_or_default();
    let texts: Vec<String> = list
        .iter()
        .filter_map(|text| Some(text.as_str()?.to_owned()))
        .collect();
    now.asked.push(texts.clone());
    let has = |word: Option<&str>| word.is_some_and(|word| texts.iter().any(|t| t.contains(word)));
    if has(now.poison) {
        return Some((400, json!({"error": "too long"}).to_string(), 0));
    }
    now = let_through(now, &state.1, |word| has(Some(word)));
    let mut vectors: Vec<Vec<f32>> = texts.iter().map(|text| vector(text, &now)).collect();
    match now.manner {
        Manner::Works | Manner::HalfJson | Manner::Away => {}
        Manner::TooFew => drop(vectors.pop()),
        Manner::Zeros => vectors
            .iter_mut()
            .flatten()
            .for_each(|number| *number = 0.0),
        Manner::Hangs => {
            while now.manner == Manner::Hangs {
                now = state.1.wait(now).expect("no panic");
            }
            return None;
        }
    }
    let answer = json!({"model": "words", "embeddings": vectors}).to_string();
    let cut = match now.manner {
        Manner::HalfJson => answer.len() / 2,
        _ => 0,
    };
    Some((200, answer, cut))
}

/// Waits for a permit where a question has the word that is held.
fn let_through<'s>(
    mut now: MutexGuard<'s, State>,
    changed: &Condvar,
    has: impl Fn(&str) -> bool,
) -> MutexGuard<'s, State> {
    while now.held.is_some_and(&has) && now.permits == 0 {
        now = changed.wait(now).expect("no panic");
    }
    if now.held.is_some_and(&has) {
        now.permits -= 1;
    }
    now
}

/// How near each text is to the query, the nearest first.
fn reranked(body: &Value, now: &mut State) -> Option<(u16, String, usize)> {
    let documents = body["documents"].as_array().cloned().unwrap_or_default();
    let texts = documents.iter().filter_map(Value::as_str);
    let query = body["query"].as_str().unwrap_or_default();
    let asked = std::iter::once(query).chain(texts.clone());
    now.asked.push(asked.map(str::to_owned).collect());
    let of = |text: &str| vector(text, now);
    let near = |text| -> f32 { of(query).iter().zip(of(text)).map(|(a, b)| a * b).sum() };
    let mut results: Vec<(usize, f32)> = texts.map(near).enumerate().collect();
    results.sort_by(|a, b| b.1.total_cmp(&a.1));
    if now.manner == Manner::TooFew {
        results.pop();
    }
    let results = results.into_iter();
    let results: Vec<Value> = results
        .map(|(index, score)| json!({"index": index, "relevance_score": score}))
        .collect();
    let answer = json!({"model": "words", "results": results}).to_string();
    let cut = match now.manner {
        Manner::HalfJson => answer.len() / 2,
        _ => 0,
    };
    Some((200, answer, cut))
}

fn vector(text: &str, state: &State) -> Vec<f32> {
    let mut numbers = vec![0.01; state.width];
    for word in text.to_lowercase().split(|c: char| !c.is_alphanumeric()) {
        let meaning = MEANINGS.iter().position(|words| words.contains(&word));
        if let Some(meaning) = meaning {
            // A guide is a guide; what it is about counts more.
            numbers[meaning] += if meaning == 3 { 0.1 } else { 1.0 };
        } else if state.reads_all && word.len() > 3 {
            let sum = word
                .bytes()
                .fold(7_usize, |sum, byte| sum * 31 % 9_973 + usize::from(byte));
            let others = state.width - MEANINGS.len();
            numbers[MEANINGS.len() + sum % others] += 1.0;
        }
    }
    numbers
}
