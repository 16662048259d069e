//! What an agent says about a commit: a fenced JSON block `orch-result` in its output.
//!
//! The last block counts. Its ids must be those of the run: a block that is quoted from elsewhere, or
//! printed for another commit, is refused, and a refused verdict is an error, never a success.

use forge_core::{CommitState, text};
use serde::Deserialize;

use crate::run::Run;

/// The opening of the block.
const OPEN: &str = "```orch-result";
/// Largest block, in bytes.
const MAX_BLOCK: usize = 256 << 10;

/// What a block says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// A verdict about this run.
    Given {
        /// `success`, `failure` or `error`.
        state: CommitState,
        /// One line.
        summary: String,
    },
    /// A block that is unreadable or about something else.
    Refused {
        /// Why.
        why: String,
    },
}

#[derive(Deserialize)]
struct Block {
    agent: String,
    context: String,
    head_sha: String,
    status: String,
    #[serde(default)]
    summary: String,
    #[serde(default)]
    findings: Vec<serde_json::Value>,
    #[serde(default)]
    cost_cents: Option<u64>,
}

/// Looks for the verdict in an output. The second value is what the run cost, if the block says so.
pub fn find(output: &str, run: &Run) -> (Option<Verdict>, Option<u64>) {
    let Some(json) = last_block(output) else {
        return (None, None);
    };
    let block: Block = match serde_json::from_str(json) {
        Ok(block) => block,
        Err(error) => {
            return (
                Some(refused(format!("its block is not valid: {error}"))),
                None,
            );
        }
    };
    let cost = block.cost_cents;
    (Some(judge(&block, run)), cost)
}

/// The text of the last block that is closed.
fn last_block(output: &str) -> Option<&str> {
    let starts = output.match_indices(OPEN).filter(|(at, _)| {
        // The fence stands at the beginning of a line, as far as blanks go.
        output[..*at]
            .rsplit('\n')
            .next()
            .is_some_and(|head| head.trim().is_empty())
    });
    let (start, _) = starts.last()?;
    let body = output[start + OPEN.len()..].split_once('\n')?.1;
    let end = body.find("```")?;
    body.get(..end).filter(|block| block.len() <= MAX_BLOCK)
}

fn judge(block: &Block, run: &Run) -> Verdict {
    if block.agent != run.agent.as_str() {
        return refused(format!(
            "its block is about agent {:?}",
            short(&block.agent)
        ));
    }
    if let Some(status) = &run.status {
        if block.context != status.context.as_str() {
            return refused(format!("its block is about {:?}", short(&block.context)));
        }
        if block.head_sha != status.sha.as_str() {
            return refused(format!(
                "its block is about commit {:?}",
                short(&block.head_sha)
            ));
        }
    }
    let state = CommitState::from_word(&block.status).filter(|state| state.is_terminal());
    let Some(state) = state else {
        return refused(format!(
            "its block has the status {:?}",
            short(&block.status)
        ));
    };
    let summary = match (block.summary.trim(), block.findings.len()) {
        ("", 0) => state.as_str().to_owned(),
        ("", findings) => format!("{findings} findings"),
        (summary, _) => text::one_line(summary, 200),
    };
    Verdict::Given { state, summary }
}

fn refused(why: String) -> Verdict {
    Verdict::Refused { why }
}

fn short(value: &str) -> String {
    text::one_line(value, 60)
}
