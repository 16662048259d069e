//! YAML front matter as note programs write it: `key: value`, `[a, b]`, and lists of `- a`.

/// Keys with their values, and the text behind; nothing is nested.
pub(super) fn split(text: &str) -> (Vec<(String, Vec<String>)>, &str) {
    let Some(rest) = text
        .strip_prefix("---\n")
        .or_else(|| text.strip_prefix("---\r\n"))
    else {
        return (Vec::new(), text);
    };
    let mut offset = 0;
    let mut entries: Vec<(String, Vec<String>)> = Vec::new();
    for line in rest.split_inclusive('\n') {
        offset += line.len();
        let line = line.trim_end();
        if line == "---" || line == "..." {
            return (entries, &rest[offset..]);
        }
        if let Some(entry) = line.trim_start().strip_prefix("- ") {
            if let Some((_, values)) = entries.last_mut() {
                values.extend(scalar(entry));
            }
        } else if let Some((key, value)) = line.split_once(':')
            && !key.starts_with([' ', '\t', '#'])
        {
            entries.push((key.trim().to_lowercase(), list(value)));
        }
    }
    // Never closed: a ruler, not front matter.
    (Vec::new(), text)
}

fn list(value: &str) -> Vec<String> {
    let value = value.trim();
    match value
        .strip_prefix('[')
        .and_then(|inner| inner.strip_suffix(']'))
    {
        // `[[x]]` is a link, not a list in a list.
        Some(inner) if !inner.starts_with('[') => inner.split(',').filter_map(scalar).collect(),
        _ => scalar(value).into_iter().collect(),
    }
}

fn scalar(value: &str) -> Option<String> {
    let value = value.trim();
    let value = if value.starts_with(['"', '\'']) {
        value.trim_matches(['"', '\''])
    } else {
        value.split(" #").next().unwrap_or_default().trim()
    };
    (!value.is_empty()).then(|| value.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_forms_of_lists() {
        let (entries, rest) = split(
            "---\nTags: [a, 'b c']\naliases:\n  - One\n  - \"Two: x\"\nrelated: \"[[X]]\"\nempty:\n---\nbody",
        );
        let expected = [
            ("tags", vec!["a", "b c"]),
            ("aliases", vec!["One", "Two: x"]),
            ("related", vec!["[[X]]"]),
            ("empty", vec![]),
        ];
        for ((key, values), (found_key, found)) in expected.iter().zip(&entries) {
            assert_eq!(
                (key, values),
                (
                    &found_key.as_str(),
                    &found.iter().map(String::as_str).collect()
                )
            );
        }
        assert_eq!(rest, "body");
        assert_eq!(split("---\nno end\n").0, Vec::new());
        assert_eq!(split("text").1, "text");
    }
}
