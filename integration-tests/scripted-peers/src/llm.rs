//! A language-model server that says what it is told, byte for byte and chunk by chunk.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream;
use parking_lot::Mutex;

use crate::server::{Recorded, Running, broken, start};

/// An answer to one request.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The content type.
    pub content_type: String,
    /// What is sent, chunk by chunk.
    pub chunks: Vec<Bytes>,
    /// The time before each chunk.
    pub pause: Duration,
    /// The connection breaks behind the last chunk, without an end.
    pub cut: bool,
    /// The connection stays open behind the last chunk for so long, in silence.
    pub hang: Duration,
}

impl Answer {
    /// A whole answer of JSON.
    #[must_use]
    pub fn json(body: &serde_json::Value) -> Self {
        Self::chunks("application/json", [body.to_string()])
    }

    /// Chunks of this content type, without pauses.
    #[must_use]
    pub fn chunks<C: Into<Bytes>>(content_type: &str, chunks: impl IntoIterator<Item = C>) -> Self {
        Self {
            status: 200,
            content_type: content_type.to_owned(),
            chunks: chunks.into_iter().map(Into::into).collect(),
            pause: Duration::ZERO,
            cut: false,
            hang: Duration::ZERO,
        }
    }

    /// With this status.
    #[must_use]
    pub fn status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    /// Broken off behind the last chunk.
    #[must_use]
    pub fn cut(mut self) -> Self {
        self.cut = true;
        self
    }

    /// Silent for so long behind the last chunk.
    #[must_use]
    pub fn hang(mut self, time: Duration) -> Self {
        self.hang = time;
        self
    }
}

#[derive(Debug, Default)]
struct Script {
    /// Answers by path; the last of a path is given again and again.
    answers: Vec<(String, VecDeque<Answer>)>,
    requests: Vec<Recorded>,
}

/// The server. It ends when it is dropped.
pub struct ScriptedLlm {
    script: Arc<Mutex<Script>>,
    running: Running,
}

impl ScriptedLlm {
    /// Starts a server that answers 404; needs a running actix system.
    #[must_use]
    pub fn start() -> Self {
        let script = Arc::new(Mutex::new(Script::default()));
        let data = web::Data::from(script.clone());
        let running = start!(move |app: &mut web::ServiceConfig| {
            app.app_data(data.clone())
                .app_data(web::PayloadConfig::new(16 << 20))
                .default_service(web::to(serve));
        });
        Self { script, running }
    }

    /// Its address.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.running.address)
    }

    /// Adds an answer for a path, behind those it has; the last is given again and again.
    pub fn answer(&self, path: &str, answer: Answer) {
        let mut script = self.script.lock();
        match script.answers.iter_mut().find(|(of, _)| of == path) {
            Some((_, answers)) => answers.push_back(answer),
            None => script.answers.push((path.to_owned(), [answer].into())),
        }
    }

    /// Every request so far.
    #[must_use]
    pub fn requests(&self) -> Vec<Recorded> {
        self.script.lock().requests.clone()
    }
}

async fn serve(
    request: HttpRequest,
    body: Bytes,
    script: web::Data<Mutex<Script>>,
) -> HttpResponse {
    let answer = {
        let mut script = script.lock();
        script
            .requests
            .push(Recorded::from_request(&request, &body));
        let path = request.path();
        let answers = script.answers.iter_mut().find(|(of, _)| of == path);
        answers.and_then(|(_, answers)| match answers.len() {
            1 => answers.front().cloned(),
            _ => answers.pop_front(),
        })
    };
    let Some(answer) = answer else {
        return HttpResponse::NotFound().json(serde_json::json!({"error": "not in the script"}));
    };
    let status = StatusCode::from_u16(answer.status).expect("a scripted status is one");
    let pause = answer.pause;
    let chunks = stream::iter(answer.chunks).then(move |chunk| async move {
        if !pause.is_zero() {
            actix_rt::time::sleep(pause).await;
        }
        Ok(chunk)
    });
    let (hang, cut) = (answer.hang, answer.cut);
    let end = stream::once(async move {
        if !hang.is_zero() {
            actix_rt::time::sleep(hang).await;
        }
        match cut {
            true => Err(broken().await),
            false => Ok(Bytes::new()),
        }
    });
    HttpResponse::build(status)
        .content_type(answer.content_type)
        .streaming(chunks.chain(end).filter(|chunk| {
            let empty = matches!(chunk, Ok(chunk) if chunk.is_empty());
            std::future::ready(!empty)
        }))
}
