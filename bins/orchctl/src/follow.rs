//! A followed log: server-sent events back to what the agent printed.

use serde_json::Value;

/// What comes out of a stream of events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StreamItem {
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
pub(crate) struct SseParser {
    line: Vec<u8>,
    name: String,
    data: Vec<String>,
}

impl SseParser {
    /// The items that these bytes complete.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Vec<StreamItem> {
        let mut items = Vec::new();
        for &byte in bytes {
            if byte != b'\n' {
                self.line.push(byte);
                continue;
            }
            let line = String::from_utf8_lossy(&std::mem::take(&mut self.line)).into_owned();
            items.extend(self.line(line.trim_end_matches('\r')));
        }
        items
    }

    fn line(&mut self, line: &str) -> Option<StreamItem> {
        if line.is_empty() {
            let (name, data) = (
                std::mem::take(&mut self.name),
                std::mem::take(&mut self.data),
            );
            return item(&name, &data);
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.name),
            "data" => self.data.push(value.to_owned()),
            // Comments are keep-alives; ids and retry times are not used.
            _ => {}
        }
        None
    }
}

/// `end`, `skipped` (a number), or output: plain lines, a JSON string, or `{"text"}`.
fn item(name: &str, data: &[String]) -> Option<StreamItem> {
    if name == "end" {
        return Some(StreamItem::End);
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
        return Some(StreamItem::Skipped(count));
    }
    let output = value
        .as_str()
        .or_else(|| value["text"].as_str())
        .map(str::to_owned);
    Some(StreamItem::Text(output.unwrap_or(text + "\n")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_read_wherever_they_are_cut() {
        let stream = ": alive\n\nevent: log\ndata: {\"text\":\"a\\nb\"}\n\ndata: plain\r\ndata: lines\r\n\r\n\
                      data: \"é\"\n\nevent: skipped\ndata: 12\n\nevent: end\ndata: {}\n\n";
        let expected = [
            StreamItem::Text("a\nb".into()),
            StreamItem::Text("plain\nlines\n".into()),
            StreamItem::Text("é".into()),
            StreamItem::Skipped(12),
            StreamItem::End,
        ];
        for size in 1..stream.len() {
            let mut events = SseParser::default();
            let items: Vec<StreamItem> = stream
                .as_bytes()
                .chunks(size)
                .flat_map(|bytes| events.push(bytes))
                .collect();
            assert_eq!(items, expected, "cut every {size} bytes");
        }
    }
}
