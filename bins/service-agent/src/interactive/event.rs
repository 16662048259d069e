//! What can happen to the screen, and what a change can want done.

use std::collections::BTreeMap;
use std::time::Duration;

use crossterm::event::KeyEvent;
use search_core::answer::{DocumentView, RoleList, SearchAnswer};
use search_core::conversation::ChatAnswer;
use serde_json::Value;

/// Something that happened.
#[derive(Debug, Clone)]
pub(crate) enum InteractiveEvent {
    Key(KeyEvent),
    Pasted(String),
    Clicked(u16, u16),
    /// The wheel, by lines, with the pointer at a column and a row.
    Wheel(isize, u16, u16),
    Resized(u16, u16),
    Roles(Result<RoleList, String>),
    Models(BTreeMap<String, String>),
    Suggested(u64, Vec<String>),
    Answered(u64, Result<Box<SearchAnswer>, String>),
    Read(String, Result<Box<DocumentView>, String>),
    ChatStarted(u64, String),
    ChatText(u64, String),
    ChatEnded(u64, Result<Box<ChatAnswer>, String>),
}

/// Something to be done.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum InteractiveEffect {
    /// Ends the program.
    Quit,
    /// Stops it as Ctrl-Z does.
    Suspend,
    /// Asks for roles and models.
    LoadRoles,
    /// Suggests words for what stands there; replaces such a request before it.
    Suggest {
        generation: u64,
        text: String,
        role: Option<String>,
    },
    /// Searches after a while; replaces a search before it.
    Search {
        generation: u64,
        body: Value,
        after: Duration,
    },
    /// Forgets the search under way.
    StopSearch,
    /// Reads a document after a while; replaces such a request before it.
    Read {
        id: String,
        role: Option<String>,
        query: String,
        after: Duration,
    },
    /// Asks a question.
    Ask { generation: u64, body: Value },
    /// Breaks the answer off.
    StopChat,
}
