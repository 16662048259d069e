//! The list of a bucket's objects: XML → names and sizes.

use quick_xml::Reader;
use quick_xml::escape::resolve_xml_entity;
use quick_xml::events::Event;

use super::error::S3Error;

/// What is known about an object without reading it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ObjectInfo {
    /// Its name.
    pub key: String,
    /// Its size in bytes.
    pub size: u64,
    /// Its version, as [`Condition::Is`](super::Condition::Is) takes it.
    pub etag: Option<String>,
}

/// Objects, as far as they were listed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ObjectList {
    /// The objects, by name.
    pub objects: Vec<ObjectInfo>,
    /// There are more than were asked for.
    pub more: bool,
}

/// One page of a list.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Page {
    pub(super) objects: Vec<ObjectInfo>,
    /// What the next page is asked for with.
    pub(super) next: Option<String>,
}

/// Reads a page (`ListBucketResult`). Entities beyond XML's five and characters by number are not
/// resolved, so there is nothing to explode.
pub(super) fn read(body: &[u8]) -> Result<Page, S3Error> {
    let text = std::str::from_utf8(body).map_err(unreadable)?;
    let mut reader = Reader::from_str(text);
    let mut page = Page::default();
    let mut path: Vec<String> = Vec::new();
    let mut value = String::new();
    loop {
        match reader.read_event().map_err(unreadable)? {
            Event::Start(start) => {
                let name = start.local_name().as_ref().to_owned();
                if path.len() == 1 && name == "Contents" {
                    page.objects.push(ObjectInfo::default());
                }
                path.push(name);
                value.clear();
            }
            Event::Text(text) => value.push_str(&text),
            Event::CData(text) => value.push_str(&text),
            Event::GeneralRef(entity) => {
                if let Some(character) = entity.resolve_char_ref().map_err(unreadable)? {
                    value.push(character);
                } else {
                    let known = resolve_xml_entity(&entity);
                    value.push_str(known.ok_or_else(|| unreadable("an unknown entity"))?);
                }
            }
            Event::End(_) => {
                take(&mut page, &path, &value)?;
                path.pop();
                value.clear();
            }
            Event::Eof if path.is_empty() => break,
            Event::Eof => return Err(unreadable("it is cut short")),
            _ => {}
        }
    }
    Ok(page)
}

fn take(page: &mut Page, path: &[String], value: &str) -> Result<(), S3Error> {
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    match path.as_slice() {
        ["ListBucketResult", "NextContinuationToken"] => page.next = Some(value.to_owned()),
        ["ListBucketResult", "Contents", field] => {
            let Some(object) = page.objects.last_mut() else {
                return Ok(());
            };
            match *field {
                "Key" => object.key = value.to_owned(),
                "Size" => object.size = value.trim().parse().map_err(unreadable)?,
                "ETag" => object.etag = Some(value.to_owned()),
                _ => {}
            }
        }
        [root] if *root != "ListBucketResult" => {
            return Err(unreadable("it is no list of objects"));
        }
        _ => {}
    }
    Ok(())
}

fn unreadable(error: impl std::fmt::Display) -> S3Error {
    S3Error::BadReply(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_read() {
        let body = br#"<?xml version="1.0"?>
            <ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">
              <Name>b</Name><IsTruncated>true</IsTruncated>
              <Contents><Key>a&amp;b/&#252;.json</Key><Size>12</Size><ETag>&quot;x1&quot;</ETag></Contents>
              <Contents><Key>c</Key><Size>0</Size><Owner><ID>Key</ID></Owner></Contents>
              <NextContinuationToken>t=1</NextContinuationToken>
            </ListBucketResult>"#;
        let object = |key: &str, size, etag: Option<&str>| ObjectInfo {
            key: key.into(),
            size,
            etag: etag.map(str::to_owned),
        };
        let expected = Page {
            objects: vec![
                object("a&b/ü.json", 12, Some("\"x1\"")),
                object("c", 0, None),
            ],
            next: Some("t=1".into()),
        };
        assert_eq!(read(body).unwrap(), expected);
    }

    #[test]
    fn what_is_no_list_is_refused() {
        for body in [
            &b"<html></html>"[..],
            b"<ListBucketResult><Contents>",
            b"<ListBucketResult><Contents><Size>x</Size></Contents></ListBucketResult>",
            b"<ListBucketResult><Name>&bomb;</Name></ListBucketResult>",
            b"\xff",
        ] {
            let read = read(body);
            assert!(matches!(read, Err(S3Error::BadReply(_))), "{read:?}");
        }
    }
}
