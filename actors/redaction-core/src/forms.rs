//! The forms in which a secret may come out of a program.

use std::collections::BTreeSet;

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const LOWER: &[u8; 16] = b"0123456789abcdef";
const UPPER: &[u8; 16] = b"0123456789ABCDEF";

/// Longer secrets are looked for in chunks of this many bytes, each by itself.
const MAX_CHUNK: usize = 8 << 10;
/// More forms are not taken.
const MAX_FORMS: usize = 20_000;
/// Forms of more bytes are not taken: the automaton that finds them has a state of about 12 bytes
/// for each.
const MAX_FORM_BYTES: usize = 8 << 20;
/// Shortest base64 that is looked for over line ends, in characters.
const MIN_JOINED: usize = 6;
/// Shortest secret that is looked for in dumps and spaced digits, in bytes.
const MIN_DUMPED: usize = 4;

/// How short a text may be to be looked for, in bytes: shorter ones would mask ordinary words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Minimums {
    /// A secret as it is.
    pub secret: usize,
    /// A line of a secret of several lines.
    pub line: usize,
    /// A secret that is looked for in encodings.
    pub encodable: usize,
    /// An encoded form.
    pub encoded: usize,
}

/// There are more secrets than can be looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("there are more secrets than can be masked")]
pub struct TooManySecrets;

/// Everything that is looked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SecretForms {
    /// In output as it is: all forms.
    pub(crate) all: BTreeSet<Vec<u8>>,
    /// As they are, after unescaping.
    pub(crate) plain: BTreeSet<Vec<u8>>,
    /// As they are, in dumps.
    pub(crate) dumped: BTreeSet<Vec<u8>>,
    /// Base64 over line ends, in the standard alphabet.
    pub(crate) base64: BTreeSet<Vec<u8>>,
    /// Hexadecimal over separators, in lower case.
    pub(crate) hex: BTreeSet<Vec<u8>>,
}

impl SecretForms {
    /// Adds the forms of a secret: whole, trimmed, and line by line. One that is shorter than
    /// `minimums` says is none.
    ///
    /// # Errors
    /// When there are too many: the caller must then withhold the output.
    pub fn add(&mut self, secret: &str, minimums: Minimums) -> Result<(), TooManySecrets> {
        if secret.is_empty() || secret.len() < minimums.secret {
            return Ok(());
        }
        let trimmed = secret.trim_end_matches(['\r', '\n']);
        for text in [secret, trimmed, secret.trim()] {
            if !text.is_empty() {
                self.add_text(text.as_bytes(), minimums);
            }
        }
        let lines = secret
            .split(['\r', '\n'])
            .flat_map(|line| [line, line.trim()]);
        for line in lines.filter(|line| line.len() >= minimums.line) {
            self.add_text(line.as_bytes(), minimums);
        }
        let bytes: usize = self.all.iter().map(Vec::len).sum();
        if self.all.len() > MAX_FORMS || bytes > MAX_FORM_BYTES {
            Err(TooManySecrets)
        } else {
            Ok(())
        }
    }

    /// Whether nothing is looked for.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// How many forms are looked for.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    fn add_text(&mut self, text: &[u8], minimums: Minimums) {
        for chunk in text.chunks(MAX_CHUNK) {
            self.all.insert(chunk.to_vec());
            self.plain.insert(chunk.to_vec());
            if chunk.len() >= MIN_DUMPED {
                self.dumped.insert(chunk.to_vec());
                self.hex.insert(hex(chunk, LOWER));
            }
            if chunk.len() < minimums.encodable {
                continue;
            }
            let mut encoded = encodings(chunk);
            encoded.retain(|form| form.len() >= minimums.encoded);
            self.all.extend(encoded);
            let joined = (0..3).map(|before| base64_core(chunk, before));
            self.base64
                .extend(joined.filter(|form| form.len() >= MIN_JOINED.max(minimums.encoded)));
        }
    }
}

/// The encodings of `secret` that come in one piece: base64 and base64url at each of the three
/// alignments, hexadecimal, percent-encoded (what has to be, or all), and escaped as in JSON.
fn encodings(secret: &[u8]) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    for before in 0..3 {
        let standard = base64_core(secret, before);
        found.push(standard.iter().map(|byte| url_safe(*byte)).collect());
        found.push(standard);
    }
    for digits in [LOWER, UPPER] {
        found.push(hex(secret, digits));
        found.push(percent(secret, digits, false));
        found.push(percent(secret, digits, true));
        let every = secret
            .iter()
            .flat_map(|byte| [b"%".to_vec(), hex(&[*byte], digits)]);
        found.push(every.flatten().collect());
    }
    found.extend(json_escaped(secret));
    found
}

const fn url_safe(byte: u8) -> u8 {
    match byte {
        b'+' => b'-',
        b'/' => b'_',
        other => other,
    }
}

/// The characters of a base64 text that depend on nothing but `secret` when `before` bytes
/// (modulo 3) stand in front of it: those that hold bits of a neighbour are left out.
fn base64_core(secret: &[u8], before: usize) -> Vec<u8> {
    let mut padded = vec![0; before];
    padded.extend_from_slice(secret);
    let first = (before * 8).div_ceil(6);
    let end = padded.len() * 8 / 6;
    let bits = |index: usize| {
        let bit = index * 6;
        let high = u16::from(padded[bit / 8]) << 8;
        let low = padded.get(bit / 8 + 1).copied().map_or(0, u16::from);
        usize::from((high | low) >> (10 - bit % 8) & 63)
    };
    (first..end).map(|index| STANDARD[bits(index)]).collect()
}

fn hex(secret: &[u8], digits: &[u8; 16]) -> Vec<u8> {
    let two = |byte: &u8| {
        [
            digits[usize::from(byte >> 4)],
            digits[usize::from(byte & 15)],
        ]
    };
    secret.iter().flat_map(two).collect()
}

/// RFC 3986: everything but unreserved characters as `%XX`; `form` has `+` for a space.
fn percent(secret: &[u8], digits: &[u8; 16], form: bool) -> Vec<u8> {
    let mut text = Vec::with_capacity(secret.len() * 3);
    for &byte in secret {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => text.push(byte),
            b' ' if form => text.push(b'+'),
            _ => {
                text.push(b'%');
                text.extend(hex(&[byte], digits));
            }
        }
    }
    text
}

/// As inside of a JSON string, with and without `\/`.
fn json_escaped(secret: &[u8]) -> Vec<Vec<u8>> {
    let text = std::str::from_utf8(secret).ok();
    let quoted = text.and_then(|text| serde_json::to_string(text).ok());
    let Some(quoted) = quoted else {
        return Vec::new();
    };
    let inner = &quoted[1..quoted.len() - 1];
    vec![
        inner.as_bytes().to_vec(),
        inner.replace('/', "\\/").into_bytes(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINIMUMS: Minimums = Minimums {
        secret: 6,
        line: 6,
        encodable: 6,
        encoded: 8,
    };

    fn forms(secret: &str) -> BTreeSet<Vec<u8>> {
        let mut forms = SecretForms::default();
        forms.add(secret, MINIMUMS).unwrap();
        forms.all
    }

    #[test]
    fn each_encoding_is_spelt_as_programs_spell_it() {
        let secret = "p@ss w0rd/+\"x";
        let all = forms(secret);
        for form in [
            secret,
            // printf '%s' 'p@ss w0rd/+"x' | base64, without what depends on the end
            "cEBzcyB3MHJkLysie",
            "7040737320773072642f2b2278",
            "p%40ss%20w0rd%2F%2B%22x",
            "p%40ss+w0rd%2f%2b%22x",
            "p@ss w0rd/+\\\"x",
        ] {
            assert!(all.contains(form.as_bytes()), "{form}: {all:?}");
        }
    }

    #[test]
    fn base64_is_found_wherever_it_begins() {
        // base64 of "u:token-123", "us:token-123" and "use:token-123": three alignments.
        let all = forms("token-123");
        for whole in [
            "dTp0b2tlbi0xMjM=",
            "dXM6dG9rZW4tMTIz",
            "dXNlOnRva2VuLTEyMw==",
        ] {
            let hit = all
                .iter()
                .any(|form| whole.contains(std::str::from_utf8(form).unwrap()));
            assert!(hit, "{whole}");
        }
    }

    #[test]
    fn short_secrets_and_short_lines_mask_nothing() {
        assert!(forms("abc").is_empty() && forms("").is_empty());
        let all = forms("a-long-first-line\nx\nsecond-line");
        assert!(all.contains(&b"second-line"[..]));
        assert!(!all.contains(&b"x"[..]));
    }

    #[test]
    fn too_many_secrets_are_refused() {
        let mut forms = SecretForms::default();
        let added = (0..4000).map(|number| forms.add(&format!("secret number {number}"), MINIMUMS));
        assert!(added.into_iter().any(|added| added == Err(TooManySecrets)));
        let mut forms = SecretForms::default();
        let large = |number: usize| format!("{number:>8000}").replace(' ', "s");
        let added = (0..200).map(|number| forms.add(&large(number), MINIMUMS));
        assert!(added.into_iter().any(|added| added == Err(TooManySecrets)));
    }
}
