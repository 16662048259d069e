//! Messages in a stream of server-sent events:
//! <https://html.spec.whatwg.org/multipage/server-sent-events.html>.

use serde_json::Value;

/// The stream is not what it should be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("an event of the stream is larger than {limit} bytes")]
pub struct TooLong {
    /// The limit.
    limit: usize,
}

/// An event whose data is JSON.
#[derive(Debug, Clone, PartialEq)]
pub struct SseEvent {
    /// What stands behind `event:`, if anything.
    pub name: Option<String>,
    /// Its data.
    pub data: Value,
}

/// Cuts chunks into events and gives those whose data is JSON.
#[derive(Debug)]
pub struct Events {
    line: Vec<u8>,
    data: Vec<u8>,
    name: Option<String>,
    limit: usize,
}

impl Events {
    /// Events of at most `limit` bytes each.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self {
            line: Vec::new(),
            data: Vec::new(),
            name: None,
            limit,
        }
    }

    /// The events that are complete with this chunk. Events without data (the priming one) and with
    /// other data are passed over.
    ///
    /// # Errors
    /// When an event is too long.
    pub fn push(&mut self, chunk: &[u8]) -> Result<Vec<SseEvent>, TooLong> {
        let mut events = Vec::new();
        for piece in chunk.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(piece);
            if self.line.len() + self.data.len() > self.limit {
                return Err(TooLong { limit: self.limit });
            }
            if self.line.ends_with(b"\n") {
                events.extend(self.end_of_line());
            }
        }
        Ok(events)
    }

    fn end_of_line(&mut self) -> Option<SseEvent> {
        let line = std::mem::take(&mut self.line);
        let line = line.strip_suffix(b"\n").unwrap_or(&line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() {
            let (name, data) = (self.name.take(), std::mem::take(&mut self.data));
            let data = serde_json::from_slice(&data).ok()?;
            return Some(SseEvent { name, data });
        }
        if let Some(data) = line.strip_prefix(b"data:") {
            if !self.data.is_empty() {
                self.data.push(b'\n');
            }
            let data = data.strip_prefix(b" ").unwrap_or(data);
            self.data.extend_from_slice(data);
        } else if let Some(name) = line.strip_prefix(b"event:") {
            let name = name.strip_prefix(b" ").unwrap_or(name);
            self.name = Some(String::from_utf8_lossy(name).into_owned());
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn events_come_in_pieces() {
        let text = b"id: 1\r\ndata:\r\n\r\n: note\nevent: message\ndata: {\"a\":\ndata: 1}\n\ndata: nonsense\n\n";
        for size in [1, 3, 7, 1000] {
            let mut events = Events::new(100);
            let mut found = Vec::new();
            for chunk in text.chunks(size) {
                found.extend(events.push(chunk).unwrap());
            }
            let event = SseEvent {
                name: Some("message".to_owned()),
                data: json!({"a": 1}),
            };
            assert_eq!(found, [event], "pieces of {size}");
        }
        let mut events = Events::new(10);
        assert!(events.push(b"data: 0123456789").is_err());
    }
}
