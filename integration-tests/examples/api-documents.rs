//! Prints the texts of all servers' OpenAPI documents as one JSON object, each under the name of
//! its part. `cargo xtask docs` writes them to web/ui/openapi, of which the web application's types
//! are made.

use std::collections::BTreeMap;
use std::io::Write as _;

fn main() -> std::io::Result<()> {
    let documents = [
        ("search", search_web::openapi()),
        ("runner", runner_web::openapi()),
        ("orchestrator", orchestrator_web::openapi()),
        ("vm-manager", vm_web::openapi()),
    ];
    let mut texts = BTreeMap::new();
    for (part, document) in documents {
        texts.insert(part, serde_json::to_string_pretty(&document)? + "\n");
    }
    writeln!(std::io::stdout(), "{}", serde_json::to_string(&texts)?)
}
