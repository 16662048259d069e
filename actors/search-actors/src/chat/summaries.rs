//! Summaries, made once of the same text.

use crate::messages::ReadDocument;
use http_clients::llm::{LlmError, StopReason};
use search_core::conversation::{Citation, EXTRACTIVE, SummaryAnswer};
use search_core::passages::{summarize, summary_prompt};
use search_engine::answering::DocumentRequest;
use uuid::Uuid;

use super::context::{ChatContext, run_blocking};
use super::failure::ChatFailure;
use super::messages::{SummaryParams, SummarySource};
use super::model::ModelChoice;

/// Summarises a text.
pub(crate) async fn answer(
    context: &ChatContext,
    params: SummaryParams,
) -> Result<SummaryAnswer, ChatFailure> {
    let role_set = context.parts.registry.now();
    let name = params.role.as_deref();
    let entry = role_set
        .role(name)
        .ok_or_else(|| role_set.unknown_role(name))?;
    let choice = ModelChoice::from_extra(&entry.role.extra);
    let (text, citations) = text(context, &params).await?;
    let most = params.max_chars;
    let key = key(&text, most, choice.as_ref());
    let summaries = context.summaries.clone();
    let kept = run_blocking(move || summaries.get(&key)).await??;
    let cached = kept.is_some();
    let summary = match (kept, &choice) {
        (Some(kept), _) => kept,
        (None, None) => run_blocking(move || summarize(&text, most)).await?,
        (None, Some(choice)) => summarize_by_model(context, choice, &text, most).await?,
    };
    if !cached {
        let (summaries, made) = (context.summaries.clone(), summary.clone());
        run_blocking(move || summaries.insert(&key, &made)).await??;
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
async fn text(
    context: &ChatContext,
    params: &SummaryParams,
) -> Result<(String, Vec<Citation>), ChatFailure> {
    let id = match &params.source {
        SummarySource::Content(text) => return Ok((text.clone(), Vec::new())),
        SummarySource::Document(id) => id.clone(),
    };
    let request = DocumentRequest {
        id,
        role: params.role.clone(),
        ..DocumentRequest::default()
    };
    let document = context.parts.search.ask(ReadDocument(request)).await??;
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

async fn summarize_by_model(
    context: &ChatContext,
    choice: &ModelChoice,
    text: &str,
    most: usize,
) -> Result<String, ChatFailure> {
    let mark = Uuid::new_v4().simple().to_string();
    let request = choice.request(summary_prompt(text, most, &mark));
    let asked = async {
        let client = context.models.client(choice).await?;
        client.chat(&request).await
    };
    let first = context.parts.limits.first;
    let reply = tokio::time::timeout(first + context.parts.limits.connect, asked).await;
    let reply = reply.unwrap_or_else(|_| {
        Err(LlmError::TimedOut(format!(
            "no summary within {} s",
            first.as_secs()
        )))
    });
    let reply = reply.inspect_err(|_| context.models.remove(choice))?;
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
