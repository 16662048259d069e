//! A followed log: Server-Sent Events back to what the agent printed.

use serde_json::Value;

/// What comes out of a stream of events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Piece {
    /// Output.
    Text(String),
    /// So many bytes are not kept.
    Skipped(u64),
    /// The run has ended.
    End,
}

/// Takes the bytes of a stream of events apart, wherever they are cut.
/// <https://html.spec.whatwg.org/multipage/server-sent-events.html>
#[derive(Debug, Default)]
pub(crate) struct Events {
    line: Vec<u8>,
    name: String,
    data: Vec<String>,
}

impl Events {
    /// The pieces that these bytes complete.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Vec<Piece> {
        let mut pieces = Vec::new();
        for &byte in bytes {
            if byte != b'\n' {
                self.line.push(byte);
                continue;
            }
            let line = String::from_utf8_lossy(&std::mem::take(&mut self.line)).into_owned();
            pieces.extend(self.line(line.trim_end_matches('\r')));
        }
        pieces
    }

    fn line(&mut self, line: &str) -> Option<Piece> {
        if line.is_empty() {
            let (name, data) = (
                std::mem::take(&mut self.name),
                std::mem::take(&mut self.data),
            );
            return piece(&name, &data);
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.name),
            "data" => self.data.push(value.to_owned()),
            // Comments are signs of life; ids and retry times are not used.
            _ => {}
        }
        None
    }
}

/// `end`, `skipped` (a number), or output: plain lines, a JSON string, or `{"text"}`.
fn piece(name: &str, data: &[String]) -> Option<Piece> {
    if name == "end" {
        return Some(Piece::End);
    }
    if data.is_empty() {
        return None;
    }
    let text = data.join("\n");
    let value: Value = serde_json::from_str(&text).unwrap_or_default();
    let skipped = value["skipped"]
        .as_u64()
        .or_else(|| value.as_u64().filter(|_| name == "skipped"));
    if let Some(count) = skipped {
        return Some(Piece::Skipped(count));
    }
    let output = value
        .as_str()
        .or_else(|| value["text"].as_str())
        .map(str::to_owned);
    Some(Piece::Text(output.unwrap_or(text + "\n")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_read_wherever_they_are_cut() {
        let stream = ": alive\n\nevent: log\ndata: {\"text\":\"a\\nb\"}\n\ndata: plain\r\ndata: lines\r\n\r\n\
                      data: \"é\"\n\nevent: skipped\ndata: 12\n\nevent: end\ndata: {}\n\n";
        let expected = [
            Piece::Text("a\nb".into()),
            Piece::Text("plain\nlines\n".into()),
            Piece::Text("é".into()),
            Piece::Skipped(12),
            Piece::End,
        ];
        for size in 1..stream.len() {
            let mut events = Events::default();
            let pieces: Vec<Piece> = stream
                .as_bytes()
                .chunks(size)
                .flat_map(|bytes| events.push(bytes))
                .collect();
            assert_eq!(pieces, expected, "cut every {size} bytes");
        }
    }
}
