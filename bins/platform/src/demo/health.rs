//! What `GET /health` says about the sources.

use std::fmt;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

/// The part of the answer that matters here.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct SearchHealthReply {
    sources: Vec<Source>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct Source {
    name: String,
    state: String,
    documents: u64,
    error: Option<String>,
    progress: Option<Progress>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct Progress {
    done: u64,
    total: u64,
}

impl SearchHealthReply {
    /// Reads the answer's body.
    ///
    /// # Errors
    /// When it is not the JSON that was agreed on.
    pub(super) fn read(body: &str) -> Result<Self> {
        serde_json::from_str(body).with_context(|| format!("GET /health answered {body:?}"))
    }

    /// Refuses an answer in which a source has failed or is missing.
    ///
    /// # Errors
    /// With the source's own words.
    pub(super) fn check(&self, expected: usize) -> Result<()> {
        if self.sources.len() != expected {
            bail!(
                "{} sources were configured, the server has {}",
                expected,
                self.sources.len()
            );
        }
        match self.sources.iter().find(|source| source.state == "failed") {
            Some(source) => bail!(
                "{} cannot be searched: {}",
                source.name,
                source.error.as_deref().unwrap_or("no reason given")
            ),
            None => Ok(()),
        }
    }

    /// Whether every source is searchable in full.
    pub(super) fn complete(&self) -> bool {
        self.sources.iter().all(|source| source.state == "ready")
    }
}

impl fmt::Display for SearchHealthReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A folder that several roles search is said once.
        let is_first = |(at, source): &(usize, &Source)| !self.sources[..*at].contains(source);
        for (at, source) in self.sources.iter().enumerate().filter(is_first) {
            let comma = if at == 0 { "" } else { "; " };
            write!(f, "{comma}{}: {} documents", source.name, source.documents)?;
            match &source.progress {
                Some(progress) => write!(f, ", {} of {} files", progress.done, progress.total)?,
                None => write!(f, ", {}", source.state)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn health(state: &str, error: &str) -> SearchHealthReply {
        let body = format!(
            r#"{{"status":"ok","sources":[{{"role":"r","name":"Notes","service":"LocalFiles","state":"{state}",
            "documents":3,"updated_at":null,"error":{error},"progress":{{"done":3,"total":9,"bytes":10}}}}]}}"#
        );
        SearchHealthReply::read(&body).expect("the example is an answer")
    }

    #[test]
    fn progress_is_shown_and_completion_told() {
        assert_eq!(
            health("indexing", "null").to_string(),
            "Notes: 3 documents, 3 of 9 files"
        );
        let mut twice = health("indexing", "null");
        twice.sources.push(twice.sources[0].clone());
        assert_eq!(twice.to_string(), "Notes: 3 documents, 3 of 9 files");
        assert!(!health("indexing", "null").complete());
        assert!(health("ready", "null").complete());
    }

    #[test]
    fn a_failed_or_missing_source_ends_the_waiting() {
        assert!(health("indexing", "null").check(1).is_ok());
        let error = health("failed", "\"no such folder\"")
            .check(1)
            .expect_err("it failed");
        assert_eq!(
            error.to_string(),
            "Notes cannot be searched: no such folder"
        );
        assert!(health("ready", "null").check(2).is_err());
        assert!(SearchHealthReply::read("<html>").is_err());
    }
}
