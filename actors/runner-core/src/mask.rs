//! Secrets taken out of output as it streams: plain, line by line, in base64, hexadecimal and URLs,
//! and split over any number of writes.

use std::collections::BTreeSet;

use aho_corasick::AhoCorasick;

/// What stands in place of a secret.
pub const MASK: &[u8] = b"***";
/// Longer secrets are masked line by line and in pieces of this many bytes.
const MAX_PATTERN: usize = 8 << 10;
/// Lines of a secret shorter than this are not masked by themselves: `{` stands everywhere.
const MIN_LINE: usize = 4;
/// More are not added: each makes every search a little slower.
const MAX_PATTERNS: usize = 20_000;

/// The secrets of a job.
#[derive(Debug, Clone, Default)]
pub struct Secrets {
    patterns: BTreeSet<Vec<u8>>,
}

impl Secrets {
    /// Adds a secret in all the forms it is known to be printed in. An empty one is none.
    ///
    /// # Errors
    /// When there are too many: the caller must then withhold the output.
    pub fn add(&mut self, secret: &str) -> Result<(), TooManySecrets> {
        let trimmed = secret.trim_end_matches(['\r', '\n']);
        let mut texts = vec![
            secret.as_bytes(),
            trimmed.as_bytes(),
            secret.trim().as_bytes(),
        ];
        texts.extend(
            secret
                .lines()
                .map(|line| line.trim().as_bytes())
                .filter(|line| line.len() >= MIN_LINE),
        );
        for text in texts {
            for part in text.chunks(MAX_PATTERN) {
                self.patterns.extend(forms(part));
            }
        }
        self.patterns.remove(&Vec::new());
        if self.patterns.len() > MAX_PATTERNS {
            Err(TooManySecrets)
        } else {
            Ok(())
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    /// A whole text with the secrets taken out.
    pub fn mask(&self, text: &str) -> String {
        let mut masker = Masker::new(self);
        let mut out = masker.push(text.as_bytes());
        out.extend(masker.finish());
        String::from_utf8_lossy(&out).into_owned()
    }
}

/// There are more secrets than can be looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("there are more secrets than can be masked")]
pub struct TooManySecrets;

/// The forms in which a secret is known to be printed.
fn forms(secret: &[u8]) -> Vec<Vec<u8>> {
    let mut forms = vec![secret.to_vec()];
    if secret.len() < MIN_LINE {
        return forms;
    }
    // In base64 the text before decides how the bits fall: three ways.
    for skip in 0..3 {
        let standard = base64_inside(secret, skip);
        forms.push(
            standard
                .iter()
                .map(|byte| match byte {
                    b'+' => b'-',
                    b'/' => b'_',
                    other => *other,
                })
                .collect(),
        );
        forms.push(standard);
    }
    let hex = |upper: bool| {
        secret
            .iter()
            .flat_map(move |byte| two_digits(*byte, upper))
            .collect::<Vec<u8>>()
    };
    forms.extend([hex(false), hex(true)]);
    for upper in [false, true] {
        for plus in [false, true] {
            forms.push(url_encoded(secret, upper, plus));
        }
    }
    if let Ok(text) = std::str::from_utf8(secret) {
        let json = crate::expr::Value::text(text).to_json();
        forms.push(json.as_bytes()[1..json.len() - 1].to_vec());
    }
    forms
}

/// The part of a base64 text that only the secret decides, when `skip` bytes stand before it in its group of three.
fn base64_inside(secret: &[u8], skip: usize) -> Vec<u8> {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let bits = secret.len() * 8;
    // The first digit that holds no bit of what stands before.
    let mut bit = match skip {
        0 => 0,
        1 => 4,
        _ => 2,
    };
    let mut digits = Vec::new();
    while bit + 6 <= bits {
        let six = (0..6).fold(0_u8, |six, offset| {
            let at = bit + offset;
            (six << 1) | (secret[at / 8] >> (7 - at % 8) & 1)
        });
        digits.push(DIGITS[usize::from(six)]);
        bit += 6;
    }
    digits
}

fn two_digits(byte: u8, upper: bool) -> [u8; 2] {
    let digits: &[u8; 16] = if upper {
        b"0123456789ABCDEF"
    } else {
        b"0123456789abcdef"
    };
    [
        digits[usize::from(byte >> 4)],
        digits[usize::from(byte & 15)],
    ]
}

fn url_encoded(secret: &[u8], upper: bool, plus: bool) -> Vec<u8> {
    let mut out = Vec::new();
    for byte in secret {
        match byte {
            b' ' if plus => out.push(b'+'),
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => out.push(*byte),
            other => {
                out.push(b'%');
                out.extend(two_digits(*other, upper));
            }
        }
    }
    out
}

/// Masks a stream. What could be the beginning of a secret is held back until more comes.
#[derive(Debug)]
pub struct Masker {
    search: Option<AhoCorasick>,
    patterns: Vec<Vec<u8>>,
    longest: usize,
    held: Vec<u8>,
    /// How many bytes at the start of `held` are part of a secret whose mask has been given out.
    covered: usize,
    /// Whether the last byte that was given out was part of a secret: what follows it needs no other mask.
    inside: bool,
}

impl Masker {
    /// A masker for these secrets.
    pub fn new(secrets: &Secrets) -> Self {
        let mut masker = Self {
            search: None,
            patterns: Vec::new(),
            longest: 0,
            held: Vec::new(),
            covered: 0,
            inside: false,
        };
        masker.set(secrets);
        masker
    }

    /// Masks these secrets from here on, in what is held back too.
    pub fn set(&mut self, secrets: &Secrets) {
        self.patterns = secrets.patterns.iter().cloned().collect();
        self.longest = self.patterns.iter().map(Vec::len).max().unwrap_or(0);
        // Building fails only beyond what `Secrets::add` lets in; then all output is withheld.
        self.search = AhoCorasick::new(&self.patterns).ok();
    }

    /// Takes more of the stream and gives back what can be shown.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.held.extend_from_slice(bytes);
        let upto = self.undecided();
        self.give(upto)
    }

    /// Gives back the rest: the stream has ended.
    pub fn finish(&mut self) -> Vec<u8> {
        self.give(self.held.len())
    }

    /// From where on the held bytes could be the beginning of a secret.
    fn undecided(&self) -> usize {
        let first = self
            .held
            .len()
            .saturating_sub(self.longest.saturating_sub(1));
        (first..self.held.len())
            .find(|start| self.begins_pattern(&self.held[*start..]))
            .unwrap_or(self.held.len())
    }

    fn begins_pattern(&self, bytes: &[u8]) -> bool {
        let at = self
            .patterns
            .partition_point(|pattern| pattern.as_slice() < bytes);
        self.patterns.get(at).is_some_and(|pattern| pattern.len() > bytes.len() && pattern.starts_with(bytes))
            // The pattern itself may stand here, and a longer one behind it.
            || self.patterns.get(at + 1).is_some_and(|pattern| pattern.len() > bytes.len() && pattern.starts_with(bytes))
    }

    fn give(&mut self, upto: usize) -> Vec<u8> {
        let mut secret = vec![false; self.held.len()];
        secret[..self.covered].fill(true);
        match &self.search {
            Some(search) => {
                for found in search.find_overlapping_iter(&self.held) {
                    secret[found.range()].fill(true);
                }
            }
            None => secret.fill(true),
        }
        let mut out = Vec::with_capacity(upto);
        for (byte, secret) in self.held[..upto].iter().zip(&secret) {
            if !secret {
                out.push(*byte);
            } else if !self.inside {
                out.extend_from_slice(MASK);
            }
            self.inside = *secret;
        }
        // A secret that reaches over the end: its mask is out, the rest of it is covered.
        let reaches = secret[upto..].iter().take_while(|secret| **secret).count();
        self.covered = if self.inside { reaches } else { 0 };
        self.held.drain(..upto);
        out
    }
}
