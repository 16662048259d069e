//! Follows the framing of HTTP/1 requests just far enough to see every line end outside of bodies.

use memchr::memchr;

/// The longest line kept while it arrives in pieces, in bytes: the parser refuses a longer head.
const MAX_LINE: usize = 128 * 1024;

/// Looks at the bytes of one connection on their way to the parser.
///
/// On a line that ends in a bare LF it overwrites the LF, and all that follows, with bytes that no
/// parser of HTTP accepts. It decides nothing itself, so a disagreement with the parser about the
/// framing can at worst refuse a request, never let one pass that the parser would not.
#[derive(Debug, Default)]
pub(crate) struct Scanner {
    state: State,
    /// The start of a line whose end has not arrived.
    line: Vec<u8>,
    head: Head,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Between requests, or inside a head.
    #[default]
    Head,
    /// So many bytes of a body are left.
    Body(u64),
    /// Inside the line with a chunk's size: the size so far, and whether digits may follow.
    Size { size: u64, digits: bool },
    /// After a chunk's data: the two bytes of its line end.
    ChunkEnd(u8),
    /// So many bytes of a chunk are left.
    Chunk(u64),
    /// In the trailer.
    Trailer,
    /// No longer HTTP/1, or refused by the parser for another reason.
    Opaque,
    /// A bare LF was found.
    Spoiled,
}

/// What the head of the current request says about its body.
#[derive(Debug, Default, Clone, Copy)]
struct Head {
    started: bool,
    connect: bool,
    chunked: bool,
    websocket: bool,
    length: Option<u64>,
}

impl Scanner {
    /// Whether a head has begun and is not complete.
    pub(crate) fn is_inside_head(&self) -> bool {
        self.state == State::Head && (self.head.started || !self.line.is_empty())
    }

    /// Whether a body has begun and is not complete.
    pub(crate) fn is_inside_body(&self) -> bool {
        !matches!(self.state, State::Head | State::Opaque | State::Spoiled)
    }

    /// How many bytes are left of a body that said its length.
    pub(crate) fn rest_of_body(&self) -> Option<u64> {
        match self.state {
            State::Body(left) => Some(left),
            _ => None,
        }
    }

    /// Looks at the next bytes, and spoils them if need be.
    pub(crate) fn scan(&mut self, bytes: &mut [u8]) {
        let mut at = 0;
        while at < bytes.len() {
            at += match self.state {
                State::Head | State::Trailer => self.scan_line(&mut bytes[at..]),
                State::Body(left) => self.skip(&bytes[at..], left, State::Head, State::Body),
                State::Chunk(left) => {
                    self.skip(&bytes[at..], left, State::ChunkEnd(b'\r'), State::Chunk)
                }
                State::ChunkEnd(expected) => self.chunk_end(bytes[at], expected),
                State::Size { size, digits } => self.size(bytes[at], size, digits),
                State::Opaque => return,
                State::Spoiled => return bytes[at..].fill(0),
            };
        }
    }

    fn skip(&mut self, bytes: &[u8], left: u64, next: State, more: fn(u64) -> State) -> usize {
        let taken = (bytes.len() as u64).min(left);
        self.state = if taken == left {
            next
        } else {
            more(left - taken)
        };
        taken as usize
    }

    /// A line of a head or a trailer, or the piece of one that is there.
    fn scan_line(&mut self, bytes: &mut [u8]) -> usize {
        let Some(end) = memchr(b'\n', bytes) else {
            self.line.extend_from_slice(bytes);
            if self.line.len() > MAX_LINE {
                self.state = State::Opaque;
                self.line = Vec::new();
            }
            return bytes.len();
        };
        let before = if end > 0 {
            bytes.get(end - 1)
        } else {
            self.line.last()
        };
        if before != Some(&b'\r') {
            // NUL is refused in every part of a head. The parser skips a trailer unread but for its
            // line ends, so there it is a CR that no LF follows.
            bytes[end] = if self.state == State::Trailer {
                b'\r'
            } else {
                0
            };
            self.state = State::Spoiled;
            return end + 1;
        }
        if self.line.is_empty() {
            self.end_line(&bytes[..end - 1]);
        } else {
            let mut line = std::mem::take(&mut self.line);
            line.extend_from_slice(&bytes[..end]);
            self.end_line(&line[..line.len() - 1]);
            line.clear();
            self.line = line;
        }
        end + 1
    }

    /// A whole line, without its CRLF.
    fn end_line(&mut self, line: &[u8]) {
        match (self.state, line.is_empty(), self.head.started) {
            (State::Trailer, true, _) => self.next_request(State::Head),
            (State::Trailer, false, _) => {}
            (_, true, true) => self.next_request(self.head.body()),
            // Empty lines before a request are skipped (RFC 9112, section 2.2).
            (_, true, false) => {}
            (_, false, false) => {
                self.head.started = true;
                self.head.connect = line.starts_with(b"CONNECT ");
            }
            (_, false, true) => self.head.field(line),
        }
    }

    fn next_request(&mut self, state: State) {
        self.state = state;
        self.head = Head::default();
        // A long head must not cost memory for the rest of the connection.
        self.line.shrink_to(1024);
    }

    fn chunk_end(&mut self, byte: u8, expected: u8) -> usize {
        self.state = match (byte == expected, expected) {
            (true, b'\r') => State::ChunkEnd(b'\n'),
            (true, _) => State::Size {
                size: 0,
                digits: true,
            },
            (false, _) => State::Opaque,
        };
        1
    }

    /// A byte of a chunk's size line. The parser refuses a bare LF here itself.
    fn size(&mut self, byte: u8, size: u64, digits: bool) -> usize {
        self.state = match (byte, char::from(byte).to_digit(16)) {
            (b'\n', _) if size == 0 => State::Trailer,
            (b'\n', _) => State::Chunk(size),
            (_, Some(digit)) if digits => match size.checked_mul(16) {
                Some(size) => State::Size {
                    size: size + u64::from(digit),
                    digits,
                },
                None => State::Opaque,
            },
            // A CR, white space or an extension: no digit of the size comes any more.
            _ => State::Size {
                size,
                digits: false,
            },
        };
        1
    }
}

impl Head {
    /// Reads the fields that decide about the body; a field the parser refuses may be misread.
    fn field(&mut self, line: &[u8]) {
        // Most fields are of no interest: sort them out by their first letter.
        if !matches!(line[0] | 0x20, b'c' | b't' | b'u') {
            return;
        }
        let Some(colon) = memchr(b':', line) else {
            return;
        };
        let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
        if name.eq_ignore_ascii_case(b"content-length") {
            self.length = std::str::from_utf8(value)
                .ok()
                .and_then(|text| text.parse().ok());
        } else if name.eq_ignore_ascii_case(b"transfer-encoding") {
            self.chunked = value.eq_ignore_ascii_case(b"chunked");
        } else if name.eq_ignore_ascii_case(b"upgrade") {
            self.websocket |= value.eq_ignore_ascii_case(b"websocket");
        }
    }

    /// What follows the head, by the parser's order of precedence.
    fn body(&self) -> State {
        match self.length {
            _ if self.chunked => State::Size {
                size: 0,
                digits: true,
            },
            _ if self.websocket => State::Opaque,
            Some(length) if length > 0 => State::Body(length),
            _ if self.connect => State::Opaque,
            _ => State::Head,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const GOOD: &[&str] = &[
        "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
        "\r\nPOST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\na\nb\n\n",
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\n\n\n\n\r\n1F\r\n0123456789\n0123456789\n012345678\r\n0\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\ntransfer-encoding:chunked\r\n\r\n0\r\nX: y\r\n\r\n",
        "PUT / HTTP/1.1\r\nhost: a\r\ncontent-length: 0\r\n\r\n",
    ];

    fn scan(text: &[u8], pieces: &[usize]) -> (Vec<u8>, Scanner) {
        let (mut bytes, mut scanner, mut at) = (text.to_vec(), Scanner::default(), 0);
        for piece in pieces {
            let end = (at + piece).min(bytes.len());
            scanner.scan(&mut bytes[at..end]);
            at = end;
        }
        scanner.scan(&mut bytes[at..]);
        (bytes, scanner)
    }

    proptest! {
        /// However it is cut, a right stream of requests passes unchanged and ends between
        /// requests.
        #[test]
        fn w11_right_requests_pass_unchanged(
            which in prop::collection::vec(0..GOOD.len(), 1..8),
            pieces in prop::collection::vec(1_usize..40, 0..40),
        ) {
            let text: String = which.iter().map(|index| GOOD[*index]).collect();
            let (bytes, scanner) = scan(text.as_bytes(), &pieces);
            prop_assert_eq!(bytes, text.as_bytes());
            prop_assert_eq!(scanner.state, State::Head);
            prop_assert!(!scanner.is_inside_head());
        }

        /// A line end that lost its CR is spoiled, wherever it is and however the stream is cut.
        #[test]
        fn w11_a_bare_lf_in_a_head_is_spoiled(
            before in prop::collection::vec(0..GOOD.len(), 0..4),
            line in 0..3_usize,
            pieces in prop::collection::vec(1_usize..40, 0..40),
        ) {
            let lead: String = before.iter().map(|index| GOOD[*index]).collect();
            let mut request = GOOD[0].to_owned();
            let cr = request.match_indices('\r').nth(line).unwrap().0;
            request.remove(cr);
            let (bytes, scanner) = scan((lead.clone() + &request).as_bytes(), &pieces);
            prop_assert_eq!(scanner.state, State::Spoiled);
            prop_assert_eq!(&bytes[..lead.len()], lead.as_bytes());
            prop_assert!(bytes[lead.len() + cr..].iter().all(|byte| *byte == 0));
        }

        #[test]
        fn w11_any_bytes_are_survived(
            bytes in prop::collection::vec(any::<u8>(), 0..400),
            pieces in prop::collection::vec(1_usize..40, 0..40),
        ) {
            let (_, scanner) = scan(&bytes, &pieces);
            prop_assert!(scanner.line.len() <= MAX_LINE);
        }
    }

    #[test]
    fn w11_a_bare_lf_in_a_trailer_is_spoiled() {
        let text =
            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: y\n\nGET";
        let (bytes, scanner) = scan(text.as_bytes(), &[]);
        assert_eq!(scanner.state, State::Spoiled);
        assert!(bytes.ends_with(b"X: y\r\0\0\0\0"));
    }

    #[test]
    fn an_upgraded_connection_is_left_alone() {
        let text = "GET /ws HTTP/1.1\r\nHost: a\r\nUpgrade: WebSocket\r\n\r\n\n\nframes\n";
        let (bytes, scanner) = scan(text.as_bytes(), &[]);
        assert_eq!(
            (bytes.as_slice(), scanner.state),
            (text.as_bytes(), State::Opaque)
        );
    }
}
