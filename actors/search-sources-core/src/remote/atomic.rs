//! Atomic Data: search, and resources in JSON-AD.

use serde_json::{Map, Value};

use super::{RemoteRequest, html, json, list};
use crate::item::{ParsedItems, SourceDataError, SourceItem, line};

const PROPERTIES: &str = "https://atomicdata.dev/properties/";

/// Asks for resources that match; they come whole.
pub fn atomic_search_ask(words: &str, limit: usize) -> RemoteRequest {
    RemoteRequest::get(
        "/search",
        vec![
            ("q", words.to_owned()),
            ("limit", limit.clamp(1, 500).to_string()),
            ("include", "true".to_owned()),
        ],
    )
}

/// Reads a search's answer. Only resources below `origin` (the server's URL) are the user's own:
/// the built-in ontology is among the hits and is left out, and so is the search endpoint itself.
///
/// # Errors
/// When it is an error of the server or another shape.
pub fn atomic_search(origin: &str, body: &str) -> Result<ParsedItems, SourceDataError> {
    const WHAT: &str = "the Atomic server";
    let value = json(WHAT, body)?;
    if let Some(message) =
        property(value.as_object(), "description").filter(|_| value.get("@id").is_none())
    {
        return Err(SourceDataError::Refused {
            what: WHAT,
            message: line(&message, 300),
        });
    }
    let entries = if value.is_object() {
        vec![value]
    } else {
        list(WHAT, value, "")?
    };
    let origin = format!("{}/", origin.trim_end_matches('/'));
    let mut parsed = ParsedItems::default();
    for entry in entries {
        let Some(resource) = entry.as_object() else {
            parsed.skipped.add("an entry that is no resource");
            continue;
        };
        let id = resource
            .get("@id")
            .and_then(Value::as_str)
            .unwrap_or_default();
        if id.starts_with(&origin) && !id.starts_with(&format!("{origin}search")) {
            parsed.items.push(item(id, resource));
        }
    }
    Ok(parsed)
}

fn item(id: &str, resource: &Map<String, Value>) -> SourceItem {
    let text = |name: &str| property(Some(resource), name).unwrap_or_default();
    let named = [text("name"), text("shortname")]
        .into_iter()
        .find(|name| !name.is_empty());
    let fallback = id.rsplit('/').next().unwrap_or(id);
    let mut body = html::text(&text("description"));
    for (key, value) in resource {
        let own = key.starts_with('@')
            || KNOWN
                .iter()
                .any(|known| key.ends_with(&format!("/properties/{known}")));
        if let (false, Some(value)) = (own, value.as_str()) {
            body.push('\n');
            body.push_str(value);
        }
    }
    let tags = resource
        .get(&format!("{PROPERTIES}tags"))
        .and_then(Value::as_array);
    let tags = tags.into_iter().flatten().filter_map(Value::as_str);
    let created = resource
        .get(&format!("{PROPERTIES}createdAt"))
        .and_then(Value::as_i64);
    SourceItem {
        key: id.to_owned(),
        title: line(named.as_deref().unwrap_or(fallback), 300),
        body: body.trim().to_owned(),
        tags: tags
            .map(|tag| tag.rsplit('/').next().unwrap_or(tag).to_owned())
            .collect(),
        url: Some(id.to_owned()),
        // Milliseconds.
        modified: created.map(|time| time.div_euclid(1000)),
        ..SourceItem::default()
    }
}

/// Properties that are used otherwise, or say nothing to a reader.
const KNOWN: [&str; 10] = [
    "name",
    "shortname",
    "description",
    "tags",
    "createdAt",
    "parent",
    "isA",
    "lastCommit",
    "loroUpdate",
    "write",
];

fn property(resource: Option<&Map<String, Value>>, name: &str) -> Option<String> {
    let value = resource?.get(&format!("{PROPERTIES}{name}"))?;
    value.as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hits_are_the_server_s_own_resources() {
        let body = r#"[{"@id":"http://localhost:9883/note/1","https://atomicdata.dev/properties/name":"Valve","https://atomicdata.dev/properties/description":"It <b>leaks</b>","https://atomicdata.dev/properties/createdAt":1763719200000,
            "https://atomicdata.dev/properties/parent":"http://localhost:9883/","https://my.example/properties/serial":"K-7","https://atomicdata.dev/properties/loroUpdate":"AAAA"},
            {"@id":"https://atomicdata.dev/classes/Folder","https://atomicdata.dev/properties/shortname":"folder"},
            {"@id":"http://localhost:9883/search?q=valve"}, 7]"#;
        let parsed = atomic_search("http://localhost:9883", body).unwrap();
        assert_eq!((parsed.items.len(), parsed.skipped.count), (1, 1));
        let item = &parsed.items[0];
        assert_eq!(
            (item.title.as_str(), item.body.as_str()),
            ("Valve", "It leaks\nK-7")
        );
        assert_eq!(item.modified, Some(1_763_719_200));
    }

    #[test]
    fn errors_of_the_server_are_said() {
        let body = r#"{"https://atomicdata.dev/properties/description":"Unauthorized"}"#;
        assert!(
            atomic_search("http://x", body)
                .unwrap_err()
                .to_string()
                .contains("Unauthorized")
        );
        assert!(atomic_search("http://x", "not json").is_err());
    }
}
