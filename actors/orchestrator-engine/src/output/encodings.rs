//! The spellings in which a secret may come out of a program.

use std::collections::BTreeSet;

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL_SAFE: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Shortest secret that is looked for, in bytes: a shorter one would mask ordinary words.
pub(super) const SHORTEST: usize = 6;
/// Shortest encoded form that is looked for, in bytes.
const SHORTEST_ENCODED: usize = 8;
/// Widths at which `base64` and PEM break their lines.
const LINE_WIDTHS: [usize; 2] = [64, 76];

/// Every spelling of `secret`: plain (and line by line), base64 and base64url at each of the three
/// alignments (also broken into lines), hexadecimal, percent-encoded (what has to be, or all), and escaped as in JSON.
pub(super) fn spellings(secret: &[u8]) -> BTreeSet<Vec<u8>> {
    let mut found = BTreeSet::new();
    if secret.len() < SHORTEST {
        return found;
    }
    let mut encoded: Vec<Vec<u8>> = Vec::new();
    for alphabet in [STANDARD, URL_SAFE] {
        encoded.extend((0..3).map(|before| base64_core(secret, before, alphabet)));
        let whole = base64_core(secret, 0, alphabet);
        for width in LINE_WIDTHS {
            encoded.extend(whole.chunks(width).map(<[u8]>::to_vec));
        }
    }
    encoded.extend([
        hex(secret, b"0123456789abcdef"),
        hex(secret, b"0123456789ABCDEF"),
    ]);
    for digits in [b"0123456789abcdef", b"0123456789ABCDEF"] {
        encoded.extend([
            percent(secret, digits, false),
            percent(secret, digits, true),
            secret
                .iter()
                .flat_map(|byte| [b"%".to_vec(), hex(&[*byte], digits)].concat())
                .collect(),
        ]);
    }
    encoded.extend(json_escaped(secret));
    encoded.extend(
        secret
            .split(|byte| *byte == b'\n' || *byte == b'\r')
            .map(<[u8]>::to_vec),
    );
    encoded.retain(|form| form.len() >= SHORTEST_ENCODED);
    found.extend(encoded);
    found.insert(secret.to_vec());
    found
}

/// The characters of a base64 text that depend on nothing but `secret` when `before` bytes
/// (modulo 3) stand in front of it: those that hold bits of a neighbour are left out.
fn base64_core(secret: &[u8], before: usize, alphabet: &[u8; 64]) -> Vec<u8> {
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
    (first..end).map(|index| alphabet[bits(index)]).collect()
}

fn hex(secret: &[u8], digits: &[u8; 16]) -> Vec<u8> {
    secret
        .iter()
        .flat_map(|byte| {
            [
                digits[usize::from(byte >> 4)],
                digits[usize::from(byte & 15)],
            ]
        })
        .collect()
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
    let Ok(text) = std::str::from_utf8(secret) else {
        return Vec::new();
    };
    let Ok(quoted) = serde_json::to_string(text) else {
        return Vec::new();
    };
    let inner = quoted[1..quoted.len() - 1].to_owned();
    let slashes = inner.replace('/', "\\/");
    vec![inner.into_bytes(), slashes.into_bytes()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(secret: &str, form: &str) -> bool {
        spellings(secret.as_bytes()).contains(form.as_bytes())
    }

    #[test]
    fn each_encoding_is_spelt_as_programs_spell_it() {
        let secret = "p@ss w0rd/+\"x";
        assert!(found(secret, secret));
        // printf '%s' 'p@ss w0rd/+"x' | base64, without what depends on the end
        assert!(
            found(secret, "cEBzcyB3MHJkLysie"),
            "{:?}",
            spellings(secret.as_bytes())
        );
        assert!(found(secret, "7040737320773072642f2b2278"));
        assert!(found(secret, "p%40ss%20w0rd%2F%2B%22x"));
        assert!(found(secret, "p%40ss+w0rd%2f%2b%22x"));
        assert!(found(secret, "p@ss w0rd/+\\\"x"));
    }

    #[test]
    fn base64_is_found_wherever_it_begins() {
        // base64 of "u:token-123", "us:token-123" and "use:token-123": three alignments.
        let forms = spellings(b"token-123");
        for whole in [
            "dTp0b2tlbi0xMjM=",
            "dXM6dG9rZW4tMTIz",
            "dXNlOnRva2VuLTEyMw==",
        ] {
            let hit = forms
                .iter()
                .any(|form| whole.contains(std::str::from_utf8(form).unwrap()));
            assert!(hit, "{whole}");
        }
    }

    #[test]
    fn short_secrets_and_short_lines_mask_nothing() {
        assert!(spellings(b"abc").is_empty());
        let forms = spellings(b"a-long-first-line\nx\nsecond-line");
        assert!(forms.contains(&b"second-line"[..]));
        assert!(!forms.contains(&b"x"[..]));
    }
}
