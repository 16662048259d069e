//! The matchers of tools that the runner's own `setup-…` actions bring.

use super::definition::{ProblemMatcher, parse_file};

/// The file for each tool, by its command.
const FILES: [(&str, &str); 6] = [
    ("node", include_str!("tools/node.json")),
    ("python", include_str!("tools/python.json")),
    ("go", include_str!("tools/go.json")),
    ("java", include_str!("tools/java.json")),
    ("dotnet", include_str!("tools/dotnet.json")),
    ("deno", include_str!("tools/deno.json")),
];

/// What the action that sets up a tool registers, by the tool's command.
#[must_use]
pub fn of_setup(command: &str) -> Vec<ProblemMatcher> {
    let file = FILES.iter().find(|(tool, _)| command.starts_with(tool));
    file.map_or_else(Vec::new, |(_, text)| {
        parse_file(text.as_bytes()).expect("the file is a constant that a test reads")
    })
}
