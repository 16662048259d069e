//! Pages of manuals (roff): man(7) and mdoc(7), as far as text goes. Requests are read, not
//! obeyed: nothing is included, defined or run.

mod escapes;
mod mdoc;
mod page;

use crate::text::{DocumentLimits, DocumentRefusal, ExtractedText};

/// Bytes of a file in which the first request of a page has to stand.
const HEAD: usize = 8 << 10;

/// Whether a file may be a page of a manual by its name: `ls.1`, `openssl.1ssl`.
pub(crate) fn may_be_named(name: &str) -> bool {
    let Some((stem, section)) = name.rsplit_once('.') else {
        return false;
    };
    let mut signs = section.bytes();
    !stem.is_empty()
        && signs
            .next()
            .is_some_and(|first| (b'1'..=b'9').contains(&first))
        && section.len() <= 8
        && signs.all(|byte| byte.is_ascii_alphanumeric())
}

/// Whether a text is a page of a manual by what it begins with.
pub(crate) fn is_page(bytes: &[u8]) -> bool {
    let head = &bytes[..bytes.len().min(HEAD)];
    head.split(|byte| *byte == b'\n').any(|line| {
        [&b".TH "[..], b".Dd ", b".Dt ", b".so man"]
            .iter()
            .any(|request| line.starts_with(request))
    })
}

pub(crate) fn read(
    bytes: &[u8],
    limits: &DocumentLimits,
) -> Result<ExtractedText, DocumentRefusal> {
    match std::str::from_utf8(bytes) {
        Ok(text) => page::read(text, limits),
        // Older pages are in Latin-1.
        Err(_) => {
            let text: String = bytes.iter().map(|byte| char::from(*byte)).collect();
            page::read(&text, limits)
        }
    }
}
