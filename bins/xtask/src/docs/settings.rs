//! The tables of docs/CONFIG.md, made of the JSON Schemas that the programs print
//! (`config --schema`).

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::project::ProjectCheckout;
use crate::shell;

/// A table stands between these lines; the first names the program.
const BEGIN: &str = "<!-- settings of ";
const END: &str = "<!-- end of settings -->";

/// The page with the tables as the programs say them; the programs have been built.
pub(super) fn page(project: &ProjectCheckout, now: &str) -> Result<String> {
    let folder = project.target()?.join("debug");
    replaced(now, |program| {
        let path = folder.join(program);
        let mut command = shell::command(&path.to_string_lossy(), Path::new("/"));
        command
            .env_clear()
            .env("HOME", "/home/you")
            .args(["config", "--schema"]);
        let finished = shell::quiet(&mut command)?;
        if !finished.status.success() {
            bail!(
                "`{}` failed: {}",
                shell::display(&command),
                finished.err.trim()
            );
        }
        serde_json::from_str(&finished.out)
            .with_context(|| format!("`{}` prints no JSON", shell::display(&command)))
    })
}

fn replaced(now: &str, schema: impl Fn(&str) -> Result<Value>) -> Result<String> {
    let mut page = String::new();
    let mut lines = now.lines();
    while let Some(line) = lines.next() {
        page.push_str(line);
        page.push('\n');
        let program = line.strip_prefix(BEGIN);
        if let Some(program) = program.and_then(|rest| rest.strip_suffix(" -->")) {
            if !lines.any(|line| line == END) {
                bail!("docs/CONFIG.md: the settings of {program} have no end");
            }
            let _ = write!(page, "\n{}\n{END}\n", table(&schema(program)?));
        }
    }
    Ok(page)
}

/// A line of the table.
#[derive(Debug, Default)]
struct Line {
    key: String,
    layers: String,
    kind: String,
    about: String,
    default: String,
}

fn table(schema: &Value) -> String {
    let mut lines = Vec::new();
    add_table("", schema, &mut lines);
    for (name, property) in properties(&schema["x-variables"]) {
        lines.push(line("–", property, false).for_variable(name));
    }
    let layered = lines.iter().any(|line| !line.layers.is_empty());
    let mut table = if layered {
        "| Key | Variable, flag | Value | Meaning | Default |\n|---|---|---|---|---|\n".to_owned()
    } else {
        "| Key | Value | Meaning | Default |\n|---|---|---|---|\n".to_owned()
    };
    for line in lines {
        let _ = write!(table, "| {} |", line.key);
        if layered {
            let _ = write!(table, " {} |", dash(&line.layers));
        }
        let about = line.about.replace('|', "\\|");
        let (kind, default) = (line.kind, line.default);
        let _ = writeln!(table, " {kind} | {about} | {} |", dash(&default));
    }
    table
}

impl Line {
    /// The same line of a setting that has no key.
    fn for_variable(mut self, variable: &str) -> Self {
        self.key = "–".to_owned();
        self.layers = format!("`{variable}`");
        self
    }
}

fn dash(text: &str) -> &str {
    if text.is_empty() { "–" } else { text }
}

fn properties(object: &Value) -> impl Iterator<Item = (&String, &Value)> {
    object.as_object().into_iter().flatten()
}

fn add_table(path: &str, object: &Value, lines: &mut Vec<Line>) {
    let required = |key: &String| {
        let required = object["required"].as_array();
        required.is_some_and(|names| names.iter().any(|name| name == key))
    };
    for (key, property) in properties(&object["properties"]) {
        let dot = if path.is_empty() { "" } else { "." };
        let path = format!("{path}{dot}{key}");
        let (inner_path, inner) = inner(&path, property);
        if inner["properties"].is_object() && property["x-brief"] != true {
            if inner_path != path || required(key) {
                lines.push(line(&inner_path, property, required(key)));
            }
            add_table(&inner_path, inner, lines);
        } else {
            lines.push(line(&path, property, required(key)));
        }
    }
}

/// What a list or a table with free keys holds, and its path.
fn inner<'v>(path: &str, property: &'v Value) -> (String, &'v Value) {
    let (items, free) = (&property["items"], &property["additionalProperties"]);
    if items.is_object() {
        (format!("{path}[]"), items)
    } else if free.is_object() {
        (format!("{path}.<name>"), free)
    } else {
        (path.to_owned(), property)
    }
}

fn line(path: &str, property: &Value, required: bool) -> Line {
    let layers = ["x-variable", "x-flag"].map(|word| property[word].as_str());
    let layers: Vec<String> = layers.iter().flatten().map(|name| code(name)).collect();
    Line {
        key: code(path),
        layers: layers.join(", "),
        kind: kind(property),
        about: property["description"]
            .as_str()
            .unwrap_or_default()
            .to_owned(),
        default: match &property["x-default"] {
            Value::String(shown) => shown.clone(),
            _ if required => "required".to_owned(),
            _ => literal(&property["default"]),
        },
    }
}

fn code(text: &str) -> String {
    format!("`{text}`")
}

fn literal(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => code(text),
        Value::Array(items) => items.iter().map(literal).collect::<Vec<_>>().join(", "),
        other => code(&other.to_string()),
    }
}

/// What may stand there, in words.
fn kind(schema: &Value) -> String {
    if schema["writeOnly"] == true {
        return "secret".to_owned();
    }
    if schema["enum"].is_array() {
        return literal(&schema["enum"]);
    }
    match (schema["type"].as_str(), schema["format"].as_str()) {
        (Some("integer"), _) => format!("{} to {}", schema["minimum"], schema["maximum"]),
        (_, Some("uri")) => "URL".to_owned(),
        (_, Some(format)) => format.to_owned(),
        (Some("array"), _) => format!("list: {}", kind(&schema["items"])),
        (Some("object"), _) => "table".to_owned(),
        (Some(word), _) => word.to_owned(),
        (None, _) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# A\n\n<!-- settings of x -->\nold\n<!-- end of settings -->\n\nend\n";

    #[test]
    fn tables_are_made_of_schemas() {
        let schema = serde_json::json!({
            "required": ["name"],
            "properties": {
                "name": {"type": "string", "description": "its name"},
                "pool": {"type": "object", "properties": {
                    "warm": {"type": "array", "items": {"type": "object", "properties": {
                        "vcpus": {"type": "integer", "minimum": 1, "maximum": 64, "default": 1},
                    }}},
                }},
                "listen": {"type": "string", "format": "address", "default": "127.0.0.1:1", "x-variable": "LISTEN", "x-flag": "--listen"},
            },
            "x-variables": {"TOKEN": {"type": "string", "writeOnly": true, "description": "a|b"}},
        });
        let page = replaced(PAGE, |_| Ok(schema.clone())).expect("it has an end");
        let expected = "# A\n\n<!-- settings of x -->\n\n\
            | Key | Variable, flag | Value | Meaning | Default |\n|---|---|---|---|---|\n\
            | `listen` | `LISTEN`, `--listen` | address |  | `127.0.0.1:1` |\n\
            | `name` | – | string | its name | required |\n\
            | `pool.warm[]` | – | list: table |  | – |\n\
            | `pool.warm[].vcpus` | – | 1 to 64 |  | `1` |\n\
            | – | `TOKEN` | secret | a\\|b | – |\n\n\
            <!-- end of settings -->\n\nend\n";
        assert_eq!(page, expected);
        assert_eq!(
            replaced(&page, |_| Ok(schema.clone())).expect("again"),
            page
        );
        assert!(replaced("<!-- settings of x -->\n", |_| Ok(Value::Null)).is_err());
    }
}
