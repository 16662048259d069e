//! Signature headers: nothing panics, and nothing verifies but the one right digest.
#![no_main]

use forge_core::{SecretBook, WebhookHeaders, WebhookSecrets, sign};
use libfuzzer_sys::fuzz_target;

/// Header names the first byte of a line chooses from.
const NAMES: [&str; 8] = [
    "X-Hub-Signature-256",
    "x-gitea-signature",
    "X-FORGEJO-SIGNATURE",
    "X-Gogs-Signature",
    "X-Hub-Signature",
    "X-GitHub-Event",
    "X-Gitea-Delivery",
    "X-Other",
];
const BODY: &[u8] = b"{\"zen\":\"a body\"}";

fuzz_target!(|data: &[u8]| {
    let secrets = WebhookSecrets::new("fuzzing secret").expect("not empty");
    let right = sign("fuzzing secret", BODY).expect("not empty");
    let headers: Vec<(&str, &[u8])> = data
        .split(|byte| *byte == b'\n')
        .filter_map(|line| {
            let (first, value) = line.split_first()?;
            Some((NAMES[usize::from(*first) % NAMES.len()], value))
        })
        .collect();
    let gathered = WebhookHeaders::collect(headers.iter().copied());
    let (_, _, _) = (gathered.event(), gathered.delivery_id(), gathered.forge());
    let direct = secrets.verify(&gathered, BODY);
    let by_book = SecretBook::shared(secrets)
        .verify(&gathered, BODY)
        .map(|v| v.verified_by());
    assert_eq!(direct, by_book);
    if direct.is_ok() {
        let good =
            |value: &[u8]| value == right.hex().as_bytes() || value == right.hub().as_bytes();
        assert!(
            headers.iter().any(|(_, value)| good(value)),
            "an unsigned body was accepted"
        );
    }
});
