//! `all.html`, rustdoc's list of all items of a crate.

use super::{MAX_NAMES, join_below};
use crate::item::{ParsedItems, SourceDataError, SourceItem, line};
use crate::remote::html_text;

/// Reads the list; `base` is the address of its folder, for links.
///
/// # Errors
/// When it is no list of items.
pub fn rustdoc_names(base: &str, html: &str) -> Result<ParsedItems, SourceDataError> {
    let mut parsed = ParsedItems::default();
    let items = html.split("<li><a href=\"").skip(1).take(MAX_NAMES);
    for part in items {
        match item(base, part) {
            Some(item) => parsed.items.push(item),
            None => parsed.skipped.add("an entry leads elsewhere"),
        }
    }
    if parsed.items.is_empty() && !html.contains("all-items") {
        return Err(SourceDataError::Shape {
            what: "the documentation",
            reason: "its all.html is no list of items".to_owned(),
        });
    }
    Ok(parsed)
}

/// `address">name</a>`
fn item(base: &str, part: &str) -> Option<SourceItem> {
    let (address, rest) = part.split_once("\">")?;
    let (name, _) = rest.split_once("</a>")?;
    let name = line(&html_text(name), 300);
    // `struct.Vec.html`, below the folders of its modules.
    let file = address.rsplit('/').next()?;
    let kind = file.split('.').next().filter(|_| file.ends_with(".html"))?;
    (!name.is_empty()).then_some(())?;
    Some(SourceItem {
        key: line(address, 300),
        body: format!("{kind} {name}"),
        tags: vec![line(kind, 30)],
        url: Some(join_below(base, address)?),
        title: name,
        ..SourceItem::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_of_a_crate() {
        let html = r#"<ul class="all-items"><li><a href="vec/struct.Vec.html">vec::Vec</a></li><li><a href="fn.take.html">take&lt;T&gt;</a></li><li><a href="https://evil/x.html">x</a></li></ul>"#;
        let parsed = rustdoc_names("https://d/std/", html).unwrap();
        assert_eq!((parsed.items.len(), parsed.skipped.count), (2, 1));
        assert_eq!(
            parsed.items[0].url.as_deref(),
            Some("https://d/std/vec/struct.Vec.html")
        );
        assert_eq!(
            (
                parsed.items[0].tags[0].as_str(),
                parsed.items[1].title.as_str()
            ),
            ("struct", "take<T>")
        );
        assert!(rustdoc_names("https://d", "<html>no").is_err());
    }
}
