//! Kept conversations. All calls block for as long as the backend's disk takes.

use std::sync::Arc;
use std::time::SystemTime;

use parking_lot::Mutex;
use search_core::conversation::{Conversation, ConversationHead, ConversationMessage, Speaker};
use search_engine::rfc3339;
use store::LocalState;
use store::local::LocalChange;
use uuid::Uuid;

use super::failure::ChatFailure;

/// The most conversations kept; the oldest makes room.
pub const MAX_CONVERSATIONS: usize = 1_000;
/// The most messages of one conversation.
pub const MAX_MESSAGES: usize = 400;

/// Whole conversations, and what lists say of them, under the same keys: ids, which ascend with
/// time.
const WHOLE: &str = "conversations";
const HEADS: &str = "conversation-heads";
/// Characters of the first message that name a conversation.
const TITLE_CHARS: usize = 80;

/// The conversations of one server.
#[derive(Debug, Clone)]
pub struct Conversations {
    state: Arc<dyn LocalState>,
    /// Two answers in one conversation are added one after the other.
    adding: Arc<Mutex<()>>,
}

/// What a chat adds.
#[derive(Debug)]
pub(crate) struct ConversationUpdate {
    /// The conversation.
    pub(crate) id: String,
    /// Whether it begins with this; one that goes on and was deleted meanwhile stays deleted.
    pub(crate) begins: bool,
    /// The role that answered.
    pub(crate) role: String,
    /// The messages.
    pub(crate) messages: Vec<ConversationMessage>,
}

/// A name for a new conversation; later ones sort behind earlier ones.
pub(crate) fn new_id() -> String {
    Uuid::now_v7().simple().to_string()
}

/// The present time, as it stands in conversations.
pub(crate) fn now() -> String {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let seconds = since.unwrap_or_default().as_secs();
    rfc3339(i64::try_from(seconds).unwrap_or(i64::MAX))
}

impl Conversations {
    /// Those kept in `state`.
    #[must_use]
    pub fn new(state: Arc<dyn LocalState>) -> Self {
        Self {
            state,
            adding: Arc::default(),
        }
    }

    /// All of them, the newest first.
    ///
    /// # Errors
    /// When the state cannot be read.
    pub fn list(&self) -> Result<Vec<ConversationHead>, ChatFailure> {
        let pairs = self.state.scan(HEADS, b"", None, MAX_CONVERSATIONS + 1)?;
        let heads = pairs
            .iter()
            .rev()
            .filter_map(|(_, value)| serde_json::from_slice(value).ok());
        Ok(heads.collect())
    }

    /// One of them.
    ///
    /// # Errors
    /// There is none of that name, or it cannot be read.
    pub fn get(&self, id: &str) -> Result<Conversation, ChatFailure> {
        let unknown = || ChatFailure::UnknownConversation(display_id(id));
        if !is_id(id) {
            return Err(unknown());
        }
        let value = self.state.get(WHOLE, id.as_bytes())?;
        let value = value.ok_or_else(unknown)?;
        serde_json::from_slice(&value).map_err(|error| ChatFailure::Unreadable {
            id: id.to_owned(),
            reason: error.to_string(),
        })
    }

    /// Deletes one of them.
    ///
    /// # Errors
    /// There is none of that name, or the state cannot be changed.
    pub fn delete(&self, id: &str) -> Result<(), ChatFailure> {
        let _alone = self.adding.lock();
        if !is_id(id) || self.state.get(HEADS, id.as_bytes())?.is_none() {
            return Err(ChatFailure::UnknownConversation(display_id(id)));
        }
        self.state.batch(&removal(id.as_bytes()))?;
        Ok(())
    }

    /// Adds messages to a conversation, or begins one with them.
    pub(crate) fn add(&self, addition: ConversationUpdate) -> Result<(), ChatFailure> {
        let _alone = self.adding.lock();
        let mut conversation = match self.get(&addition.id) {
            Ok(found) => found,
            Err(ChatFailure::UnknownConversation(_)) if addition.begins => Conversation::default(),
            Err(ChatFailure::UnknownConversation(_)) => return Ok(()),
            Err(error) => return Err(error),
        };
        let now = now();
        conversation.messages.extend(addition.messages);
        let head = &mut conversation.head;
        if head.id.is_empty() {
            head.title = title(&conversation.messages);
            head.created_at.clone_from(&now);
        }
        head.id.clone_from(&addition.id);
        head.role = addition.role;
        head.updated_at = now;
        head.messages = conversation.messages.len();
        self.write(&conversation)
    }

    fn write(&self, conversation: &Conversation) -> Result<(), ChatFailure> {
        let key = conversation.head.id.as_bytes();
        let unreadable = |error: serde_json::Error| ChatFailure::Unreadable {
            id: conversation.head.id.clone(),
            reason: error.to_string(),
        };
        let whole = serde_json::to_vec(conversation).map_err(unreadable)?;
        let head = serde_json::to_vec(&conversation.head).map_err(unreadable)?;
        let mut changes = vec![
            LocalChange::put(WHOLE, key, &whole),
            LocalChange::put(HEADS, key, &head),
        ];
        let kept = self.state.scan(HEADS, b"", None, MAX_CONVERSATIONS + 1)?;
        let others = kept.iter().filter(|(other, _)| other != key).count();
        let oldest = kept.iter().map(|(other, _)| other);
        for other in oldest
            .filter(|other| *other != key)
            .take((others + 1).saturating_sub(MAX_CONVERSATIONS))
        {
            changes.extend(removal(other));
        }
        self.state.batch(&changes)?;
        Ok(())
    }
}

fn removal(key: &[u8]) -> [LocalChange; 2] {
    [
        LocalChange::delete(WHOLE, key),
        LocalChange::delete(HEADS, key),
    ]
}

/// Whether a text can be the name of a conversation.
fn is_id(id: &str) -> bool {
    Uuid::try_parse(id).is_ok_and(|uuid| uuid.simple().to_string() == id)
}

/// A name that may be anything, for an error.
fn display_id(id: &str) -> String {
    format!("{:?}", id.chars().take(80).collect::<String>())
}

fn title(messages: &[ConversationMessage]) -> String {
    let first = messages
        .iter()
        .find(|message| message.role == Speaker::User);
    let text = first.map_or("", |message| message.content.as_str());
    let words: Vec<&str> = text.split_whitespace().take(TITLE_CHARS).collect();
    let line = words.join(" ");
    match line.char_indices().nth(TITLE_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use store::LocalStateKind;

    fn addition(id: &str, begins: bool, text: &str) -> ConversationUpdate {
        ConversationUpdate {
            id: id.to_owned(),
            begins,
            role: "R".to_owned(),
            messages: vec![ConversationMessage {
                role: Speaker::User,
                content: text.to_owned(),
                at: now(),
                citations: Vec::new(),
            }],
        }
    }

    #[test]
    fn conversations_outlive_the_process() {
        let folder = tempfile::tempdir().unwrap();
        let open = || {
            let state = LocalStateKind::Redb.open(folder.path(), "test").unwrap();
            Conversations::new(Arc::from(state))
        };
        let (first, second) = (new_id(), new_id());
        let kept = open();
        kept.add(addition(&first, true, "one")).unwrap();
        kept.add(addition(&second, true, "two")).unwrap();
        kept.add(addition(&first, false, "more")).unwrap();
        drop(kept);
        let kept = open();
        let list = kept.list().unwrap();
        let ids: Vec<&str> = list.iter().map(|head| head.id.as_str()).collect();
        assert_eq!(ids, [second.as_str(), first.as_str()]);
        assert_eq!((list[1].messages, list[1].title.as_str()), (2, "one"));
        assert_eq!(kept.get(&first).unwrap().messages[1].content, "more");
        kept.delete(&first).unwrap();
        assert!(matches!(
            kept.get(&first),
            Err(ChatFailure::UnknownConversation(_))
        ));
        // What goes on after it was deleted stays deleted.
        kept.add(addition(&first, false, "late")).unwrap();
        assert_eq!(kept.list().unwrap().len(), 1);
        assert!(kept.delete("../../etc").is_err() && kept.get("").is_err());
    }

    #[test]
    fn the_oldest_makes_room() {
        let kept = Conversations::new(Arc::from(
            LocalStateKind::Memory
                .open(std::path::Path::new(""), "test")
                .unwrap(),
        ));
        let ids: Vec<String> = (0..MAX_CONVERSATIONS + 2).map(|_| new_id()).collect();
        let mut sorted = ids.clone();
        sorted.sort();
        for id in &ids {
            kept.add(addition(id, true, "x")).unwrap();
        }
        assert_eq!(kept.list().unwrap().len(), MAX_CONVERSATIONS);
        assert!(kept.get(&sorted[0]).is_err() && kept.get(&sorted[1]).is_err());
        assert!(kept.get(&sorted[2]).is_ok());
    }
}
