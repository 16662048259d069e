//! Front matter of Markdown files: the title and the tags, from YAML (`---`) or TOML (`+++`).

use crate::times::written_date;

/// What front matter says about its text.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct FrontMatter {
    pub(super) title: String,
    pub(super) tags: Vec<String>,
    /// When the text was written or changed, in seconds since the Unix epoch.
    pub(super) written: Option<i64>,
}

/// Keys that say when a text was last changed, before that of when it was written.
const CHANGED: [&str; 4] = ["updated", "modified", "lastmod", "last_modified"];
const WRITTEN: &str = "date";

/// Splits front matter from the text below it; without any, the text is returned as it is.
pub(super) fn split(text: &str) -> (FrontMatter, &str) {
    for (fence, parse) in [("---", yaml as fn(&str) -> FrontMatter), ("+++", toml)] {
        if let Some((block, rest)) = fenced(text, fence) {
            return (parse(block), rest);
        }
    }
    (FrontMatter::default(), text)
}

/// The block between a first line and a later line that hold the fence only.
fn fenced<'a>(text: &'a str, fence: &str) -> Option<(&'a str, &'a str)> {
    let (first, rest) = text.split_once('\n')?;
    if first.trim_end() != fence {
        return None;
    }
    let mut start = 0;
    for line in rest.split_inclusive('\n') {
        let bare = line.trim_end();
        if bare == fence || (fence == "---" && bare == "...") {
            return Some((&rest[..start], &rest[start + line.len()..]));
        }
        start += line.len();
    }
    None
}

/// The two keys of interest, in the forms people write: plain and quoted scalars, `[a, b]`,
/// comma lists and `- item` lines. Anything else is left alone.
fn yaml(block: &str) -> FrontMatter {
    let mut found = FrontMatter::default();
    let mut in_tags = false;
    let mut changed = None;
    for line in block.lines() {
        if let Some(item) = line.trim_start().strip_prefix("- ").filter(|_| in_tags) {
            found.tags.extend(scalar(item));
            continue;
        }
        let Some((name, value)) = line
            .split_once(':')
            .filter(|_| !line.starts_with([' ', '\t', '#']))
        else {
            continue;
        };
        match name.trim().to_ascii_lowercase().as_str() {
            key if CHANGED.contains(&key) => {
                changed = scalar(value).and_then(|at| written_date(&at));
            }
            WRITTEN => found.written = scalar(value).and_then(|at| written_date(&at)),
            "title" => found.title = scalar(value).unwrap_or_default(),
            "tags" | "keywords" | "categories" => {
                found.tags.extend(yaml_list(value));
                in_tags = true;
                continue;
            }
            _ => {}
        }
        in_tags = false;
    }
    found.written = changed.or(found.written);
    found
}

fn yaml_list(value: &str) -> Vec<String> {
    let value = value.trim();
    let inner = value
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
        .unwrap_or(value);
    inner.split(',').filter_map(scalar).collect()
}

/// A scalar without quotes and comment; `None` if nothing is left.
fn scalar(value: &str) -> Option<String> {
    let value = value.trim();
    let quoted = ['"', '\''].into_iter().find_map(|quote| {
        let inner = value.strip_prefix(quote)?;
        inner
            .rfind(quote)
            .map(|end| inner[..end].replace("\\\"", "\""))
    });
    let plain = || {
        value
            .split(" #")
            .next()
            .unwrap_or(value)
            .trim()
            .trim_start_matches('#')
            .to_owned()
    };
    Some(quoted.unwrap_or_else(plain)).filter(|text| !text.is_empty() && text != "|" && text != ">")
}

fn toml(block: &str) -> FrontMatter {
    let Ok(table) = block.parse::<::toml::Table>() else {
        return FrontMatter::default();
    };
    let strings = |value: &::toml::Value| -> Vec<String> {
        let items = value.as_array().map(Vec::as_slice).unwrap_or_default();
        items
            .iter()
            .filter_map(|item| item.as_str().map(str::to_owned))
            .collect()
    };
    let date = |key: &&str| {
        let value = table.get(*key)?;
        let text = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        written_date(&text)
    };
    // Zola keeps tags in a table of their own.
    let tags = table
        .get("tags")
        .or_else(|| table.get("taxonomies")?.get("tags"));
    FrontMatter {
        title: table
            .get("title")
            .and_then(|title| title.as_str())
            .unwrap_or_default()
            .to_owned(),
        tags: tags.map(strings).unwrap_or_default(),
        written: CHANGED.iter().chain([&WRITTEN]).find_map(date),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> (String, Vec<String>, &str) {
        let (front, rest) = split(text);
        (front.title, front.tags, rest)
    }

    #[test]
    fn yaml_titles_and_tags() {
        let tags = |list: &[&str]| list.iter().map(|&tag| tag.to_owned()).collect::<Vec<_>>();
        for (text, title, expected) in [
            (
                "---\ntitle: Plain one\ntags: [a, \"b c\"]\n---\nx",
                "Plain one",
                tags(&["a", "b c"]),
            ),
            (
                "---\ntitle: 'It: quoted' # why\ntags:\n  - a\n  - '#b'\nother: 1\n---\nx",
                "It: quoted",
                tags(&["a", "#b"]),
            ),
            (
                "---\r\ntags: a, b\r\ntitle: CRLF\r\n...\r\nx",
                "CRLF",
                tags(&["a", "b"]),
            ),
            ("---\nnested:\n  title: not this\n---\nx", "", tags(&[])),
        ] {
            assert_eq!(found(text), (title.to_owned(), expected, "x"), "{text}");
        }
    }

    #[test]
    fn toml_titles_and_tags() {
        let (title, tags, rest) =
            found("+++\ntitle = \"T\"\n[taxonomies]\ntags = [\"a\"]\n+++\nbody");
        assert_eq!((title.as_str(), tags.len(), rest), ("T", 1, "body"));
        assert_eq!(found("+++\n= broken\n+++\nbody").2, "body");
    }

    #[test]
    fn text_without_front_matter_is_untouched() {
        for text in [
            "",
            "---",
            "---\nnever closed\n",
            "a\n---\nb\n---\n",
            "----\na\n---\n",
        ] {
            assert_eq!(found(text), (String::new(), vec![], text), "{text}");
        }
    }
}
