//! Sources of this machine that are asked, together: a DevDocs folder, a Beads tracker, and a
//! server of the Model Context Protocol, whose program ends with the search part.

use super::*;

/// A server with a tool `search` that finds one thing; it writes its process number into a file.
const SERVER: &str = r#"echo $$ > "$1"
while read -r line; do
  id=$(printf '%s' "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
  case "$line" in
    *server/discover*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"what?"}}\n' "$id";;
    *'"initialize"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}}}}\n' "$id";;
    *tools/list*) printf '{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"search","inputSchema":{"properties":{"query":{"type":"string"}}}}]}}\n' "$id";;
    *tools/call*) printf '{"jsonrpc":"2.0","id":%s,"result":{"structuredContent":{"results":[{"id":"7","title":"Valve tool","text":"a valve"}]},"content":[]}}\n' "$id";;
  esac
done
"#;

fn is_alive(process: &str) -> bool {
    let state = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    !state.is_empty() && !state.contains(") Z ")
}

#[actix_rt::test]
async fn documentation_issues_and_an_mcp_server_are_searched_together() {
    let home = tempfile::tempdir().unwrap();
    let put = |name: &str, text: &str| {
        let path = home.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    put(
        "docs/index.json",
        r#"{"entries":[{"name":"Valve.open","path":"valve#open","type":"Valve"},{"name":"Valve","path":"valve","type":"Valve"}]}"#,
    );
    put(
        "docs/db.json",
        r#"{"valve":"<h1>Valve</h1><p>Opens the valve.","pump":"<p>Nothing to do with it."}"#,
    );
    put(
        "project/.beads/issues.jsonl",
        r#"{"id":"bd-1","title":"Mend the valve","status":"open","issue_type":"bug","priority":1}"#,
    );
    put("server.sh", SERVER);
    let place = |name: &str| home.path().join(name).display().to_string();
    let running = Running::start(
        &home.path().join("index"),
        &[
            haystack(
                "docs",
                "CommunityDocs",
                &format!("devdocs:{}", place("docs")),
            ),
            haystack(
                "issues",
                "TaskTracker",
                &format!("beads:{}", place("project")),
            ),
            haystack(
                "tool",
                "MCP",
                &format!("stdio:sh {} {}", place("server.sh"), place("process")),
            ),
            haystack("absent", "MCP", "stdio:no-such-server"),
        ],
    )
    .await;
    // The program is started with the search part; what it finds is there as soon as it answers.
    let began = Instant::now();
    let answer = loop {
        let answer = running.search("valve").await;
        if answer.total == 3 || began.elapsed() > DEADLINE {
            break answer;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    let mut titles: Vec<&str> = answer
        .results
        .iter()
        .map(|one| one.title.as_str())
        .collect();
    titles.sort_unstable();
    assert_eq!(
        titles,
        ["Valve", "Valve tool", "bd-1 Mend the valve"],
        "{:?}",
        errors(&answer)
    );
    assert_eq!(answer.status, AnswerStatus::PartialSuccess);
    let absent = errors(&answer)[3].2.to_owned();
    assert!(absent.contains("no-such-server"), "{absent}");
    let process = std::fs::read_to_string(place("process")).unwrap();
    let process = process.trim();
    assert!(is_alive(process));
    running.stop().await;
    let began = Instant::now();
    while is_alive(process) {
        assert!(began.elapsed() < DEADLINE, "its program lives on");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
