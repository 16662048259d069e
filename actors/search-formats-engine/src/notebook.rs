//! Jupyter notebooks: Markdown and code cells, and what they printed as text.

use serde::Deserialize;

use crate::text::{DocumentLimits, DocumentRefusal, ExtractedText, TextCollector};

/// Format 4 (the one in use since 2015); unknown fields are of no interest.
#[derive(Deserialize)]
struct Notebook {
    cells: Vec<Cell>,
    #[serde(default)]
    metadata: Metadata,
}

#[derive(Deserialize, Default)]
struct Metadata {
    #[serde(default)]
    title: String,
}

#[derive(Deserialize)]
struct Cell {
    cell_type: String,
    #[serde(default)]
    source: Lines,
    #[serde(default)]
    outputs: Vec<Output>,
}

#[derive(Deserialize)]
struct Output {
    /// Of a stream.
    #[serde(default)]
    text: Lines,
    /// Of a result, by media type; everything but plain text is left out.
    #[serde(default)]
    data: Data,
}

#[derive(Deserialize, Default)]
struct Data {
    #[serde(rename = "text/plain", default)]
    plain: Lines,
}

/// A text, or its lines.
#[derive(Deserialize)]
#[serde(untagged)]
enum Lines {
    One(String),
    Many(Vec<String>),
}

impl Default for Lines {
    fn default() -> Self {
        Self::Many(Vec::new())
    }
}

impl Lines {
    fn joined(&self) -> String {
        match self {
            Self::One(text) => text.clone(),
            Self::Many(lines) => lines.concat(),
        }
    }
}

/// Characters kept of each printed output: tables and logs are long and say little.
const OUTPUT_CHARS: usize = 2000;

pub(crate) fn read(
    bytes: &[u8],
    limits: &DocumentLimits,
) -> Result<ExtractedText, DocumentRefusal> {
    let notebook: Notebook = serde_json::from_slice(bytes)
        .map_err(|error| DocumentRefusal::Malformed(error.to_string()))?;
    let mut into = TextCollector::new(limits);
    into.title(&notebook.metadata.title);
    for cell in notebook.cells.iter().take(limits.parts) {
        let source = cell.source.joined();
        if cell.cell_type == "markdown" {
            markdown(&source, &mut into);
        } else {
            into.paragraph(&source);
        }
        for output in &cell.outputs {
            for text in [output.text.joined(), output.data.plain.joined()] {
                let cut: String = text.chars().take(OUTPUT_CHARS).collect();
                into.paragraph(&cut);
            }
        }
    }
    into.finish()
}

/// Headings are lines that begin with `#`, outside of fences.
fn markdown(source: &str, into: &mut TextCollector) {
    let mut fenced = false;
    for line in source.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
            continue;
        }
        let level = line.bytes().take_while(|byte| *byte == b'#').count();
        match line.get(level..) {
            Some(text) if !fenced && (1..=6).contains(&level) && text.starts_with(' ') => {
                if !into.has_title() {
                    into.title(text);
                }
                into.heading(text);
            }
            _ => into.paragraph(line),
        }
    }
}
