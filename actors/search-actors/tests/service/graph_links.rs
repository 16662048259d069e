//! What texts link to becomes edges of the graph: wiki links of notes, relative links of Markdown
//! and HTML.

use serde_json::Value;

use crate::harness::{Home, Running};

/// The names that are joined with a concept, in order.
fn joined(server: &Running, concept: &str) -> Vec<String> {
    let Some(graph) = server.graph(concept) else {
        return Vec::new();
    };
    let concepts = graph["concepts"].as_array().expect("concepts").clone();
    let name = |id: &Value| {
        let found = concepts.iter().find(|one| one["id"] == *id);
        found.expect("a concept")["name"]
            .as_str()
            .expect("a name")
            .to_owned()
    };
    let edges = graph["edges"].as_array().expect("edges");
    let ends = edges
        .iter()
        .map(|edge| (name(&edge["from"]), name(&edge["to"])));
    let mut names: Vec<String> = ends
        .filter_map(|(from, to)| match (from == concept, to == concept) {
            (true, _) => Some(to),
            (_, true) => Some(from),
            _ => None,
        })
        .collect();
    names.sort();
    names
}

pub(crate) fn eventually_joined(server: &Running, concept: &str, names: &[&str]) {
    server.eventually(&format!("{concept} is joined with {names:?}"), || {
        joined(server, concept) == names
    });
}

#[test]
fn links_of_notes_are_edges_and_go_with_the_text() {
    let home = Home::new();
    home.write(
        "Well.md",
        "- The [[Blue Pump]] moves\n- see [[parts/Valve#Seals|it]]\n",
    );
    home.write("Blue Pump.md", "- of [[Well]]\n");
    home.write("parts/Valve.md", "---\naliases: [Stopcock]\n---\nSeals\n");
    let mut role = home.role("ServiceGraph");
    role["haystacks"][0]["service"] = "NotesGraph".into();
    let server = home.start(&role);
    eventually_joined(&server, "well", &["blue pump", "valve"]);
    eventually_joined(&server, "valve", &["blue pump", "stopcock", "well"]);

    home.write("Well.md", "- Nothing is linked\n");
    eventually_joined(&server, "valve", &["stopcock"]);
    eventually_joined(&server, "well", &["blue pump"]);
}

#[test]
fn links_of_files_are_edges() {
    let home = Home::new();
    home.write("guide.md", "# The guide\n\nSee [leaks](sub/leak%20test.md#a), [page](page.html), [web](https://e.org/web.md) and [[Second]].\n");
    home.write(
        "sub/leak test.md",
        "# How to test for leaks\n\nBack [there](../guide.md).\n",
    );
    home.write(
        "page.html",
        "<title>A page</title><p>See <a href=\"sub/leak%20test.md\">leaks</a>.</p>",
    );
    let server = home.start(&home.role("ServiceGraph"));
    // By the name of the file, which is not its title, the text and those that link to it are
    // joined.
    eventually_joined(
        &server,
        "leak test",
        &[
            "a page",
            "guide",
            "how to test for leaks",
            "page",
            "second",
            "the guide",
        ],
    );
    let graph = server.graph("leak test").expect("a concept");
    let mut keys: Vec<&str> = graph["documents"]
        .as_array()
        .expect("documents")
        .iter()
        .filter_map(|id| Some(id.as_str()?.split_once('/')?.1))
        .collect();
    keys.sort_unstable();
    assert_eq!(keys, ["guide.md", "page.html", "sub/leak test.md"]);
    assert_eq!(server.graph("web"), None);
}
