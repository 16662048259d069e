//! What the HTTP parser lets pass and this platform does not.
//!
//! actix-http 3.20 answers 400 and closes on `Content-Length` together with `Transfer-Encoding`, on
//! repeated `Content-Length`, `Transfer-Encoding` or `Host`, on folded header lines and on a bare
//! LF in the framing of chunks. It accepts a bare LF as the end of a line in the head (RFC 9112,
//! section 2.2 lets it) and anywhere in the trailer: [`Scanner`] finds these and spoils them, so
//! that the parser refuses them as well. It has no time limit for the head of a second request on a
//! connection, none for the rest of a refused chunked body and none for a client that takes nothing
//! of its answer, and it reads up to 128 KiB ahead: [`StrictStream`] bounds these.

mod connection;
mod scanner;
mod stream;

pub(crate) use connection::{HttpConnection, ResponseGuard};
pub(crate) use scanner::Scanner;
pub use stream::EdgeStream;
pub(crate) use stream::{StrictStream, StrictTimeouts};
