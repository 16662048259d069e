//! R16: secrets in output, in every form and split over any writes.

use proptest::prelude::*;
use runner_core::mask::{MaskedSecrets, Masker};

fn secrets(texts: &[&str]) -> MaskedSecrets {
    let mut secrets = MaskedSecrets::default();
    texts
        .iter()
        .for_each(|text| secrets.add(text).expect("few"));
    secrets
}

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

fn base64(bytes: &[u8]) -> String {
    let mut out = String::new();
    for group in bytes.chunks(3) {
        let word = group
            .iter()
            .fold(0_u32, |word, byte| word << 8 | u32::from(*byte))
            << (8 * (3 - group.len()));
        for digit in 0..=group.len() {
            out.push(char::from(BASE64[(word >> (18 - 6 * digit) & 63) as usize]));
        }
        out.extend(std::iter::repeat_n('=', 3 - group.len()));
    }
    out
}

#[test]
fn r16_every_form_is_masked() {
    let secret = "s3cr3t/p+ss wörd";
    let all = secrets(&[secret]);
    assert_eq!(all.mask(&format!("it is {secret}!")), "it is ***!");
    assert_eq!(all.mask("url: s3cr3t%2Fp%2Bss%20w%C3%B6rd&x"), "url: ***&x");
    assert_eq!(all.mask("url: s3cr3t%2fp%2bss+w%c3%b6rd&x"), "url: ***&x");
    for before in ["", "a", "ab", "abc", "user:"] {
        let encoded = base64(format!("{before}{secret}").as_bytes());
        let shown = all.mask(&encoded);
        assert!(
            shown.contains("***") && shown.len() < encoded.len() - 12,
            "{encoded}: {shown}"
        );
        let url = encoded.replace('+', "-").replace('/', "_");
        assert!(all.mask(&url).contains("***"), "{url}");
    }
    let hex: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(all.mask(&hex), "***");
    assert_eq!(all.mask(&hex.to_uppercase()), "***");
    assert_eq!(
        secrets(&["a\"b\\c\td"]).mask(r#"{"x":"a\"b\\c\td"}"#),
        r#"{"x":"***"}"#
    );
}

#[test]
fn r16_a_secret_of_many_lines_is_masked_line_by_line() {
    let key = "-----BEGIN KEY-----\nMIIEpAIBAAKCAQEA\nabcdefgh12345678\n-----END KEY-----\n";
    let all = secrets(&[key]);
    assert_eq!(all.mask(key).matches("***").count(), 1);
    assert_eq!(
        all.mask("  MIIEpAIBAAKCAQEA\r\n  abcdefgh12345678\r\n"),
        "  ***\r\n  ***\r\n"
    );
    // What stands on every second line of every file is not a secret of its own.
    assert_eq!(secrets(&["{\n\"a\": 12345\n}"]).mask("{}\n"), "{}\n");
}

#[test]
fn r16_overlapping_secrets_leave_nothing_behind() {
    let all = secrets(&["abcdef", "efghij", "cd"]);
    assert_eq!(all.mask("xabcdefghijx"), "x***x");
    assert_eq!(all.mask("xcdx"), "x***x");
    let mut masker = Masker::new(&all);
    let mut out = Vec::new();
    for byte in b"xabcdefghijx abcde cd" {
        out.extend(masker.push(&[*byte]));
    }
    out.extend(masker.finish());
    assert_eq!(String::from_utf8(out).unwrap(), "x***x ab***e ***");
}

#[test]
fn nothing_is_held_back_without_need() {
    let mut masker = Masker::new(&secrets(&["topsecret"]));
    assert_eq!(masker.push(b"all of this line\n"), b"all of this line\n");
    assert_eq!(masker.push(b"top"), b"");
    assert_eq!(masker.push(b"ple\n"), b"topple\n");
    assert_eq!(masker.push(b"tops"), b"");
    assert_eq!(masker.finish(), b"tops");
}

#[test]
fn masks_can_be_added_while_output_comes() {
    let mut all = MaskedSecrets::default();
    let mut masker = Masker::new(&all);
    assert_eq!(masker.push(b"later\n"), b"later\n");
    all.add("later").unwrap();
    masker.set(&all);
    assert_eq!(masker.push(b"later\n"), b"***\n");
    all.add("").unwrap();
    assert_eq!(all.mask("a"), "a");
}

proptest! {
    /// However the output is cut, a secret never stands in it, and what is no secret stays.
    #[test]
    fn r16_any_split_shows_the_same(
        parts in prop::collection::vec(prop_oneof![
            "[a-c ]{0,6}".prop_map(|text| text),
            Just("abcabc".to_owned()),
            Just("bcab".to_owned()),
            Just("s3cret-value".to_owned()),
            Just("czNjcmV0LXZhbHVl".to_owned()),
        ], 0..12),
        cuts in prop::collection::vec(1_usize..9, 1..40),
    ) {
        let text = parts.concat();
        let all = secrets(&["abcabc", "bcab", "s3cret-value"]);
        let whole = all.mask(&text);
        let mut masker = Masker::new(&all);
        let mut out = Vec::new();
        let mut rest = text.as_bytes();
        for cut in cuts.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (now, later) = rest.split_at((*cut).min(rest.len()));
            out.extend(masker.push(now));
            rest = later;
        }
        out.extend(masker.finish());
        let out = String::from_utf8(out).unwrap();
        prop_assert_eq!(&out, &whole, "{}", text);
        for secret in ["abcabc", "bcab", "s3cret-value", "czNjcmV0LXZhbHVl"] {
            prop_assert!(!out.contains(secret), "{} in {}", secret, out);
        }
    }
}
