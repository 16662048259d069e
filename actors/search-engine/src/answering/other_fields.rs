//! Fields of other search engines (`lang:go`), which are words here: what to write in their place.

/// Languages and the ending of their files, where it is not their name.
const ENDINGS: [(&str, &str); 18] = [
    ("bash", "sh"),
    ("c++", "cpp"),
    ("c#", "cs"),
    ("csharp", "cs"),
    ("elixir", "ex"),
    ("golang", "go"),
    ("haskell", "hs"),
    ("javascript", "js"),
    ("kotlin", "kt"),
    ("markdown", "md"),
    ("ocaml", "ml"),
    ("perl", "pl"),
    ("python", "py"),
    ("ruby", "rb"),
    ("rust", "rs"),
    ("shell", "sh"),
    ("typescript", "ts"),
    ("yaml", "yml"),
];

/// Endings that are asked for as `type:html`; with other values it is text, as `type:string` is.
const TYPES: [&str; 20] = [
    "c", "cpp", "css", "csv", "docx", "go", "html", "java", "js", "json", "md", "org", "pdf", "py",
    "rb", "rs", "toml", "ts", "txt", "yml",
];

/// What a person is told of a word like this; none of any other.
pub(super) fn foreign_field_hint(word: &str) -> Option<String> {
    let (field, value) = word.trim_start_matches('-').split_once(':')?;
    let is_value = !value.is_empty()
        && value
            .chars()
            .all(|c| c.is_alphanumeric() || "._-+#/".contains(c));
    if !is_value || value.starts_with(['/', ':']) {
        return None;
    }
    let write = match field {
        "lang" | "language" => {
            let folded = value.to_lowercase();
            let known = ENDINGS.iter().find(|(name, _)| *name == folded);
            format!(
                "path:*.{}",
                known.map_or(folded.as_str(), |(_, ending)| ending)
            )
        }
        "type" if !TYPES.contains(&value) => return None,
        "ext" | "extension" | "filetype" | "type" => {
            format!("path:*.{}", value.trim_start_matches('.'))
        }
        "file" | "filename" => format!("path:{value}"),
        "symbol" | "sym" => format!("kind:function {value}"),
        "repo" | "repository" => format!("source:{value}"),
        _ => return None,
    };
    Some(format!(
        "\"{field}:\" is no field here, its words were looked for; write {write}"
    ))
}

#[cfg(test)]
mod tests {
    use super::foreign_field_hint;

    #[test]
    fn i16_fields_of_other_engines_are_told_what_to_write() {
        for (word, expected) in [
            ("lang:Rust", "path:*.rs"),
            ("-lang:go", "path:*.go"),
            ("ext:.md", "path:*.md"),
            ("type:html", "path:*.html"),
            ("file:Cargo.toml", "path:Cargo.toml"),
            ("symbol:parse_query", "kind:function parse_query"),
            ("repo:orrery", "source:orrery"),
        ] {
            let note = foreign_field_hint(word).unwrap_or_default();
            assert!(note.ends_with(&format!("write {expected}")), "{note}");
        }
        for word in [
            "file:///etc/passwd",
            "lang:",
            "std::vec",
            "a:b",
            "file::open",
            "rust",
            "type:string",
        ] {
            assert_eq!(foreign_field_hint(word), None, "{word}");
        }
    }
}
