//! What the screen shows: everything that a key, an answer or a new size can change.

use std::collections::BTreeMap;

use search_core::answer::{RoleList, SearchAnswer, SearchResult};
use search_core::conversation::{ChatAnswer, Citation};
use serde_json::{Value, json};

use super::document::DocumentPane;
use super::line_editor::LineEditor;

/// Results asked for.
const LIMIT: usize = 100;

/// Who gets the keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum InteractiveFocus {
    /// The query and the results below it.
    #[default]
    Search,
    /// The document.
    Document,
    /// The chat.
    Chat,
}

/// How the search for the query that stands there is.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) enum QueryState {
    /// Nothing is asked for.
    #[default]
    Idle,
    /// It is under way.
    Pending,
    /// The answer to exactly this query, role and source.
    Found(Box<SearchAnswer>),
    /// It failed.
    Failed(String),
}

/// A list to choose from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Picker {
    pub(crate) kind: PickerKind,
    pub(crate) items: Vec<String>,
    pub(crate) selected: usize,
}

/// What is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PickerKind {
    /// The role that is searched.
    Role,
    /// The source that results come from; the first item is all of them.
    Source,
}

/// The conversation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Chat {
    pub(crate) input: LineEditor,
    pub(crate) turns: Vec<ChatExchange>,
    /// To go on with it.
    pub(crate) conversation: Option<String>,
    pub(crate) is_streaming: bool,
    /// Lines below the last one that is shown.
    pub(crate) scroll: usize,
    /// Which request's pieces are taken.
    pub(crate) generation: u64,
}

/// A question and what was answered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ChatExchange {
    pub(crate) question: String,
    pub(crate) answer: String,
    pub(crate) citations: Vec<Citation>,
    /// What stands below it: who answered, or what went wrong.
    pub(crate) note: String,
    pub(crate) is_failed: bool,
}

/// Everything that is shown.
#[derive(Debug, Clone, Default)]
pub(crate) struct InteractiveModel {
    /// Columns and rows.
    pub(crate) size: (u16, u16),
    /// Who is asked, for the eye.
    pub(crate) server: String,
    pub(crate) focus: InteractiveFocus,
    pub(crate) query: LineEditor,
    pub(crate) suggestions: Vec<String>,
    pub(crate) search: QueryState,
    /// The result that is chosen.
    pub(crate) selected: usize,
    pub(crate) roles: RoleList,
    /// The role that is searched; the default one until the list has come.
    pub(crate) role: Option<String>,
    /// Only results of this source.
    pub(crate) source: Option<String>,
    /// Roles with a language model, and its name.
    pub(crate) models: BTreeMap<String, String>,
    pub(crate) picker: Option<Picker>,
    pub(crate) document: Option<DocumentPane>,
    pub(crate) chat: Chat,
    pub(crate) is_help: bool,
    /// What went wrong beside a search.
    pub(crate) notice: Option<String>,
    /// Which query is the newest: answers to others are dropped.
    pub(crate) generation: u64,
}

impl InteractiveModel {
    /// An empty screen of this size.
    pub(crate) fn new(size: (u16, u16), server: &str) -> Self {
        Self {
            size,
            server: server.to_owned(),
            ..Self::default()
        }
    }

    /// What was found for the query that stands there.
    pub(crate) fn results(&self) -> &[SearchResult] {
        match &self.search {
            QueryState::Found(answer) => &answer.results,
            _ => &[],
        }
    }

    /// The result that is chosen.
    pub(crate) fn chosen(&self) -> Option<&SearchResult> {
        self.results().get(self.selected)
    }

    /// The role's name; empty until it is known.
    pub(crate) fn role_name(&self) -> &str {
        self.role.as_deref().unwrap_or(&self.roles.default_role)
    }

    /// The names of the role's sources.
    pub(crate) fn source_names(&self) -> Vec<String> {
        let role = self
            .roles
            .roles
            .iter()
            .find(|role| role.name == self.role_name());
        let sources = role.map_or(&[][..], |role| &role.haystacks);
        sources.iter().map(|source| source.name.clone()).collect()
    }

    /// The language model of the role.
    pub(crate) fn language_model(&self) -> Option<&str> {
        self.models.get(self.role_name()).map(String::as_str)
    }

    /// How far indexing is, over all sources of the last answer.
    pub(crate) fn indexing(&self) -> Option<(u64, u64)> {
        let QueryState::Found(answer) = &self.search else {
            return None;
        };
        let progress = answer.sources.iter().filter_map(|source| source.indexing);
        let sum = progress.fold((0, 0), |(done, total), one| {
            (done + one.done, total + one.total)
        });
        answer.indexing.then_some(sum)
    }

    /// The body that asks for what stands there.
    pub(crate) fn search_body(&self) -> Value {
        let mut body = json!({"search_term": self.query.text(), "limit": LIMIT});
        if let Some(role) = &self.role {
            body["role"] = role.as_str().into();
        }
        if let Some(source) = &self.source {
            body["sources"] = json!([source]);
        }
        body
    }

    /// The body that asks a question.
    pub(crate) fn chat_body(&self, question: &str) -> Value {
        let mut body = json!({"message": question, "stream": true});
        if let Some(role) = &self.role {
            body["role"] = role.as_str().into();
        }
        if let Some(conversation) = &self.chat.conversation {
            body["conversation_id"] = conversation.as_str().into();
        }
        body
    }
}

impl Chat {
    /// At least as many rows as it takes.
    pub(crate) fn max_rows(&self, columns: usize) -> usize {
        let rows = |text: &str| text.len() / columns + text.lines().count() + 1;
        let turns = self.turns.iter().map(|turn| {
            let citations = turn.citations.iter();
            let citations = citations.map(|one| rows(&one.title) + rows(&one.url));
            rows(&turn.question) + rows(&turn.answer) + rows(&turn.note) + citations.sum::<usize>()
        });
        turns.sum()
    }
}

impl ChatExchange {
    /// Takes the whole answer.
    pub(crate) fn finish(&mut self, answer: &ChatAnswer) {
        self.answer.clone_from(&answer.message);
        self.citations.clone_from(&answer.citations);
        let model = answer.model.as_deref().unwrap_or("no model");
        self.note = format!("{} · {model}", answer.provider);
        if answer.truncated {
            self.note += " · cut off at its limit";
        }
    }

    /// Says why there is no more.
    pub(crate) fn fail(&mut self, reason: &str) {
        self.note = reason.to_owned();
        self.is_failed = true;
    }
}
