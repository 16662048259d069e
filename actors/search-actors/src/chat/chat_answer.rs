//! One answer: documents are found for the message, a model writes from them or passages are put
//! together, and both messages are kept.

use std::ops::Range;

use crate::messages::Search;
use http_clients::llm::{ChatEvent, ChatReply, LlmClient, LlmError, StopReason};
use search_core::analysis::{is_stop_word, words};
use search_core::answer::SearchResult;
use search_core::conversation::{ChatAnswer, Citation, ConversationMessage, EXTRACTIVE, Speaker};
use search_core::passages::{ChatTurn, TurnRole, chat_prompt, cited, compose, relevant};
use search_core::query::SearchRequest;
use search_engine::answering::SearchParams;
use tokio::sync::mpsc;
use uuid::Uuid;

use super::context::{ChatContext, run_blocking};
use super::conversations::{ConversationUpdate, MAX_MESSAGES, new_id, now};
use super::failure::ChatFailure;
use super::messages::{ChatChunk, ChatParams};
use super::model::ModelChoice;

/// Documents an answer is written from.
const DOCUMENTS: usize = 6;
/// Characters of one of them.
const DOCUMENT_CHARS: usize = 4_000;
/// Words of a message that are searched for.
const QUERY_WORDS: usize = 48;
/// A message with fewer words that count is searched for together with the one before it.
const FEW_WORDS: usize = 3;
/// Messages of a conversation that a model is given.
const HISTORY: usize = 12;

/// A conversation's state before the answer.
struct ConversationContext {
    id: String,
    begins: bool,
    role: Option<String>,
    turns: Vec<ChatTurn>,
}

/// Answers a message.
pub(crate) async fn answer(
    context: &ChatContext,
    params: ChatParams,
    pieces: &mpsc::Sender<ChatChunk>,
) -> Result<ChatAnswer, ChatFailure> {
    let stream = params.stream;
    let question = params.turns.last().map(|turn| turn.text.clone());
    let question = question.unwrap_or_default();
    let before = load_context(context, params).await?;
    let role_set = context.parts.registry.now();
    let name = before.role.as_deref();
    let entry = role_set
        .role(name)
        .ok_or_else(|| role_set.unknown_role(name))?;
    let role = entry.role.name.clone();
    let choice = ModelChoice::from_extra(&entry.role.extra);
    let found = find(context, &role, &before.turns).await?;
    let writing = AnswerWriter {
        context,
        pieces: stream.then_some(pieces),
        id: &before.id,
    };
    let answer = match &choice {
        Some(choice) => {
            writing
                .ask_model(choice, &question, &before.turns, found)
                .await?
        }
        None => {
            writing
                .compose_answer(&role, question.clone(), found)
                .await?
        }
    };
    save_conversation(context, before, role, question, &answer).await?;
    Ok(answer)
}

/// What was said before: kept, or brought along.
async fn load_context(
    context: &ChatContext,
    params: ChatParams,
) -> Result<ConversationContext, ChatFailure> {
    let Some(id) = params.conversation else {
        return Ok(ConversationContext {
            id: new_id(),
            begins: true,
            role: params.role,
            turns: params.turns,
        });
    };
    let conversations = context.conversations.clone();
    let wanted = id.clone();
    let kept = run_blocking(move || conversations.get(&wanted)).await??;
    if kept.messages.len() + 2 > MAX_MESSAGES {
        return Err(ChatFailure::LongConversation(kept.messages.len()));
    }
    // A role that was renamed since then: the default one goes on.
    let role_set = context.parts.registry.now();
    let same = Some(kept.head.role).filter(|role| role_set.role(Some(role)).is_some());
    let mut turns: Vec<ChatTurn> = kept.messages.into_iter().map(to_turn).collect();
    turns.extend(params.turns.into_iter().last());
    Ok(ConversationContext {
        id,
        begins: false,
        role: params.role.or(same),
        turns,
    })
}

fn to_turn(message: ConversationMessage) -> ChatTurn {
    ChatTurn {
        role: match message.role {
            Speaker::User => TurnRole::User,
            Speaker::Assistant => TurnRole::Assistant,
        },
        text: message.content,
    }
}

/// The documents for the person's last message.
async fn find(
    context: &ChatContext,
    role: &str,
    turns: &[ChatTurn],
) -> Result<Vec<SearchResult>, ChatFailure> {
    let text = query(turns);
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let params = SearchParams {
        role: Some(role.to_owned()),
        request: SearchRequest::for_text(text),
        limit: DOCUMENTS,
        include_body: true,
        ..SearchParams::default()
    };
    let answer = context.parts.search.ask(Search(params)).await?;
    Ok(answer?.results)
}

/// The words to search for. A message is no query: what stands in it is never taken for an
/// operator.
fn query(turns: &[ChatTurn]) -> String {
    let said = turns
        .iter()
        .rev()
        .filter(|turn| turn.role == TurnRole::User);
    let mut found: Vec<String> = Vec::new();
    for turn in said.take(2) {
        let all = words(&turn.text).map(|word| word.text.to_lowercase());
        let counting: Vec<String> = all.filter(|word| !is_stop_word(word)).collect();
        let room = QUERY_WORDS.saturating_sub(found.len());
        found.extend(counting.into_iter().take(room));
        if found.len() >= FEW_WORDS {
            break;
        }
    }
    found.join(" ")
}

/// Writes one answer.
struct AnswerWriter<'a> {
    context: &'a ChatContext,
    /// Where pieces go, if the answer is given as it comes.
    pieces: Option<&'a mpsc::Sender<ChatChunk>>,
    id: &'a str,
}

impl AnswerWriter<'_> {
    async fn ask_model(
        &self,
        choice: &ModelChoice,
        question: &str,
        turns: &[ChatTurn],
        found: Vec<SearchResult>,
    ) -> Result<ChatAnswer, ChatFailure> {
        let (texts, found) = texts(question, found).await?;
        let documents: Vec<(&str, &str)> = found
            .iter()
            .zip(&texts)
            .map(|(result, text)| (result.title.as_str(), text.as_str()))
            .collect();
        let mark = Uuid::new_v4().simple().to_string();
        let history = &turns[turns.len().saturating_sub(HISTORY)..];
        let request = choice.request(chat_prompt(history, &documents, &mark));
        let whole = self.context.parts.limits.whole;
        let asked = async {
            let client = self.context.models.client(choice).await?;
            match self.pieces {
                Some(_) => self.streamed(&client, choice, &request).await,
                None => Ok(client.chat(&request).await?),
            }
        };
        let reply = tokio::time::timeout(whole, asked).await;
        let reply = reply.unwrap_or_else(|_| {
            let limit = format!("no whole answer within {} s", whole.as_secs());
            Err(LlmError::TimedOut(limit).into())
        });
        if let Err(ChatFailure::Model(_)) = &reply {
            self.context.models.remove(choice);
        }
        let reply = reply?;
        let numbers = cited(&reply.content, found.len());
        Ok(ChatAnswer {
            status: "success".to_owned(),
            model: Some(choice.name.clone()),
            provider: choice.provider.to_owned(),
            citations: citations(&found, &numbers),
            conversation_id: self.id.to_owned(),
            truncated: reply.stop == StopReason::Length,
            message: reply.content,
        })
    }

    async fn streamed(
        &self,
        client: &LlmClient,
        choice: &ModelChoice,
        request: &http_clients::llm::ChatRequest,
    ) -> Result<ChatReply, ChatFailure> {
        let mut stream = client.chat_stream(request).await?;
        self.start(choice.provider, Some(&choice.name)).await?;
        let mut content = String::new();
        while let Some(event) = stream.next().await {
            match event? {
                ChatEvent::Delta(text) => {
                    content.push_str(&text);
                    self.send(ChatChunk::Delta(text)).await?;
                }
                ChatEvent::Done { stop, usage } => {
                    return Ok(ChatReply {
                        content,
                        stop,
                        usage,
                    });
                }
            }
        }
        Err(LlmError::BadReply("it broke off".to_owned()).into())
    }

    /// Passages of the documents that say most about the question.
    async fn compose_answer(
        &self,
        role: &str,
        question: String,
        found: Vec<SearchResult>,
    ) -> Result<ChatAnswer, ChatFailure> {
        let (passages, found) = run_blocking(move || {
            let texts: Vec<_> = found
                .iter()
                .map(|one| (text_of(one), nearest_of(one)))
                .collect();
            (compose(&question, &texts), found)
        })
        .await?;
        let message = if passages.is_empty() {
            format!("Nothing in the sources of role {role:?} says anything about this.")
        } else {
            let lines = passages
                .iter()
                .map(|passage| format!("{} [{}]", passage.text, passage.document));
            lines.collect::<Vec<_>>().join("\n\n")
        };
        let numbers: Vec<usize> = passages.iter().map(|passage| passage.document).collect();
        let citations = match numbers.is_empty() {
            true => Vec::new(),
            false => citations(&found, &numbers),
        };
        if self.pieces.is_some() {
            self.start(EXTRACTIVE, None).await?;
            self.send(ChatChunk::Delta(message.clone())).await?;
        }
        Ok(ChatAnswer {
            status: "success".to_owned(),
            message,
            model: None,
            provider: EXTRACTIVE.to_owned(),
            citations,
            conversation_id: self.id.to_owned(),
            truncated: false,
        })
    }

    async fn start(&self, provider: &'static str, model: Option<&str>) -> Result<(), ChatFailure> {
        self.send(ChatChunk::Start {
            conversation: self.id.to_owned(),
            provider,
            model: model.map(str::to_owned),
        })
        .await
    }

    async fn send(&self, piece: ChatChunk) -> Result<(), ChatFailure> {
        let Some(pieces) = self.pieces else {
            return Ok(());
        };
        pieces.send(piece).await.map_err(|_| ChatFailure::Left)
    }
}

/// What of each document is about the question.
async fn texts(
    question: &str,
    found: Vec<SearchResult>,
) -> Result<(Vec<String>, Vec<SearchResult>), ChatFailure> {
    let question = question.to_owned();
    run_blocking(move || {
        let texts = found.iter().map(|result| {
            relevant(
                &question,
                text_of(result),
                nearest_of(result),
                DOCUMENT_CHARS,
            )
        });
        (texts.collect(), found)
    })
    .await
}

fn text_of(result: &SearchResult) -> &str {
    result.body.as_deref().unwrap_or(&result.snippet)
}

/// The passage that a document was found by, where words do not say it: bytes of its text.
fn nearest_of(result: &SearchResult) -> Option<&Range<usize>> {
    result
        .nearest_passage
        .as_ref()
        .filter(|_| result.body.is_some())
}

/// The documents whose numbers are named; when none is, all of them.
fn citations(found: &[SearchResult], numbers: &[usize]) -> Vec<Citation> {
    let all = found.iter().enumerate().map(|(index, result)| Citation {
        number: index + 1,
        id: result.id.clone(),
        title: result.title.clone(),
        url: result.url.clone(),
        cited: numbers.contains(&(index + 1)),
    });
    all.filter(|citation| citation.cited || numbers.is_empty())
        .collect()
}

async fn save_conversation(
    context: &ChatContext,
    before: ConversationContext,
    role: String,
    question: String,
    answer: &ChatAnswer,
) -> Result<(), ChatFailure> {
    let at = now();
    let said = ConversationMessage {
        role: Speaker::User,
        content: question,
        at: at.clone(),
        citations: Vec::new(),
    };
    let reply = ConversationMessage {
        role: Speaker::Assistant,
        content: answer.message.clone(),
        at,
        citations: answer.citations.clone(),
    };
    let ConversationContext {
        id, begins, turns, ..
    } = before;
    let mut messages = Vec::new();
    if begins {
        // What was brought along belongs to the conversation; its last message is the question.
        let earlier = turns.len().saturating_sub(1);
        messages.extend(
            turns
                .into_iter()
                .take(earlier)
                .filter_map(|turn| from_turn(turn, &said.at)),
        );
    }
    messages.extend([said, reply]);
    let addition = ConversationUpdate {
        id,
        begins,
        role,
        messages,
    };
    let conversations = context.conversations.clone();
    run_blocking(move || conversations.add(addition)).await?
}

fn from_turn(turn: ChatTurn, at: &str) -> Option<ConversationMessage> {
    let role = match turn.role {
        TurnRole::User => Speaker::User,
        TurnRole::Assistant => Speaker::Assistant,
        // Instructions brought along are not followed, and not kept.
        TurnRole::System => return None,
    };
    Some(ConversationMessage {
        role,
        content: turn.text,
        at: at.to_owned(),
        citations: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(text: &str) -> ChatTurn {
        ChatTurn {
            role: TurnRole::User,
            text: text.to_owned(),
        }
    }

    #[test]
    fn a_message_is_no_query() {
        let said = [user(r#"Is "orbit" AND NOT title:pump - (mars) ok?"#)];
        let words = query(&said);
        assert!(!words.contains(['"', '(', ':', '-']), "{words}");
        assert!(words.contains("orbit") && words.contains("mars"), "{words}");
        assert_eq!(words, words.to_lowercase());
        assert!(query(&[user(&"word ".repeat(10_000))]).len() < 1_000);
    }

    #[test]
    fn a_short_message_is_asked_with_the_one_before() {
        let said = [user("How does the gyroscope calibrate?"), user("And why?")];
        assert!(query(&said).contains("gyroscope"));
        let said = [user("gyroscope"), user("restart parked children now")];
        assert!(!query(&said).contains("gyroscope"));
    }

    #[test]
    fn all_documents_are_listed_when_none_is_named() {
        let found = vec![SearchResult::default(), SearchResult::default()];
        assert_eq!(citations(&found, &[]).len(), 2);
        let named = citations(&found, &[2]);
        assert_eq!((named.len(), named[0].number, named[0].cited), (1, 2, true));
    }
}
