//! Text in blobs of the store: packed, in a form that says what it is.

use bytes::Bytes;
use store::{Extent, ReadRows, StoreError};

/// In front of packed bytes: their form.
const PACKED: u8 = 1;
/// Larger ones are not believed to be ours.
const MAX_PACKED: usize = 256 << 20;

/// Bytes on their way into a blob. Takes time with many.
pub(crate) fn packed(bytes: &[u8]) -> Bytes {
    let packed = lz4_flex::block::compress_prepend_size(bytes);
    [&[PACKED][..], &packed].concat().into()
}

/// What was packed into a blob; `None`: it is gone, or no such thing.
pub(crate) fn unpacked(
    rows: &mut impl ReadRows,
    extent: &Extent,
) -> Result<Option<Vec<u8>>, StoreError> {
    let Some(bytes) = rows.blob(extent)? else {
        return Ok(None);
    };
    let body = bytes.strip_prefix(&[PACKED]);
    let sized = body.and_then(|body| lz4_flex::block::uncompressed_size(body).ok());
    let sized = sized.filter(|(size, _)| *size <= MAX_PACKED);
    Ok(sized.and_then(|(size, body)| lz4_flex::block::decompress(body, size).ok()))
}
