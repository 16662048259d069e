//! Signatures: W01 to W08, W17, W18, and vectors made elsewhere.

use forge_core::{
    BodyDigest, DeliveryError, EmptySecret, ParseOptions, SecretAge, SecretBook, SignatureError,
    SignatureHeader, WebhookSecrets, sign,
};

use crate::support::{headers, raw};

const SECRET: &str = "an ordinary webhook secret";
const BODY: &[u8] = br#"{"zen":"Keep it small.","n":1}"#;

fn secrets() -> WebhookSecrets {
    WebhookSecrets::new(SECRET).unwrap()
}

fn verify(list: &[(&str, &str)], body: &[u8]) -> Result<SignatureHeader, SignatureError> {
    secrets().verify(&headers(list), body).map(|by| by.header)
}

fn hex() -> String {
    sign(SECRET, BODY).unwrap().hex().to_owned()
}

fn hub() -> String {
    sign(SECRET, BODY).unwrap().hub()
}

/// RFC 4231, test case 2, and the example in GitHub's documentation on validating deliveries.
#[test]
fn signatures_equal_published_vectors() {
    let rfc = sign("Jefe", b"what do ya want for nothing?").unwrap();
    assert_eq!(
        rfc.hex(),
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
    );
    let github = sign("It's a Secret to Everybody", b"Hello, World!").unwrap();
    assert_eq!(
        github.hub(),
        "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
    );
}

#[test]
fn each_header_alone_is_enough() {
    let (hex, hub) = (hex(), hub());
    let cases = [
        ("x-hub-signature-256", hub.as_str(), SignatureHeader::Hub256),
        ("X-Gitea-Signature", &hex, SignatureHeader::Gitea),
        ("X-FORGEJO-SIGNATURE", &hex, SignatureHeader::Forgejo),
        ("X-Gogs-Signature", &hex, SignatureHeader::Gogs),
    ];
    for (name, value, header) in cases {
        assert_eq!(verify(&[(name, value)], BODY), Ok(header), "{name}");
    }
}

#[test]
fn all_headers_of_a_real_gitea_delivery_together() {
    let list = [
        ("X-Gitea-Signature", hex()),
        ("X-Gogs-Signature", hex()),
        (
            "X-Hub-Signature",
            "sha1=0123456789012345678901234567890123456789".to_owned(),
        ),
        ("X-Hub-Signature-256", hub()),
    ];
    let list: Vec<_> = list
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    assert!(verify(&list, BODY).is_ok());
}

#[test]
fn w01_no_signature_header() {
    assert_eq!(
        verify(&[("X-GitHub-Event", "push")], BODY),
        Err(SignatureError::Missing)
    );
    let book = SecretBook::shared(secrets());
    assert_eq!(
        book.verify(&headers(&[]), BODY).unwrap_err(),
        SignatureError::Missing
    );
}

#[test]
fn w02_signature_of_another_body() {
    for other in [&b"{}"[..], b"", &BODY[..BODY.len() - 1]] {
        let list = [("X-Hub-Signature-256", &*hub())];
        assert_eq!(verify(&list, other), Err(SignatureError::Mismatch));
    }
}

#[test]
fn w03_every_other_spelling_is_refused() {
    let hex = hex();
    let upper = hex.to_ascii_uppercase();
    let non_hex = format!("{}g", &hex[..63]);
    let wrong_in_hub = [
        String::new(),
        "sha256=".to_owned(),
        hex.clone(),
        format!("sha1={hex}"),
        format!("SHA256={hex}"),
        format!("sha256:{hex}"),
        format!("sha256={upper}"),
        format!("sha256={}", &hex[..63]),
        format!("sha256={hex}0"),
        format!("sha256={non_hex}"),
        format!("sha256={hex} "),
        format!(" sha256={hex}"),
        format!("sha256= {hex}"),
        format!("sha256={hex},sha256={hex}"),
        format!("sha256={hex}\0"),
    ];
    for value in wrong_in_hub {
        let refused = verify(&[("X-Hub-Signature-256", &value)], BODY);
        assert!(
            matches!(refused, Err(SignatureError::Malformed { .. })),
            "{value:?}: {refused:?}"
        );
    }
    let wrong_bare = [
        String::new(),
        upper,
        hex[..63].to_owned(),
        format!("{hex}0"),
        non_hex,
        format!("{hex} "),
        format!("sha256={hex}"),
    ];
    for value in wrong_bare {
        for name in [
            "X-Gitea-Signature",
            "X-Forgejo-Signature",
            "X-Gogs-Signature",
        ] {
            let refused = verify(&[(name, &value)], BODY);
            let expected = matches!(refused, Err(SignatureError::Malformed { .. }));
            assert!(expected, "{name}: {value:?}: {refused:?}");
        }
    }
}

#[test]
fn w03_sha1_alone_is_never_enough() {
    let list = [(
        "X-Hub-Signature",
        "sha1=0123456789012345678901234567890123456789",
    )];
    assert_eq!(verify(&list, BODY), Err(SignatureError::OnlySha1));
}

#[test]
fn w04_one_good_header_does_not_save_a_bad_one() {
    let (hex, hub) = (hex(), hub());
    let wrong = sign("another secret", BODY).unwrap();
    let (wrong_hex, wrong_hub) = (wrong.hex(), wrong.hub());
    let cases: [&[(&str, &str)]; 6] = [
        &[
            ("X-Gitea-Signature", &hex),
            ("X-Hub-Signature-256", &wrong_hub),
        ],
        &[
            ("X-Gitea-Signature", wrong_hex),
            ("X-Hub-Signature-256", &hub),
        ],
        &[("X-Gitea-Signature", &hex), ("X-Hub-Signature-256", "")],
        &[
            ("X-Gogs-Signature", "sha256=00"),
            ("X-Hub-Signature-256", &hub),
        ],
        &[
            ("X-Hub-Signature-256", &hub),
            ("X-Hub-Signature-256", &wrong_hub),
        ],
        &[
            ("X-Hub-Signature-256", &wrong_hub),
            ("X-Hub-Signature-256", &hub),
        ],
    ];
    for list in cases {
        assert!(verify(list, BODY).is_err(), "{list:?}");
    }
}

#[test]
fn w05_the_same_json_written_differently_is_another_body() {
    let signed = [("X-Hub-Signature-256", &*hub())];
    let rewritten: [&[u8]; 4] = [
        br#"{"zen": "Keep it small.", "n": 1}"#,
        br#"{"n":1,"zen":"Keep it small."}"#,
        br#"{"zen":"\u004beep it small.","n":1}"#,
        b"{\"zen\":\"Keep it small.\",\"n\":1}\n",
    ];
    for body in rewritten {
        assert_eq!(verify(&signed, body), Err(SignatureError::Mismatch));
    }
}

/// The sources that decide on signatures compare nothing themselves.
#[test]
fn w07_only_the_constant_time_verifier_decides() {
    let folder = "src/signature";
    let mut calls = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let source = std::fs::read_to_string(&path).unwrap();
        let code = source
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"));
        for line in code {
            calls += line.matches("hmac::verify(").count();
            let compares = [
                "==",
                "!=",
                ".eq(",
                ".ne(",
                ".cmp(",
                "matches!(",
                ".contains(&digest",
            ];
            let found = compares.iter().find(|operator| line.contains(**operator));
            assert!(found.is_none(), "{}: compares: {line}", path.display());
        }
    }
    assert_eq!(calls, 1, "one place decides");
}

#[test]
fn w08_an_empty_secret_cannot_be_held() {
    for empty in ["", " ", "\n", "\t \r\n"] {
        assert_eq!(WebhookSecrets::new(empty).unwrap_err(), EmptySecret);
        assert_eq!(secrets().with_previous(empty).unwrap_err(), EmptySecret);
        assert_eq!(sign(empty, BODY).unwrap_err(), EmptySecret);
    }
}

/// A forge whose hook has no secret sends the headers all the same, with nothing in them.
#[test]
fn w08_headers_of_a_hook_without_secret() {
    let list = [
        ("X-Gitea-Signature", ""),
        ("X-Hub-Signature-256", "sha256="),
    ];
    assert!(verify(&list, BODY).is_err());
}

fn book() -> SecretBook {
    SecretBook::shared(secrets())
        .with_repository(
            "acme/rocket".parse().unwrap(),
            WebhookSecrets::new("rocket's").unwrap(),
        )
        .with_repository(
            "acme/shop".parse().unwrap(),
            WebhookSecrets::new("shop's").unwrap(),
        )
}

/// Delivers a body that names `repository`, signed with `secret`.
fn deliver(book: &SecretBook, secret: &str, repository: &str) -> Result<(), String> {
    let body = format!(r#"{{"zen":"x","repository":{{"full_name":"{repository}"}}}}"#);
    let hub = sign(secret, body.as_bytes()).unwrap().hub();
    let headers = headers(&[("X-Hub-Signature-256", &hub)]);
    let verified = book
        .verify(&headers, body.as_bytes())
        .map_err(|error| error.to_string())?;
    match verified.delivery(&headers, ParseOptions::default()) {
        Ok(_) => Ok(()),
        Err(error @ DeliveryError::OtherRepository { .. }) => Err(error.to_string()),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn w17_a_repository_s_secret_speaks_for_it_alone() {
    let book = book();
    assert_eq!(deliver(&book, "rocket's", "acme/rocket"), Ok(()));
    assert_eq!(
        deliver(&book, "rocket's", "ACME/Rocket"),
        Ok(()),
        "forges ignore case"
    );
    assert_eq!(deliver(&book, "shop's", "acme/shop"), Ok(()));
    assert_eq!(deliver(&book, SECRET, "acme/other"), Ok(()));
    for (secret, repository) in [
        ("rocket's", "acme/shop"),
        ("rocket's", "acme/other"),
        (SECRET, "acme/rocket"),
        (SECRET, "Acme/SHOP"),
    ] {
        let refused = deliver(&book, secret, repository).unwrap_err();
        assert!(
            refused.contains("may not speak for"),
            "{secret} {repository}: {refused}"
        );
    }
    assert!(
        deliver(&book, "nobody's", "acme/rocket")
            .unwrap_err()
            .contains("does not match")
    );
}

#[test]
fn w17_without_a_shared_secret_other_repositories_are_closed() {
    let rocket = WebhookSecrets::new("rocket's").unwrap();
    let book = SecretBook::for_repository("acme/rocket".parse().unwrap(), rocket);
    assert_eq!(deliver(&book, "rocket's", "acme/rocket"), Ok(()));
    assert!(deliver(&book, "rocket's", "acme/other").is_err());
}

#[test]
fn w17_one_secret_given_to_two_repositories_speaks_for_both() {
    let both = || WebhookSecrets::new("both").unwrap();
    let book = SecretBook::for_repository("a/one".parse().unwrap(), both())
        .with_repository("a/two".parse().unwrap(), both());
    assert_eq!(deliver(&book, "both", "a/one"), Ok(()));
    assert_eq!(deliver(&book, "both", "a/two"), Ok(()));
    assert!(deliver(&book, "both", "a/three").is_err());
}

#[test]
fn w18_rotation_accepts_old_and_new_until_the_old_is_removed() {
    let by = |secrets: &WebhookSecrets, secret: &str| {
        let hub = sign(secret, BODY).unwrap().hub();
        secrets
            .verify(&headers(&[("X-Hub-Signature-256", &hub)]), BODY)
            .map(|by| by.secret)
    };
    let rotating = WebhookSecrets::new("new")
        .unwrap()
        .with_previous("old")
        .unwrap();
    assert_eq!(by(&rotating, "new"), Ok(SecretAge::Current));
    assert_eq!(by(&rotating, "old"), Ok(SecretAge::Previous));
    let rotated = WebhookSecrets::new("new").unwrap();
    assert_eq!(by(&rotated, "new"), Ok(SecretAge::Current));
    assert_eq!(by(&rotated, "old"), Err(SignatureError::Mismatch));
}

/// The digest of a body that was signed with `secret`.
fn digest(book: &SecretBook, secret: &str, body: &[u8]) -> BodyDigest {
    let hub = sign(secret, body).unwrap().hub();
    let headers = headers(&[("X-Hub-Signature-256", &hub)]);
    let verified = book.verify(&headers, body).unwrap();
    let delivery = verified.delivery(&headers, ParseOptions::default());
    delivery.unwrap().body
}

#[test]
fn w14_a_body_has_one_digest_whichever_secret_signed_it() {
    let secrets = |current: &str, previous| {
        let secrets = WebhookSecrets::new(current).unwrap();
        secrets.with_previous(previous).unwrap()
    };
    let book = SecretBook::shared(secrets("new", "old"))
        .with_repository("acme/rocket".parse().unwrap(), secrets("own", "former"));
    let zen = digest(&book, "new", BODY);
    assert_eq!(digest(&book, "old", BODY), zen);
    assert_eq!(WebhookSecrets::new("new").unwrap().digest(BODY), zen);
    let own = br#"{"zen":"x","repository":{"full_name":"acme/rocket"}}"#;
    assert_eq!(digest(&book, "own", own), digest(&book, "former", own));
}

#[test]
fn digests_say_whether_they_can_be_compared() {
    let of = |secret: &str, body: &[u8]| WebhookSecrets::new(secret).unwrap().digest(body);
    let digest = of("one", b"a");
    for (other, comparable) in [
        (of("one", b"a"), true),
        (of("one", b"b"), true),
        (of("two", b"a"), false),
    ] {
        assert_eq!(digest.is_comparable_with(other.as_bytes()), comparable);
        assert_eq!(digest == other, other == of("one", b"a"));
    }
    let hex = sign("one", b"a").unwrap().hex().to_owned();
    assert_eq!(digest.to_string()[16..], hex[..48]);
}

#[test]
fn secrets_and_signatures_are_not_shown() {
    let secrets = WebhookSecrets::new("hunter2hunter2")
        .unwrap()
        .with_previous("older2")
        .unwrap();
    let book = SecretBook::shared(secrets.clone());
    let signature = sign("hunter2hunter2", BODY).unwrap();
    let shown = format!("{secrets:?} {book:?} {signature:?}");
    assert!(
        !shown.contains("hunter2") && !shown.contains("older2"),
        "{shown}"
    );
    assert!(!shown.contains(signature.hex()), "{shown}");
}

#[test]
fn errors_name_the_header_and_what_it_should_hold() {
    let hub = verify(&[("X-Hub-Signature-256", "nonsense")], BODY)
        .unwrap_err()
        .to_string();
    assert_eq!(
        hub,
        "X-Hub-Signature-256 is malformed; expected sha256= and 64 lower-case hexadecimal digits"
    );
    let bare = verify(&[("X-Gitea-Signature", "nonsense")], BODY)
        .unwrap_err()
        .to_string();
    assert_eq!(
        bare,
        "X-Gitea-Signature is malformed; expected exactly 64 lower-case hexadecimal digits"
    );
}

#[test]
fn a_verified_body_is_read() {
    let body = raw("gitea_push");
    let signature = sign(SECRET, &body).unwrap();
    let headers = headers(&[
        ("X-Gitea-Event", "push"),
        ("X-Gitea-Delivery", "3f0c1a52-7b1e-4b0c-9d53-0d5a2f7c1e11"),
        ("X-Gitea-Signature", signature.hex()),
    ]);
    let book = SecretBook::shared(secrets());
    let verified = book.verify(&headers, &body).unwrap();
    assert_eq!(verified.verified_by().secret, SecretAge::Current);
    let delivery = verified
        .delivery(&headers, ParseOptions::default())
        .unwrap();
    assert_eq!(delivery.id.as_str(), "3f0c1a52-7b1e-4b0c-9d53-0d5a2f7c1e11");
    assert_eq!(delivery.forge, Some(forge_core::Forge::Gitea));
    assert_eq!(delivery.event.name(), "push");
}
