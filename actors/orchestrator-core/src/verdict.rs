//! What an agent says about a commit: a fenced JSON block `orch-result` in its output.
//!
//! The block counts only if it holds the run's nonce, which nobody but the run's own agent was
//! told: a block that is quoted from a description, a comment or a file holds none. The last block
//! of the output counts. Its ids must be those of the run. A refused verdict is an error, never a
//! success.

use forge_core::{CommitState, text};
use serde::Deserialize;

use crate::posting::{PostKind, inert};
use crate::run::Run;

/// The opening of the block; nothing else stands on its line.
const OPEN: &str = "```orch-result";
/// Largest block, in bytes.
const MAX_BLOCK: usize = 256 << 10;

/// Where the verdict of a run comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VerdictSource<'a> {
    /// The exit status alone: blocks in the output mean nothing.
    ExitStatus,
    /// A block that holds this nonce.
    Block {
        /// The run's nonce.
        nonce: &'a str,
    },
}

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
    #[serde(default)]
    nonce: String,
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

/// Looks for the verdict in an output. The second value is what the run cost, if a valid block says
/// so.
pub fn find(output: &str, run: &Run, source: VerdictSource<'_>) -> (Option<Verdict>, Option<u64>) {
    let VerdictSource::Block { nonce } = source else {
        return (None, None);
    };
    let json = match last_block(output) {
        LastBlock::Absent => return (None, None),
        LastBlock::Open => return (Some(refused("its last block is not closed".into())), None),
        LastBlock::Closed(json) => json,
    };
    let block: Block = match serde_json::from_str(json) {
        Ok(block) => block,
        Err(error) => {
            let why = format!("its block is not valid: {error}");
            return (Some(refused(text::one_line(&why, 200))), None);
        }
    };
    if nonce.is_empty() || block.nonce != nonce {
        let why =
            "its last block does not hold the nonce of the run: it is quoted, or from elsewhere";
        return (Some(refused(why.to_owned())), None);
    }
    let cost = block.cost_cents;
    (Some(evaluate(&block, run)), cost)
}

/// The last block of an output.
enum LastBlock<'o> {
    Absent,
    Open,
    Closed(&'o str),
}

fn last_block(output: &str) -> LastBlock<'_> {
    let starts = output.match_indices(OPEN).filter(|(at, _)| {
        // The fence stands alone on its line, as far as blanks go.
        let before = output[..*at].rsplit('\n').next().unwrap_or_default();
        let after = output[at + OPEN.len()..].split('\n').next();
        before.trim().is_empty() && after.is_some_and(|after| after.trim().is_empty())
    });
    let Some((start, _)) = starts.last() else {
        return LastBlock::Absent;
    };
    let body = output[start + OPEN.len()..].split_once('\n');
    let block = body.and_then(|(_, body)| body.get(..body.find("```")?));
    match block.filter(|block| block.len() <= MAX_BLOCK) {
        Some(block) => LastBlock::Closed(block),
        None => LastBlock::Open,
    }
}

fn evaluate(block: &Block, run: &Run) -> Verdict {
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
        (summary, _) => plain(summary, 200),
    };
    Verdict::Given { state, summary }
}

fn refused(why: String) -> Verdict {
    Verdict::Refused { why }
}

fn short(value: &str) -> String {
    plain(value, 60)
}

/// An agent's words on one line of a status: inert, whatever the agent may post.
fn plain(words: &str, most: usize) -> String {
    const NOTHING: [PostKind; 0] = [];
    inert(&text::one_line(words, most), &NOTHING)
}
