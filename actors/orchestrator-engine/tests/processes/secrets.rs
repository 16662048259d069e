//! Planted secrets come out of a run in no spelling.

use config_core::Secret;
use orchestrator_engine::output::{LogSizes, Redactor};
use orchestrator_engine::process::ProcessEnd;

use crate::support::{ProcessTestBed, limits, text};

/// Prints its secret in five encodings, in one write and byte by byte.
const SCRIPT: &str = r#"
secret=$(cat)
all() {
    printf '%s\n' "$secret"
    printf 'user:%s' "$secret" | base64
    printf '%s' "$secret" | base64 -w0 | tr '+/' '-_'; echo
    printf '%s' "$secret" | od -An -v -tx1 | tr -d ' \n'; echo
    printf '%s' "$secret" | od -An -v -tx1 | tr -d '\n' | tr 'a-f' 'A-F' | tr ' ' '%'; echo
}
all
all | while IFS= read -r line; do
    while [ -n "$line" ]; do rest=${line#?}; printf '%s' "${line%"$rest"}"; line=$rest; done
    echo
done
echo finished
"#;

/// Twelve secrets as they look in the field.
fn planted() -> Vec<String> {
    let mut secrets: Vec<String> = [
        "whsec_Zr8/Qx+91==plus",
        "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
        "p@ss w0rd & more!",
        "hunter2hunter2",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
        "https://u:p@host/x?y=z",
        "Ünïcödé-sécret",
        "0123456789abcdef0123456789abcdef",
        "-leading-dash-secret",
        "sk-or-v1-aaaaaaaaaaaaaaaaaaaa",
        "back\\slash\"quote'",
    ]
    .map(str::to_owned)
    .to_vec();
    secrets.push("k".repeat(300));
    secrets
}

#[test]
fn twelve_secrets_in_five_encodings_are_masked() {
    let test_bed = ProcessTestBed::best();
    let secrets = planted();
    assert_eq!(secrets.len(), 12);
    let hidden: Vec<Secret<String>> = secrets.iter().cloned().map(Secret::new).collect();
    let redactor = Redactor::new(&hidden);
    for secret in &secrets {
        let mut prepared =
            test_bed.shell_with(SCRIPT, limits(), redactor.clone(), LogSizes::default());
        prepared.spec.input =
            orchestrator_engine::process::AgentInput::Text(secret.clone().into_bytes());
        let log = prepared.log_folder.clone();
        let ended = test_bed.start(prepared).run();
        assert_eq!(ended.end, ProcessEnd::Code(0));
        let text = text(&log);
        assert!(text.contains("finished"), "{text}");
        assert!(ended.output.masked >= 10, "{secret}: {text}");
        for window in telling_parts(secret) {
            assert!(
                !text.contains(&window),
                "{window:?} of {secret:?} in {text}"
            );
        }
    }
}

/// Parts of a secret and of its encodings that would give it away.
fn telling_parts(secret: &str) -> Vec<String> {
    let hex: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
    let percent: String = secret.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let cut = |text: &str, size: usize| -> Vec<String> {
        let characters: Vec<char> = text.chars().collect();
        characters
            .windows(size)
            .map(|window| window.iter().collect())
            .collect()
    };
    let mut parts = cut(secret, 10);
    parts.extend(cut(&hex, 20));
    parts.extend(cut(&percent, 30));
    parts
}
