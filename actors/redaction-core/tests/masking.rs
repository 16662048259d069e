//! What is found, and that the cuts of the output change nothing.

use proptest::prelude::*;
use redaction_core::{CompiledForms, Minimums, SecretForms, StreamMasker};

const MINIMUMS: Minimums = Minimums {
    secret: 6,
    line: 6,
    encodable: 6,
    encoded: 8,
};

const SECRET: &str = "s3cr3t-Value/with+22ch";

fn compiled(secrets: &[&str]) -> CompiledForms {
    let mut forms = SecretForms::default();
    for secret in secrets {
        forms.add(secret, MINIMUMS).expect("few");
    }
    CompiledForms::from(&forms)
}

fn masked<'t>(forms: &CompiledForms, pieces: impl IntoIterator<Item = &'t [u8]>) -> String {
    let (mut masker, mut out) = (StreamMasker::new(forms.clone()), Vec::new());
    for piece in pieces {
        masker.push(piece, &mut out);
    }
    masker.finish(&mut out);
    String::from_utf8_lossy(&out).into_owned()
}

fn whole(forms: &CompiledForms, text: &str) -> String {
    masked(forms, [text.as_bytes()])
}

/// Whole, byte by byte, and cut once at every place: always the same.
fn at_every_cut(forms: &CompiledForms, text: &str) -> String {
    let shown = whole(forms, text);
    assert_eq!(
        masked(forms, text.as_bytes().chunks(1)),
        shown,
        "byte by byte"
    );
    for cut in 0..=text.len() {
        let (before, after) = text.as_bytes().split_at(cut);
        assert_eq!(
            masked(forms, [before, after]),
            shown,
            "cut at {cut} of {text:?}"
        );
    }
    shown
}

/// Two bytes of a secret side by side, as dumps show them.
fn pairs(secret: &str) -> Vec<String> {
    let of = |pair: &[u8]| {
        let (a, b) = (pair[0], pair[1]);
        let (x, y) = (char::from(a), char::from(b));
        [
            format!("{x}{y}"),
            format!("{a:02x}{b:02x}"),
            format!("{a:02X}{b:02X}"),
            format!("{a:02x} {b:02x}"),
            format!("{b:02x}{a:02x}"),
            format!("{a:03o} {b:03o}"),
            format!("{:06o}", u16::from_le_bytes([a, b])),
            format!("{a:3} {b:3}"),
            format!("{x}   {y}"),
            format!("0x{a:02x}, 0x{b:02x}"),
            format!("{a:02x}\n {b:02x}"),
        ]
    };
    secret.as_bytes().windows(2).flat_map(of).collect()
}

/// `dumps.txt` is what the tools of a Linux machine printed for "token is SECRET\n".
#[test]
fn t11_dumps_of_a_secret_are_masked() {
    let forms = compiled(&[SECRET]);
    let sections = include_str!("dumps.txt").split("## ").skip(1);
    let mut seen = 0;
    for section in sections {
        let (tool, dump) = section.split_once('\n').expect("a name");
        let shown = at_every_cut(&forms, dump);
        assert!(shown.contains("***"), "{tool}:\n{shown}");
        for pair in pairs(SECRET) {
            assert!(!shown.contains(&pair), "{tool} shows {pair:?}:\n{shown}");
        }
        seen += 1;
    }
    assert!(seen > 20);
}

#[test]
fn t11_base64_with_line_breaks_is_masked() {
    let forms = compiled(&[SECRET]);
    // printf 'user:%s\n' SECRET | base64, broken in other ways.
    let encoded = "dXNlcjpzM2NyM3QtVmFsdWUvd2l0aCsyMmNoCg==";
    assert_eq!(whole(&forms, encoded), "dXNlcjp***Cg==", "unbroken");
    for text in [
        "dXNlcjpzM2NyM3QtVmFs\ndWUvd2l0aCsyMmNoCg==\n",
        "dXNlcjpzM2NyM3QtVmFs\r\ndWUvd2l0aCsyMmNoCg==\r\n",
        "key: |\n    dXNlcjpzM2NyM3QtVmFs\n    dWUvd2l0aCsyMmNoCg==\n",
        "{\"key\":\"dXNlcjpzM2NyM3QtVmFs\\ndWUvd2l0aCsyMmNoCg==\"}",
        "dXNlcjpzM2Ny\nM3QtVmFsdWUv\nd2l0aCsyMmNo\nCg==\n",
        "czNjcj\nN0LVZhbHVl\nL3dpdGgrMj\nJjaA==",
    ] {
        let shown = at_every_cut(&forms, text);
        for telling in [
            "M2NyM3Qt", "dWUvd2l0", "LVZhbHVl", "L3dpdGgr", "VmFs", "zM2N",
        ] {
            assert!(!shown.contains(telling), "{text:?}: {shown:?}");
        }
        assert_eq!(shown.lines().count(), text.lines().count(), "{shown:?}");
    }
}

#[test]
fn t11_escapes_of_characters_are_masked() {
    let forms = compiled(&["p@ss wörd\u{1f511}!"]);
    let utf16 = |text: &str| {
        text.encode_utf16()
            .map(|unit| format!("\\u{unit:04x}"))
            .collect::<String>()
    };
    let bytes = |text: &str| {
        text.bytes()
            .map(|byte| format!("\\x{byte:02X}"))
            .collect::<String>()
    };
    let octal = |text: &str| {
        text.bytes()
            .map(|byte| format!("\\{byte:03o}"))
            .collect::<String>()
    };
    let braced = |text: &str| {
        text.chars()
            .map(|it| format!("\\u{{{:x}}}", u32::from(it)))
            .collect::<String>()
    };
    let secret = "p@ss wörd\u{1f511}!";
    for text in [
        "{\"x\":\"p@ss w\\u00f6rd\\ud83d\\udd11!\"}".to_owned(),
        "{\"x\":\"p\\u0040ss w\\u00F6rd\\uD83D\\uDD11!\"}".to_owned(),
        format!("say {}.", utf16(secret)),
        format!("say {}.", bytes(secret)),
        format!("say {}.", octal(secret)),
        format!("say {}.", braced(secret)),
        "$'p@ss w\\303\\266rd\\U0001f511!'".to_owned(),
    ] {
        let shown = at_every_cut(&forms, &text);
        assert!(shown.contains("***"), "{text}: {shown}");
        for rest in [
            "ss", "rd", "\\u0073", "\\x73", "\\163", "{73}", "1f511", "dd11",
        ] {
            assert!(!shown.contains(rest), "{text}: {shown}");
        }
    }
    let nothing = "C:\\users\\new \\u12 \\ud800x \\x4 \\9";
    assert_eq!(at_every_cut(&forms, nothing), nothing);
}

#[test]
fn t11_values_split_by_what_is_not_seen_are_masked() {
    let forms = compiled(&[SECRET]);
    for hidden in [
        "\u{1b}[0m",
        "\u{1b}[1;38;5;208m",
        "\u{1b}[K",
        "\u{1b}]8;;https://example.org/\u{1b}\\",
        "\u{1b}]0;title\u{7}",
        "\u{1b}(B",
        "\u{1b}7",
        "\u{9b}1m",
        "\u{200b}",
        "\u{200d}\u{feff}",
        "\u{202e}",
        "\u{2066}",
        "\u{ad}",
        "\u{e0041}",
        "\u{0}",
        "\u{1}\u{7f}",
        "\r",
    ] {
        let split: String = SECRET
            .chars()
            .flat_map(|it| [hidden.to_owned(), it.to_string()])
            .collect();
        let once = format!("{}{hidden}{}", &SECRET[..9], &SECRET[9..]);
        for value in [once, split] {
            let text = format!("a {value} b\n");
            let shown = at_every_cut(&forms, &text);
            assert!(
                shown.contains("***") && !shown.contains("lue") && !shown.contains('V'),
                "{text:?}: {shown:?}"
            );
            assert!(
                shown.starts_with("a ") && shown.ends_with(" b\n"),
                "{shown:?}"
            );
        }
    }
    let coloured = "\u{1b}[32mok\u{1b}[0m all \u{1b}[1mgood\u{1b}[0m ünïcödé\u{200b} \u{1b}";
    assert_eq!(at_every_cut(&forms, coloured), coloured);
}

/// What comes out at once of each write.
fn at_once(forms: &CompiledForms, pieces: &[&str]) -> Vec<String> {
    let mut masker = StreamMasker::new(forms.clone());
    let each = pieces.iter().map(|piece| {
        let mut out = Vec::new();
        masker.push(piece.as_bytes(), &mut out);
        String::from_utf8(out).expect("text")
    });
    each.collect()
}

#[test]
fn ordinary_output_is_not_held_back() {
    let forms = compiled(&[SECRET, "hunter2-secret", "topsecret-1"]);
    for line in [
        "all of this line\n",
        "Compiling serde v1.0.229\n",
        "   Compiling redaction-core v0.1.0\n",
        "test result: ok. 17 passed; 0 failed\n",
        "commit 77cbfeb0c1d2e3f4a5b6c7d8e9f0a1b2c3d4e5f6\n",
        "drwxr-xr-x 2 root root 4096 .\n",
        "12 files, 3.4 MiB in 5 s\n",
        "C:\\Program Files\n",
        "\u{1b}[1mbold\u{1b}[0m\n",
        "done\n",
        "Really? [y/N] ",
    ] {
        assert_eq!(at_once(&forms, &[line]), [line], "{line:?}");
    }
    assert_eq!(
        at_once(&forms, &["progress 10 % h", "ello\n"]),
        ["progress 10 % ", "hello\n"]
    );
}

#[test]
fn what_waits_is_bounded() {
    let forms = compiled(&[SECRET]);
    let mut masker = StreamMasker::new(forms);
    let (mut pushed, mut out) = (6, Vec::new());
    masker.push(b"s3cr3t", &mut out);
    for _ in 0..64 {
        let hidden = "\u{200b}".repeat(1000);
        pushed += hidden.len();
        masker.push(hidden.as_bytes(), &mut out);
    }
    assert!(
        pushed - out.len() < 32 << 10,
        "{} of {pushed} came out",
        out.len()
    );
}

#[test]
fn most_of_a_secret_at_the_end_is_masked() {
    let forms = compiled(&["hunter2-secret", "hunter2-secret-longer"]);
    let text = "a hunter2-secret b hunter2-secret-longer c hunter2-secre";
    assert_eq!(at_every_cut(&forms, text), "a *** b *** c ***");
    assert_eq!(at_every_cut(&forms, "x hunter"), "x hunter");
}

#[test]
fn secrets_do_not_show_in_debug_output() {
    let forms = compiled(&[SECRET]);
    let mut masker = StreamMasker::new(forms.clone());
    masker.push(b"s3cr3t", &mut Vec::new());
    assert!(!format!("{forms:?} {masker:?}").contains("s3cr"));
}

fn hex(bytes: &[u8], between: &str) -> String {
    let each: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    each.join(between)
}

fn canonical(bytes: &[u8]) -> String {
    let lines = bytes.chunks(16).enumerate().map(|(number, line)| {
        let shown: String = line
            .iter()
            .map(|byte| {
                if byte.is_ascii_graphic() {
                    char::from(*byte)
                } else {
                    '.'
                }
            })
            .collect();
        format!("{:08x}  {:<47}  |{shown}|\n", number * 16, hex(line, " "))
    });
    lines.collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, ..ProptestConfig::default() })]

    /// A secret in any of these forms, between any text, cut anywhere: it does not come out.
    #[test]
    fn t11_no_form_of_a_secret_comes_out_however_it_is_cut(
        secret in "[A-Za-z0-9_@#%+/ ]{5,39}[A-Za-z0-9]",
        before in "[a-z ,.]{0,40}",
        after in "[a-z ,.]{0,10}\n?",
        form in 0_usize..7,
        cuts in prop::collection::vec(1_usize..30, 1..30),
    ) {
        let secret = secret.trim();
        prop_assume!(secret.len() >= 6 && !before.contains(secret));
        let forms = compiled(&[secret]);
        let bytes = format!("{before}{secret}{after}");
        let text = match form {
            0 => bytes,
            1 => canonical(bytes.as_bytes()),
            2 => format!("{before}\n{}\n{after}", hex(secret.as_bytes(), " ")),
            3 => format!("{before} {} {after}", hex(secret.as_bytes(), ":")),
            4 => format!("{before}{}{after}", secret.chars().map(|it| format!("\u{1b}[3{}m{it}", u32::from(it) % 8)).collect::<String>()),
            5 => format!("{before}{}{after}", secret.chars().map(|it| format!("\u{200b}{it}")).collect::<String>()),
            _ => format!("{before}{}{after}", secret.chars().map(|it| format!("\\u{:04x}", u32::from(it))).collect::<String>()),
        };
        let mut pieces = Vec::new();
        let mut rest = text.as_bytes();
        for cut in cuts.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (piece, later) = rest.split_at((*cut).min(rest.len()));
            pieces.push(piece);
            rest = later;
        }
        let shown = masked(&forms, pieces);
        prop_assert_eq!(&shown, &whole(&forms, &text));
        prop_assert!(shown.contains("***"), "{}", shown);
        prop_assert!(!shown.contains(secret), "{}", shown);
        let spaced = hex(secret.as_bytes(), " ");
        prop_assert!(!shown.contains(&spaced[..11]) || canonical(before.as_bytes()).contains(&spaced[..11]), "{}", shown);
    }

    /// Text without secrets comes out as it is.
    #[test]
    fn what_is_no_secret_stays(
        text in "([a-z0-9A-F :\\-\\n\\t\\\\|.]|\\\\u00|\u{1b}\\[1m|\u{200b}|[0-9]{7}|s3cr){0,60}",
        cuts in prop::collection::vec(1_usize..9, 1..20),
    ) {
        let forms = compiled(&["a secret that is not in it", SECRET]);
        let mut pieces = Vec::new();
        let mut rest = text.as_bytes();
        for cut in cuts.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (piece, later) = rest.split_at((*cut).min(rest.len()));
            pieces.push(piece);
            rest = later;
        }
        prop_assert_eq!(masked(&forms, pieces), text);
    }
}
