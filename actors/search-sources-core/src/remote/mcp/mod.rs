//! What tools of a Model Context Protocol server say: which of them searches, with what arguments,
//! and what it found.

mod results;
mod tool;

pub use results::{McpContent, mcp_resource_text, mcp_resources, mcp_tool_result};
pub use tool::{mcp_search_arguments, mcp_search_tool};

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn the_tool_that_searches() {
        let tools = json!([
            {"name": "read_file", "inputSchema": {"properties": {"path": {"type": "string"}}, "required": ["path"]}},
            {"name": "search_files", "inputSchema": {"properties": {"path": {"type": "string"}, "pattern": {"type": "string"}}, "required": ["path", "pattern"]}},
            {"name": "search_nodes", "inputSchema": {"properties": {"query": {"type": "string"}, "limit": {"type": "integer"}}}}
        ]);
        let (name, schema) = mcp_search_tool(&tools, None).unwrap();
        assert_eq!(name, "search_files");
        let fixed = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
            let pairs = pairs.iter();
            pairs
                .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()))
                .collect()
        };
        let path = fixed(&[("path", "/srv")]);
        let arguments = mcp_search_arguments(&schema, "valve", 5, &path);
        assert_eq!(arguments, json!({"path": "/srv", "pattern": "valve"}));
        let placed = fixed(&[("path", "/srv"), ("pattern", "**/*{query}*")]);
        let arguments = mcp_search_arguments(&schema, "valve", 5, &placed);
        assert_eq!(arguments, json!({"path": "/srv", "pattern": "**/*valve*"}));
        let (_, schema) = mcp_search_tool(&tools, Some("search_nodes")).unwrap();
        assert_eq!(
            mcp_search_arguments(&schema, "x", 5, &fixed(&[("limit", "7")])),
            json!({"query": "x", "limit": 7})
        );
        let log = json!({"properties": {"repo_path": {"type": "string"}, "max_count": {"type": "integer"}}, "required": ["repo_path"]});
        assert_eq!(
            mcp_search_arguments(&log, "x", 5, &fixed(&[("repo_path", "/r")])),
            json!({"repo_path": "/r", "max_count": 5})
        );
        assert_eq!(mcp_search_tool(&tools, Some("absent")), None);
    }

    #[test]
    fn a_tool_that_may_do_harm_is_used_only_by_name() {
        let tool = |name: &str, more: Value| {
            let mut tool =
                json!({"name": name, "inputSchema": {"properties": {"query": {"type": "string"}}}});
            for (key, value) in more.as_object().unwrap() {
                tool[key] = value.clone();
            }
            json!([tool])
        };
        let chosen = |tools: &Value| mcp_search_tool(tools, None).is_some();
        assert!(chosen(&tool("searchNodes", json!({}))) && chosen(&tool("find-all", json!({}))));
        assert!(!chosen(&tool("research", json!({}))), "another word");
        for more in [
            json!({"annotations": {"readOnlyHint": false}}),
            json!({"annotations": {"destructiveHint": true}}),
            json!({"execution": {"taskSupport": "required"}}),
        ] {
            let tools = tool("run_query", more);
            assert!(!chosen(&tools), "{tools}");
            assert!(mcp_search_tool(&tools, Some("run_query")).is_some());
        }
    }

    #[test]
    fn resources_become_items() {
        let list = json!([{"uri": "demo://a", "name": "a", "title": "The A", "description": "first", "annotations": {"lastModified": "2026-11-21T10:00:00Z"}},
            {"uri": "https://x.org/b", "name": "b"}, {"name": "no address"}, 3]);
        let items = mcp_resources(&list);
        assert_eq!(items.len(), 2);
        assert_eq!((items[0].title.as_str(), &items[0].url), ("The A", &None));
        assert!(items[0].modified.is_some());
        assert_eq!(items[1].url.as_deref(), Some("https://x.org/b"));
        let read = json!({"contents": [{"uri": "demo://a", "text": "one"}, {"blob": "AA=="}, {"text": "two"}]});
        assert_eq!(mcp_resource_text(&read), "one\ntwo");
        let huge = json!({"contents": [{"text": "é".repeat(64 << 10)}]});
        assert!(mcp_resource_text(&huge).len() <= (64 << 10));
    }

    #[test]
    fn results_of_every_shape() {
        let memory = json!({"content": [{"type": "text", "text": "{}"}], "structuredContent": {"entities": [{"name": "Valve", "entityType": "part", "observations": ["leaks", "hot"]}], "relations": []}});
        let items = mcp_tool_result(&memory).unwrap().items;
        assert_eq!(
            (
                items[0].title.as_str(),
                items[0].body.as_str(),
                items[0].tags[0].as_str()
            ),
            ("Valve", "leaks\nhot", "part")
        );
        let files = json!({"content": [{"type": "text", "text": "/srv/a.md\n/srv/b.md"}]});
        assert_eq!(mcp_tool_result(&files).unwrap().items.len(), 2);
        let link = json!({"content": [{"type": "resource_link", "uri": "https://x.org/a", "name": "A"}, {"type": "image", "data": ""}]});
        assert_eq!(
            mcp_tool_result(&link).unwrap().items[0].url.as_deref(),
            Some("https://x.org/a")
        );
        let failed =
            json!({"isError": true, "content": [{"type": "text", "text": "no such tool"}]});
        assert!(
            mcp_tool_result(&failed)
                .unwrap_err()
                .to_string()
                .contains("no such tool")
        );
        assert!(mcp_tool_result(&json!({})).is_err());
        let hostile = json!({"content": [{"type": "resource_link", "uri": "javascript:alert(1)", "name": "x"}]});
        assert_eq!(mcp_tool_result(&hostile).unwrap().items[0].url, None);
    }
}
