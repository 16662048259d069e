//! What is read out of a document, within which limits, and why nothing is.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The readable content of a document.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExtractedText {
    /// Empty where the document names none.
    pub title: String,
    /// In reading order.
    pub headings: Vec<String>,
    /// Keywords as its author wrote them.
    pub tags: Vec<String>,
    /// When it was written, in seconds since the Unix epoch, where it says so.
    pub written: Option<i64>,
    /// Everything, headings included; paragraphs end with a line feed.
    pub body: String,
}

/// What reading one document may take.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct DocumentLimits {
    /// Bytes of text; the rest of a longer document is left out.
    pub text: usize,
    /// Bytes that the parts of an archive may have when unpacked, together.
    pub unpacked: u64,
    /// Largest ratio of unpacked to packed bytes of one part above 1 MiB.
    pub ratio: u64,
    /// Parts of an archive, pages of a PDF, messages of a mailbox.
    pub parts: usize,
    /// Time for one document.
    pub time: Duration,
    /// Address space of the child process in bytes.
    pub memory: u64,
}

impl Default for DocumentLimits {
    /// 8 MiB of text, 128 MiB unpacked, 200 times, 10,000 parts, 20 s, 1 GiB.
    fn default() -> Self {
        Self {
            text: 8 << 20,
            unpacked: 128 << 20,
            ratio: 200,
            parts: 10_000,
            time: Duration::from_secs(20),
            memory: 1 << 30,
        }
    }
}

/// Why a document is not read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum DocumentRefusal {
    /// It is not what its name says, or damaged.
    #[error("it is damaged or not of its format: {0}")]
    Malformed(String),
    /// It can only be opened with a password.
    #[error("it is encrypted")]
    Encrypted,
    /// It is packed, and not text.
    #[error("it is not text")]
    NotText,
    /// It has no text (a scan, for instance).
    #[error("it has no text")]
    NoText,
    /// It would unpack to too much.
    #[error("it unpacks to too much: {0}")]
    Bomb(String),
    /// Its time was over.
    #[error("reading it took longer than {} s", .0.as_secs())]
    TooSlow(Duration),
    /// The process that read it ended: out of memory, or a fault of the parser.
    #[error("the process that read it ended ({0})")]
    Died(String),
    /// The process could not be started or spoken to.
    #[error("no process to read it: {0}")]
    NoReader(String),
    /// The machine has no descriptor, memory or thread for a process now; it says nothing about the
    /// document.
    #[error("no process can be started now: {0}")]
    NoResources(String),
}

/// Collects text up to a limit.
#[derive(Debug)]
pub(crate) struct TextCollector {
    text: ExtractedText,
    limit: usize,
}

impl TextCollector {
    pub(crate) fn new(limits: &DocumentLimits) -> Self {
        Self {
            text: ExtractedText::default(),
            limit: limits.text,
        }
    }

    /// Whether more text would be left out.
    pub(crate) fn is_full(&self) -> bool {
        self.text.body.len() >= self.limit
    }

    pub(crate) fn title(&mut self, title: &str) {
        if self.text.title.is_empty() {
            self.text.title = one_line(title);
        }
    }

    pub(crate) fn written(&mut self, seconds: i64) {
        self.text.written = Some(seconds);
    }

    pub(crate) fn has_title(&self) -> bool {
        !self.text.title.is_empty()
    }

    pub(crate) fn tags(&mut self, words: &str) {
        let words = words.split([',', ';']).map(one_line);
        let room = 100_usize.saturating_sub(self.text.tags.len());
        self.text
            .tags
            .extend(words.filter(|word| !word.is_empty()).take(room));
    }

    /// A heading: also part of the body.
    pub(crate) fn heading(&mut self, heading: &str) {
        let heading = one_line(heading);
        if heading.is_empty() {
            return;
        }
        self.paragraph(&heading);
        if self.text.headings.len() < 10_000 {
            self.text.headings.push(heading);
        }
    }

    /// A paragraph, on lines of its own.
    pub(crate) fn paragraph(&mut self, paragraph: &str) {
        let paragraph = paragraph.trim_matches(|c: char| c.is_whitespace() || c == '\0');
        if paragraph.is_empty() || self.is_full() {
            return;
        }
        let room = self.limit - self.text.body.len();
        let clean = paragraph
            .chars()
            .filter(|c| !c.is_control() || matches!(c, '\n' | '\t'));
        let start = self.text.body.len();
        self.text.body.extend(clean);
        if self.text.body.len() - start > room {
            let end = self.text.body.floor_char_boundary(start + room);
            self.text.body.truncate(end);
        }
        self.text.body.push('\n');
    }

    /// The text, when there is any.
    pub(crate) fn finish(self) -> Result<ExtractedText, DocumentRefusal> {
        if self.text.body.trim().is_empty() {
            return Err(DocumentRefusal::NoText);
        }
        Ok(self.text)
    }
}

/// White space and control characters become single blanks; at most 500 characters.
pub(crate) fn one_line(text: &str) -> String {
    let words = text.split(|c: char| c.is_whitespace() || c.is_control());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    words.join(" ").chars().take(500).collect()
}
