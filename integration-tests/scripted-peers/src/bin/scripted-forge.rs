//! The scripted forge as a program, for tests whose parts are programs on another machine.
//!
//! The first line it writes is its address. From then on each line of standard input is a JSON
//! array, an order and its words, and each is answered by one line of JSON:
//!
//! ```text
//! ["user", "orrery", "TOKEN"]                     null
//! ["repo", "acme/main"]                           null
//! ["permission", "acme/main", "ada", "write"]     null
//! ["commit", "acme/main", "SHA"]                  null
//! ["issue", "acme/main", 1, "Say hello"]          null
//! ["comment", "acme/main", 1, "ada", "@orch:x"]   the comment's id
//! ["statuses", "acme/main", "SHA"]                [[context, state, description], …], oldest first
//! ["comments", "acme/main", 1]                    [[author, text], …]
//! ```

use std::io::{BufRead as _, Write as _};
use std::process::ExitCode;

use scripted_peers::ScriptedForge;
use serde_json::{Value, json};

fn main() -> ExitCode {
    let forge = actix_rt::System::new();
    // The server runs on this thread, so the orders are read on another one.
    forge.block_on(async {
        let forge = ScriptedForge::start();
        print_line(&json!(forge.url()));
        let ended = tokio::task::spawn_blocking(move || serve(&forge)).await;
        if ended.unwrap_or(false) {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        }
    })
}

/// Answers each order until there are no more.
fn serve(forge: &ScriptedForge) -> bool {
    for line in std::io::stdin().lock().lines() {
        let order = line
            .ok()
            .and_then(|line| serde_json::from_str::<Value>(&line).ok());
        let Some(answer) = order.as_ref().and_then(|order| obey(forge, order)) else {
            print_line(&json!({ "error": "no order that this forge knows" }));
            return false;
        };
        print_line(&answer);
    }
    true
}

/// Does what an order says.
fn obey(forge: &ScriptedForge, order: &Value) -> Option<Value> {
    let text = |place: usize| order.get(place)?.as_str();
    let number = |place: usize| order.get(place)?.as_u64();
    match text(0)? {
        "user" => forge.add_user(text(1)?, text(2)?),
        "repo" => forge.add_repo(text(1)?),
        "permission" => forge.set_permission(text(1)?, text(2)?, text(3)?),
        "commit" => forge.add_commit(text(1)?, text(2)?),
        "issue" => forge.add_issue(text(1)?, number(2)?, text(3)?),
        "comment" => {
            return Some(json!(forge.add_comment(
                text(1)?,
                number(2)?,
                text(3)?,
                text(4)?
            )));
        }
        "statuses" => {
            let all = forge.statuses(text(1)?, text(2)?).into_iter();
            return Some(
                all.map(|one| json!([one.context, one.state, one.description]))
                    .collect(),
            );
        }
        "comments" => {
            let all = forge.comments(text(1)?, number(2)?).into_iter();
            return Some(all.map(|one| json!([one.author, one.body])).collect());
        }
        _ => return None,
    }
    Some(Value::Null)
}

fn print_line(answer: &Value) {
    let mut out = std::io::stdout().lock();
    // Who asked is gone: the next order will not come either.
    let _ = writeln!(out, "{answer}").and_then(|()| out.flush());
}
