//! Files packed by gzip: unpacked within the limits, and read by what is inside.

use std::io::Read;

use flate2::read::MultiGzDecoder;

use crate::text::{DocumentLimits, DocumentRefusal, ExtractedText, TextCollector};
use crate::{manual, pdf, soup};

/// Unpacked bytes below which the ratio does not matter.
const SMALL: u64 = 1 << 20;

/// Bytes at the beginning in which a text has no zero.
const HEAD: usize = 8 << 10;

pub(crate) fn read(
    bytes: &[u8],
    is_page: bool,
    limits: &DocumentLimits,
) -> Result<ExtractedText, DocumentRefusal> {
    let by_ratio = (bytes.len() as u64).saturating_mul(limits.ratio);
    let most = by_ratio.max(SMALL).min(limits.unpacked);
    let mut inside = Vec::new();
    let unpacked = MultiGzDecoder::new(bytes)
        .take(most + 1)
        .read_to_end(&mut inside);
    unpacked.map_err(|error| DocumentRefusal::Malformed(format!("gzip: {error}")))?;
    if inside.len() as u64 > most {
        return Err(DocumentRefusal::Bomb(format!("more than {most} bytes")));
    }
    if inside.starts_with(b"%PDF-") {
        return pdf::read(&inside, limits);
    }
    if inside[..inside.len().min(HEAD)].contains(&0) {
        return Err(DocumentRefusal::NotText);
    }
    if manual::is_page(&inside) {
        return manual::read(&inside, limits);
    }
    let mut into = TextCollector::new(limits);
    let text = match String::from_utf8(inside) {
        Ok(text) => text,
        Err(error) => error
            .as_bytes()
            .iter()
            .map(|byte| char::from(*byte))
            .collect(),
    };
    if is_page {
        soup::read(&text, &mut into);
    } else {
        into.paragraph(&text.replace("\r\n", "\n"));
    }
    into.finish()
}
