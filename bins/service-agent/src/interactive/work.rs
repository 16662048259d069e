//! Does what an update wants done, beside the screen: each kind of request replaces the one before
//! it, and its answer comes back as an event.

use std::collections::BTreeMap;
use std::time::Duration;

use actix_rt::task::JoinHandle;
use search_core::answer::{DocumentView, RoleList, SearchAnswer};
use search_core::concepts::SuggestionList;
use serde_json::Value;
use service_agent::{ChatStreamItem, Client, ClientFailure};
use tokio::sync::mpsc::UnboundedSender;

use super::event::{InteractiveEffect, InteractiveEvent};

/// How long nothing is typed before words are suggested.
const SUGGESTION_DEBOUNCE: Duration = Duration::from_millis(40);

/// Suggestions asked for.
const SUGGESTIONS: &str = "8";

/// Requests under way.
pub(crate) struct InteractiveRequests {
    client: Client,
    events: UnboundedSender<InteractiveEvent>,
    suggest: AbortableTask,
    search: AbortableTask,
    read: AbortableTask,
    chat: AbortableTask,
}

/// A request that ends when it is replaced or dropped.
#[derive(Default)]
struct AbortableTask(Option<JoinHandle<()>>);

impl AbortableTask {
    fn replace(&mut self, work: impl Future<Output = ()> + 'static) {
        self.stop();
        self.0 = Some(actix_rt::spawn(work));
    }

    fn stop(&mut self) {
        if let Some(running) = self.0.take() {
            running.abort();
        }
    }
}

impl Drop for AbortableTask {
    fn drop(&mut self) {
        self.stop();
    }
}

impl InteractiveRequests {
    pub(crate) fn new(client: Client, events: UnboundedSender<InteractiveEvent>) -> Self {
        Self {
            client,
            events,
            suggest: AbortableTask::default(),
            search: AbortableTask::default(),
            read: AbortableTask::default(),
            chat: AbortableTask::default(),
        }
    }

    /// Begins what is to be done; quitting and suspending are the screen's.
    pub(crate) fn start(&mut self, effect: InteractiveEffect) {
        let (client, events) = (self.client.clone(), self.events.clone());
        match effect {
            InteractiveEffect::Quit | InteractiveEffect::Suspend => {}
            InteractiveEffect::LoadRoles => drop(actix_rt::spawn(load_roles(client, events))),
            InteractiveEffect::StopSearch => {
                self.search.stop();
                self.suggest.stop();
                self.read.stop();
            }
            InteractiveEffect::StopChat => self.chat.stop(),
            InteractiveEffect::Suggest {
                generation,
                text,
                role,
            } => self
                .suggest
                .replace(suggest(client, events, generation, text, role)),
            InteractiveEffect::Search {
                generation,
                body,
                after,
            } => self.search.replace(async move {
                tokio::time::sleep(after).await;
                let answer = search(&client, &body).await;
                let _ = events.send(InteractiveEvent::Answered(generation, answer));
            }),
            InteractiveEffect::Read {
                id,
                role,
                query,
                after,
            } => self.read.replace(async move {
                tokio::time::sleep(after).await;
                let view = read(&client, &id, role.as_deref(), &query).await;
                let _ = events.send(InteractiveEvent::Read(id, view));
            }),
            InteractiveEffect::Ask { generation, body } => {
                self.chat
                    .replace(send_question(client, events, generation, body));
            }
        }
    }
}

async fn load_roles(client: Client, events: UnboundedSender<InteractiveEvent>) {
    let roles = client.get::<RoleList>(&["api", "roles"], &[]).await;
    let _ = events.send(InteractiveEvent::Roles(
        roles.map_err(|error| error.to_string()),
    ));
    // Who may not read the configuration is not told of models.
    if let Ok(configuration) = client.configuration().await {
        let models = models(&configuration.text);
        let _ = events.send(InteractiveEvent::Models(models));
    }
}

/// The roles of a configuration that have a language model, and what it is called.
fn models(text: &str) -> BTreeMap<String, String> {
    let document: Value = serde_json::from_str(text).unwrap_or_default();
    let roles = document["roles"].as_array().cloned();
    let roles = roles.unwrap_or_else(|| vec![document]);
    let named = roles.iter().filter_map(|role| {
        let provider = role["extra"]["llm_provider"].as_str()?;
        let model = role["extra"][format!("{provider}_model")].as_str();
        let name = model.map_or_else(
            || provider.to_owned(),
            |model| format!("{model} ({provider})"),
        );
        Some((role["name"].as_str()?.to_owned(), name))
    });
    named.collect()
}

async fn suggest(
    client: Client,
    events: UnboundedSender<InteractiveEvent>,
    generation: u64,
    text: String,
    role: Option<String>,
) {
    tokio::time::sleep(SUGGESTION_DEBOUNCE).await;
    let mut query = vec![("q", text.as_str()), ("limit", SUGGESTIONS)];
    query.extend(role.as_deref().map(|role| ("role", role)));
    let list: Result<SuggestionList, ClientFailure> =
        client.get(&["api", "autocomplete"], &query).await;
    // A search without suggestions is a search all the same.
    let list = list.unwrap_or_default().suggestions;
    let texts = list.into_iter().map(|one| one.text);
    let texts = texts.filter(|suggested| *suggested != text).collect();
    let _ = events.send(InteractiveEvent::Suggested(generation, texts));
}

async fn search(client: &Client, body: &Value) -> Result<Box<SearchAnswer>, String> {
    let answer = client.search(body, Duration::ZERO).await;
    answer.map(Box::new).map_err(|error| error.to_string())
}

async fn read(
    client: &Client,
    id: &str,
    role: Option<&str>,
    query: &str,
) -> Result<Box<DocumentView>, String> {
    let mut path = vec!["api", "documents"];
    path.extend(id.split('/'));
    let mut parameters = vec![("q", query)];
    parameters.extend(role.map(|role| ("role", role)));
    let view = client.get(&path, &parameters).await;
    view.map(Box::new).map_err(|error| error.to_string())
}

async fn send_question(
    client: Client,
    events: UnboundedSender<InteractiveEvent>,
    generation: u64,
    body: Value,
) {
    let pieces = events.clone();
    let answer = client.chat(&body, move |piece| {
        let event = match piece {
            ChatStreamItem::Start { conversation, .. } => {
                InteractiveEvent::ChatStarted(generation, conversation)
            }
            ChatStreamItem::Text(text) => InteractiveEvent::ChatText(generation, text),
        };
        let _ = pieces.send(event);
    });
    let answer = answer.await;
    let answer = answer.map(Box::new).map_err(|error| error.to_string());
    let _ = events.send(InteractiveEvent::ChatEnded(generation, answer));
}

#[cfg(test)]
mod tests {
    use super::models;

    #[test]
    fn roles_with_a_model_are_found_in_both_forms_of_the_file() {
        let one = r#"{"name": "A", "extra": {"llm_provider": "localllm", "localllm_model": "m"}}"#;
        assert_eq!(models(one)["A"], "m (localllm)");
        let many = format!(r#"{{"roles": [{one}, {{"name": "B"}}]}}"#);
        assert_eq!(models(&many).len(), 1);
        assert!(models("not json").is_empty());
    }
}
