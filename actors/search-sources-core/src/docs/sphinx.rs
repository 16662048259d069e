//! `objects.inv`, version 2: a head of four lines, and behind it a line a name, compressed.

use std::io::Read;

use flate2::read::ZlibDecoder;

use super::{MAX_NAMES, join_below};
use crate::item::{ParsedItems, SourceDataError, SourceItem, line};

const WHAT: &str = "the documentation";

/// Largest inventory in bytes, decompressed: Python's has 1 MB.
pub const MAX_INVENTORY: u64 = 32 << 20;

/// Reads an inventory; `base` is the address of the documentation, for links.
///
/// # Errors
/// When it is no inventory of version 2, is damaged, or is larger than [`MAX_INVENTORY`].
pub fn sphinx_names(base: &str, bytes: &[u8]) -> Result<ParsedItems, SourceDataError> {
    let (head, rest) = split_head(bytes).ok_or_else(|| shape("it is no inventory of Sphinx"))?;
    let value = |name: &str| {
        let found = head.iter().find_map(|line| line.strip_prefix(name));
        found.unwrap_or_default().trim().to_owned()
    };
    if !head[0].ends_with("version 2") {
        return Err(shape("its inventory is of another version than 2"));
    }
    let project = format!("{} {}", value("# Project:"), value("# Version:"));
    let mut text = String::new();
    let read = ZlibDecoder::new(rest)
        .take(MAX_INVENTORY + 1)
        .read_to_string(&mut text);
    read.map_err(|error| shape(&format!("its inventory is damaged: {error}")))?;
    if text.len() as u64 > MAX_INVENTORY {
        return Err(shape(&format!(
            "its inventory has more than {MAX_INVENTORY} bytes"
        )));
    }
    let mut parsed = ParsedItems::default();
    for row in text.lines().filter(|row| !row.is_empty()).take(MAX_NAMES) {
        match item(base, project.trim(), row) {
            Some(item) => parsed.items.push(item),
            None => parsed
                .skipped
                .add(format!("not understood: {}", line(row, 80))),
        }
    }
    Ok(parsed)
}

/// The four lines of the head, and what is behind.
fn split_head(bytes: &[u8]) -> Option<([&str; 4], &[u8])> {
    let mut rest = bytes;
    let mut head = [""; 4];
    for slot in &mut head {
        let end = rest.iter().take(1000).position(|byte| *byte == b'\n')?;
        *slot = std::str::from_utf8(&rest[..end]).ok()?.trim_end();
        rest = &rest[end + 1..];
    }
    head[0]
        .starts_with("# Sphinx inventory")
        .then_some((head, rest))
}

/// `name domain:role priority address shown`; names may hold blanks.
fn item(base: &str, project: &str, row: &str) -> Option<SourceItem> {
    let words: Vec<&str> = row.split(' ').collect();
    let kind = (1..words.len()).find(|&at| {
        words[at].contains(':')
            && words
                .get(at + 1)
                .is_some_and(|next| next.parse::<i32>().is_ok())
    })?;
    let name = words[..kind].join(" ");
    let address = words.get(kind + 2)?;
    let shown = words.get(kind + 3..).unwrap_or_default().join(" ");
    let address = match address.strip_suffix('$') {
        Some(start) => format!("{start}{name}"),
        None => (*address).to_owned(),
    };
    let (domain, role) = words[kind].split_once(':')?;
    let title = if shown.is_empty() || shown == "-" {
        &name
    } else {
        &shown
    };
    Some(SourceItem {
        key: format!("{domain}:{role}:{name}"),
        title: line(title, 300),
        body: line(&format!("{role} {name} · {project}"), 500),
        tags: vec![domain.to_owned(), role.to_owned()],
        url: Some(join_below(base, &address)?),
        ..SourceItem::default()
    })
}

fn shape(reason: &str) -> SourceDataError {
    SourceDataError::Shape {
        what: WHAT,
        reason: reason.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn inventory(rows: &str) -> Vec<u8> {
        let head = "# Sphinx inventory version 2\n# Project: Python\n# Version: 3.11\n# The remainder of this file is compressed using zlib.\n";
        let mut packed = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(rows.as_bytes()).unwrap();
        [head.as_bytes(), &packed.finish().unwrap()].concat()
    }

    #[test]
    fn names_lead_to_their_places() {
        let bytes = inventory(
            "os.path.join py:function 1 library/os.path.html#$ -\nthe import system std:label -1 reference/import.html#x The import system\nevil std:doc 1 ../../x -\nodd\n",
        );
        let parsed = sphinx_names("https://docs.example/3/", &bytes).unwrap();
        let join = &parsed.items[0];
        assert_eq!(
            (join.title.as_str(), join.url.as_deref()),
            (
                "os.path.join",
                Some("https://docs.example/3/library/os.path.html#os.path.join")
            )
        );
        assert!(join.body.contains("Python 3.11") && join.tags == ["py", "function"]);
        assert_eq!(parsed.items[1].title, "The import system");
        assert_eq!((parsed.items.len(), parsed.skipped.count), (2, 2));
    }

    #[test]
    fn what_is_no_inventory_is_refused() {
        let good = inventory("a py:class 1 b -\n");
        for bytes in [
            b"<html>".to_vec(),
            good[..good.len() - 6].to_vec(),
            b"# Sphinx inventory version 1\n# Project: x\n# Version: y\n# z\nrest".to_vec(),
            Vec::new(),
        ] {
            assert!(sphinx_names("https://x", &bytes).is_err());
        }
        let bomb = inventory(&"a".repeat(MAX_INVENTORY as usize + 10));
        assert!(bomb.len() < 1 << 20);
        let error = sphinx_names("https://x", &bomb).unwrap_err().to_string();
        assert!(error.contains("more than"), "{error}");
    }
}
