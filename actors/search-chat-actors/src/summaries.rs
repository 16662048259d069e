//! Summaries, made once of the same text.

use std::sync::Arc;

use outbound::llm::{LlmError, StopReason};
use search_actors::messages::ReadDocument;
use search_core::conversation::{Citation, EXTRACTIVE, SummaryAnswer};
use search_core::passages::{summarize, summary_prompt};
use search_engine::answering::DocumentRequest;
use store::LocalState;
use store::local::Change;
use uuid::Uuid;

use crate::desk::{Tools, beside};
use crate::failure::ChatFailure;
use crate::messages::{SummaryOrder, SummarySource};
use crate::model::ModelChoice;

/// The namespace; keys are hashes of text, length, provider and model.
const SPACE: &str = "summaries";
/// The most summaries kept, about.
const MOST: u64 = 10_000;
/// Kept summaries are counted when the hash of a new one begins with a byte below this: at one of 64.
const COUNTED: u8 = 4;
/// Summaries that make room at once. Their keys are hashes, so the first ones are any ones.
const ROOM: usize = 1_000;

/// The kept summaries. Calls block.
#[derive(Debug, Clone)]
pub(crate) struct Summaries {
    state: Arc<dyn LocalState>,
}

impl Summaries {
    pub(crate) fn new(state: Arc<dyn LocalState>) -> Self {
        Self { state }
    }

    fn get(&self, key: &[u8; 32]) -> Result<Option<String>, ChatFailure> {
        let kept = self.state.get(SPACE, key)?;
        // What cannot be read is made again.
        Ok(kept.and_then(|bytes| String::from_utf8(bytes).ok()))
    }

    fn put(&self, key: &[u8; 32], summary: &str) -> Result<(), ChatFailure> {
        let mut changes = Vec::new();
        if key[0] < COUNTED && self.state.size(SPACE)?.entries > MOST {
            let first = self.state.scan(SPACE, b"", None, ROOM)?;
            changes.extend(first.iter().map(|(key, _)| Change::delete(SPACE, key)));
        }
        changes.push(Change::put(SPACE, key, summary.as_bytes()));
        self.state.batch(&changes)?;
        Ok(())
    }
}

/// Summarises a text.
pub(crate) async fn answer(
    tools: &Tools,
    order: SummaryOrder,
) -> Result<SummaryAnswer, ChatFailure> {
    let board = tools.parts.boards.now();
    let name = order.role.as_deref();
    let entry = board.role(name).ok_or_else(|| board.unknown_role(name))?;
    let choice = ModelChoice::of(&entry.role.extra);
    let (text, citations) = text(tools, &order).await?;
    let most = order.max_chars;
    let key = key(&text, most, choice.as_ref());
    let summaries = tools.summaries.clone();
    let kept = beside(move || summaries.get(&key)).await??;
    let cached = kept.is_some();
    let summary = match (kept, &choice) {
        (Some(kept), _) => kept,
        (None, None) => beside(move || summarize(&text, most)).await?,
        (None, Some(choice)) => by_model(tools, choice, &text, most).await?,
    };
    if !cached {
        let (summaries, made) = (tools.summaries.clone(), summary.clone());
        beside(move || summaries.put(&key, &made)).await??;
    }
    Ok(SummaryAnswer {
        status: "success".to_owned(),
        summary,
        provider: choice
            .as_ref()
            .map_or(EXTRACTIVE, |choice| choice.provider)
            .to_owned(),
        model: choice.map(|choice| choice.name),
        cached,
        citations,
    })
}

/// The text, and the document it is of.
async fn text(tools: &Tools, order: &SummaryOrder) -> Result<(String, Vec<Citation>), ChatFailure> {
    let id = match &order.source {
        SummarySource::Content(text) => return Ok((text.clone(), Vec::new())),
        SummarySource::Document(id) => id.clone(),
    };
    let request = DocumentRequest {
        id,
        role: order.role.clone(),
        query: String::new(),
    };
    let document = tools.parts.search.ask(ReadDocument(request)).await??;
    let citation = Citation {
        number: 1,
        id: document.id,
        title: document.title,
        url: document.url,
        cited: true,
    };
    Ok((document.body, vec![citation]))
}

fn key(text: &str, most: usize, choice: Option<&ModelChoice>) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    let (provider, model) = choice.map_or((EXTRACTIVE, ""), |choice| {
        (choice.provider, choice.name.as_str())
    });
    for part in [provider, model, &most.to_string()] {
        hasher.update(part.as_bytes());
        hasher.update(&[0]);
    }
    hasher.update(text.as_bytes());
    *hasher.finalize().as_bytes()
}

async fn by_model(
    tools: &Tools,
    choice: &ModelChoice,
    text: &str,
    most: usize,
) -> Result<String, ChatFailure> {
    let mark = Uuid::new_v4().simple().to_string();
    let request = choice.request(summary_prompt(text, most, &mark));
    let asked = async {
        let client = tools.models.client(choice).await?;
        client.chat(&request).await
    };
    let first = tools.parts.limits.first;
    let reply = tokio::time::timeout(first + tools.parts.limits.connect, asked).await;
    let reply = reply.unwrap_or_else(|_| {
        Err(LlmError::TimedOut(format!(
            "no summary within {} s",
            first.as_secs()
        )))
    });
    let reply = reply.inspect_err(|_| tools.models.forget(choice))?;
    let summary = reply.content.trim();
    if summary.is_empty() {
        return Err(LlmError::BadReply("it wrote no summary".to_owned()).into());
    }
    Ok(cut(summary, most, reply.stop == StopReason::Length))
}

/// A model does not always keep to a length.
fn cut(summary: &str, most: usize, is_cut: bool) -> String {
    match summary.char_indices().nth(most) {
        Some(_) => {
            let kept: String = summary.chars().take(most.saturating_sub(1)).collect();
            format!("{}…", kept.trim_end())
        }
        None if is_cut => format!("{summary}…"),
        None => summary.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_s_summary_keeps_the_length() {
        assert_eq!(cut("short", 10, false), "short");
        assert_eq!(cut("short", 10, true), "short…");
        assert_eq!(cut("äöüäöü", 4, false), "äöü…");
    }

    #[test]
    fn what_changes_a_summary_changes_its_key() {
        assert_ne!(key("a", 10, None), key("a", 11, None));
        assert_ne!(key("a", 10, None), key("b", 10, None));
        assert_eq!(key("a", 10, None), key("a", 10, None));
    }
}
