//! Files embedded in the program: strong ETag, conditional and range requests, compressed where the
//! client takes that.

use std::borrow::Cow;
use std::ops::Range;

use actix_web::http::Method;
use actix_web::http::header::{self, HeaderValue};
use actix_web::{HttpRequest, HttpResponse, HttpResponseBuilder};
use bytes::Bytes;

use crate::coding::ContentCoding;
use crate::range::{ByteRange, byte_range};

/// One static file, kept in memory.
#[derive(Debug, Clone)]
pub struct Asset {
    bytes: Bytes,
    content_type: &'static str,
    cache_control: &'static str,
    etag: HeaderValue,
    /// The same content packed, what is preferred first.
    packed: Vec<EncodedContent>,
}

/// The content in one coding: another representation, with a validator of its own.
#[derive(Debug, Clone)]
struct EncodedContent {
    coding: ContentCoding,
    bytes: Bytes,
    etag: HeaderValue,
}

impl Asset {
    /// A file of `content_type`; browsers revalidate it at every use. Its ETag is a hash of its
    /// bytes.
    pub fn new(bytes: impl Into<Bytes>, content_type: &'static str) -> Self {
        let bytes = bytes.into();
        let etag = etag_of(&bytes);
        Self {
            bytes,
            content_type,
            cache_control: "no-cache",
            etag,
            packed: Vec::new(),
        }
    }

    /// The same with its content compressed by gzip and by Brotli, for clients that take it.
    #[must_use]
    pub fn compressed(
        mut self,
        gzip: Option<&'static [u8]>,
        brotli: Option<&'static [u8]>,
    ) -> Self {
        let packed = [(ContentCoding::Brotli, brotli), (ContentCoding::Gzip, gzip)];
        self.packed = packed
            .into_iter()
            .filter_map(|(coding, bytes)| {
                let bytes = Bytes::from_static(bytes?);
                let etag = etag_of(&bytes);
                Some(EncodedContent {
                    coding,
                    bytes,
                    etag,
                })
            })
            .collect();
        self
    }

    /// A file whose name changes with its content: browsers keep it for a year.
    #[must_use]
    pub fn immutable(mut self) -> Self {
        self.cache_control = "public, max-age=31536000, immutable";
        self
    }

    /// Answers GET and HEAD: 200, 206, 304 or 416.
    pub fn respond(&self, request: &HttpRequest) -> HttpResponse {
        if let Some(packed) = self.packed(request) {
            return self.packed_answer(request, packed);
        }
        if is_known(request, &self.etag) {
            return self.answer(HttpResponse::NotModified()).finish();
        }
        match self.requested_range(request) {
            ByteRange::Whole => self.answer(HttpResponse::Ok()).body(self.bytes.clone()),
            ByteRange::Part(range) => self.part(range),
            ByteRange::Unsatisfiable => self.unsatisfiable(),
        }
    }

    /// The content in the best coding that the client takes. A range is one of the content itself.
    fn packed(&self, request: &HttpRequest) -> Option<&EncodedContent> {
        if request.headers().contains_key(header::RANGE) {
            return None;
        }
        self.packed
            .iter()
            .find(|packed| packed.coding.is_taken(request))
    }

    fn packed_answer(&self, request: &HttpRequest, packed: &EncodedContent) -> HttpResponse {
        let known = is_known(request, &packed.etag);
        let mut answer = if known {
            self.answer(HttpResponse::NotModified())
        } else {
            self.answer(HttpResponse::Ok())
        };
        answer.insert_header((header::ETAG, packed.etag.clone()));
        if known {
            return answer.finish();
        }
        answer.insert_header((header::CONTENT_ENCODING, packed.coding.name()));
        answer.body(packed.bytes.clone())
    }

    /// The range asked for; everything when `If-Range` names another version (strong comparison).
    fn requested_range(&self, request: &HttpRequest) -> ByteRange {
        let headers = request.headers();
        if request.method() != Method::GET {
            return ByteRange::Whole;
        }
        let same = headers
            .get(header::IF_RANGE)
            .is_none_or(|tag| tag == self.etag);
        let mut ranges = headers.get_all(header::RANGE);
        match (same, ranges.next(), ranges.next()) {
            (true, Some(range), None) => byte_range(range.as_bytes(), self.bytes.len()),
            _ => ByteRange::Whole,
        }
    }

    fn part(&self, range: Range<usize>) -> HttpResponse {
        let place = format!(
            "bytes {}-{}/{}",
            range.start,
            range.end - 1,
            self.bytes.len()
        );
        let mut answer = self.answer(HttpResponse::PartialContent());
        answer.insert_header((header::CONTENT_RANGE, place));
        answer.body(self.bytes.slice(range))
    }

    fn unsatisfiable(&self) -> HttpResponse {
        let mut answer = HttpResponse::RangeNotSatisfiable();
        answer.insert_header((
            header::CONTENT_RANGE,
            format!("bytes */{}", self.bytes.len()),
        ));
        answer.finish()
    }

    fn answer(&self, mut answer: HttpResponseBuilder) -> HttpResponseBuilder {
        answer
            .insert_header((header::CONTENT_TYPE, self.content_type))
            .insert_header((header::CACHE_CONTROL, self.cache_control))
            .insert_header((header::ETAG, self.etag.clone()))
            .insert_header((header::ACCEPT_RANGES, "bytes"));
        if !self.packed.is_empty() {
            answer.insert_header((header::VARY, "Accept-Encoding"));
        }
        answer
    }
}

fn etag_of(bytes: &[u8]) -> HeaderValue {
    let hash = blake3::hash(bytes).to_hex();
    let etag = HeaderValue::from_str(&format!("\"{}\"", &hash[..32]));
    etag.expect("hexadecimal digits in quotes are a valid header value")
}

/// Whether the client has these bytes already (`If-None-Match`, weak comparison).
fn is_known(request: &HttpRequest, etag: &HeaderValue) -> bool {
    let tags = request.headers().get_all(header::IF_NONE_MATCH);
    tags.flat_map(|value| value.as_bytes().split(|byte| *byte == b','))
        .map(<[u8]>::trim_ascii)
        .any(|tag| tag == b"*" || tag.strip_prefix(b"W/").unwrap_or(tag) == etag.as_bytes())
}

/// Embedded text, without a copy.
impl From<(&'static str, &'static str)> for Asset {
    fn from((text, content_type): (&'static str, &'static str)) -> Self {
        Self::new(Bytes::from_static(text.as_bytes()), content_type)
    }
}

/// Embedded or generated bytes.
impl From<(Cow<'static, [u8]>, &'static str)> for Asset {
    fn from((bytes, content_type): (Cow<'static, [u8]>, &'static str)) -> Self {
        let bytes = match bytes {
            Cow::Borrowed(bytes) => Bytes::from_static(bytes),
            Cow::Owned(bytes) => Bytes::from(bytes),
        };
        Self::new(bytes, content_type)
    }
}
