//! A test collection in BEIR layout.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use super::measures::{Measures, judge, mean};

/// A document or a query.
pub(crate) struct Entry {
    pub(crate) id: String,
    pub(crate) title: String,
    pub(crate) text: String,
}

pub(crate) struct Collection {
    pub(crate) name: String,
    pub(crate) documents: Vec<Entry>,
    pub(crate) queries: Vec<Entry>,
    relevance: HashMap<String, HashMap<String, i32>>,
}

impl Collection {
    pub(crate) fn read(folder: &Path) -> Self {
        let mut relevance: HashMap<String, HashMap<String, i32>> = HashMap::new();
        for line in lines(&folder.join("qrels.tsv")) {
            let parts: Vec<&str> = line.split('\t').collect();
            if parts[0] != "query-id" {
                let grades = relevance.entry(parts[0].to_owned()).or_default();
                grades.insert(parts[1].to_owned(), parts[2].parse().unwrap());
            }
        }
        let entries = |name: &str| lines(&folder.join(name)).iter().map(|l| entry(l)).collect();
        Self {
            name: folder
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned(),
            documents: entries("corpus.jsonl"),
            queries: entries("queries.jsonl"),
            relevance,
        }
    }

    /// Whether most documents look like source code.
    pub(crate) fn is_code(&self) -> bool {
        let looks =
            |text: &str| text.contains("def ") || text.contains("){") || text.contains(") {");
        let code = self.documents.iter().filter(|d| looks(&d.text)).count();
        code * 2 > self.documents.len()
    }

    /// Mean measures of the rankings, one for each query.
    pub(crate) fn judge(&self, rankings: &[Vec<String>]) -> Measures {
        let judged = self
            .queries
            .iter()
            .zip(rankings)
            .filter_map(|(query, ranking)| {
                let grades = self.relevance.get(&query.id)?;
                judge(grades, ranking)
            });
        mean(&judged.collect::<Vec<_>>())
    }
}

fn entry(line: &str) -> Entry {
    let value: serde_json::Value = serde_json::from_str(line).unwrap();
    let field = |name: &str| value[name].as_str().unwrap_or_default().to_owned();
    Entry {
        id: field("_id"),
        title: field("title"),
        text: field("text"),
    }
}

/// The lines of a file, or of its gzip twin.
fn lines(path: &Path) -> Vec<String> {
    let reader: Box<dyn Read> = match File::open(path) {
        Ok(file) => Box::new(file),
        Err(_) => {
            let mut name = path.as_os_str().to_owned();
            name.push(".gz");
            Box::new(flate2::read::MultiGzDecoder::new(File::open(name).unwrap()))
        }
    };
    BufReader::new(reader).lines().map(Result::unwrap).collect()
}
