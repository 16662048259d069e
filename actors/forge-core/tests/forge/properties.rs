//! Laws that hold for every input.

use forge_core::mention::{ScanLimits, neutralise_mentions, scan};
use forge_core::{
    AgentName, BranchName, CommitSha, GitRef, Login, Marker, ObjectFormats, ProjectId, RepoName,
    RunId, StatusContext, WebhookHeaders, WebhookSecrets, sign, text,
};
use proptest::prelude::*;

use crate::support::{delivery, event_header, headers, raw};

const PAYLOADS: [&str; 11] = [
    "github_push",
    "github_pull_request",
    "github_issue_comment",
    "github_ping",
    "gitea_push",
    "gitea_pull_request",
    "gitea_pull_request_comment",
    "forgejo_pull_request_closed",
    "forgejo_issue_comment",
    "interface_runner",
    "interface_mention",
];

const EVENTS: [&str; 5] = ["push", "pull_request", "issue_comment", "ping", "release"];

/// Text that is likely to come near the mention grammar.
fn near_mentions() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "@orch:[a-z/-]{0,12}",
        1 => Just("`".to_owned()),
        1 => Just("```\n".to_owned()),
        1 => Just("\n> ".to_owned()),
        1 => Just("<!--".to_owned()),
        1 => Just("-->".to_owned()),
        1 => Just("<details>\n".to_owned()),
        1 => Just("\n\n    ".to_owned()),
        2 => "\\PC{0,6}",
        1 => "[ \n\\\\*_@&;]{1,3}",
    ];
    prop::collection::vec(piece, 0..20).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn a_signed_body_verifies(secret in "[^\\s]{1,80}", body: Vec<u8>) {
        let signature = sign(&secret, &body).unwrap();
        let secrets = WebhookSecrets::new(&secret).unwrap();
        for list in [("X-Hub-Signature-256", signature.hub()), ("X-Gitea-Signature", signature.hex().to_owned())] {
            prop_assert!(secrets.verify(&headers(&[(list.0, &list.1)]), &body).is_ok());
        }
    }

    #[test]
    fn a_changed_body_never_verifies(body in prop::collection::vec(any::<u8>(), 1..200), at: prop::sample::Index, flip in 1_u8..) {
        let signature = sign("secret", &body).unwrap().hub();
        let mut changed = body;
        let at = at.index(changed.len());
        changed[at] ^= flip;
        let secrets = WebhookSecrets::new("secret").unwrap();
        prop_assert!(secrets.verify(&headers(&[("X-Hub-Signature-256", &signature)]), &changed).is_err());
    }

    #[test]
    fn a_changed_signature_never_verifies(at in 0_usize..71, byte: u8) {
        let body = b"a body";
        let mut header = sign("secret", body).unwrap().hub().into_bytes();
        prop_assume!(header[at] != byte);
        header[at] = byte;
        let headers = WebhookHeaders::collect([("X-Hub-Signature-256", header.as_slice())]);
        prop_assert!(WebhookSecrets::new("secret").unwrap().verify(&headers, body).is_err());
    }

    #[test]
    fn another_secret_never_verifies(right in "[^\\s]{1,40}", wrong in "[^\\s]{1,40}") {
        // HMAC pads short keys with zeros and so takes these as the same key.
        prop_assume!(right.trim_end_matches('\0') != wrong.trim_end_matches('\0'));
        let hub = sign(&right, b"a body").unwrap().hub();
        let secrets = WebhookSecrets::new(&wrong).unwrap();
        prop_assert!(secrets.verify(&headers(&[("X-Hub-Signature-256", &hub)]), b"a body").is_err());
    }

    #[test]
    fn any_bytes_are_an_event_or_an_error(event in prop::sample::select(&EVENTS[..]), body: Vec<u8>) {
        let _ = delivery(&event_header(event), &body);
    }

    #[test]
    fn a_damaged_payload_is_an_event_or_an_error(
        name in prop::sample::select(&PAYLOADS[..]),
        declared in prop::option::of(prop::sample::select(&EVENTS[..])),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        cut: prop::sample::Index,
    ) {
        let mut body = raw(name);
        for (at, byte) in damage {
            let at = at.index(body.len());
            body[at] = byte;
        }
        body.truncate(cut.index(body.len() * 2));
        let headers = declared.map_or_else(WebhookHeaders::default, event_header);
        if let Err(error) = delivery(&headers, &body) {
            prop_assert!(error.to_string().len() < 1000);
        }
    }

    #[test]
    fn any_header_values_are_read_or_refused(values in prop::collection::vec(any::<Vec<u8>>(), 4)) {
        let names = ["X-GitHub-Event", "X-Gitea-Event-Type", "X-Gogs-Delivery", "X-Hub-Signature-256"];
        let headers = WebhookHeaders::collect(names.into_iter().zip(values.iter().map(Vec::as_slice)));
        let _ = (headers.event(), headers.event_type(), headers.delivery_id());
        prop_assert!(WebhookSecrets::new("x").unwrap().verify(&headers, b"").is_err());
    }

    #[test]
    fn mentions_are_where_they_say(comment in near_mentions()) {
        let limits = ScanLimits { mentions: 3, line_bytes: 20 };
        let mentions = scan(&comment, limits);
        prop_assert!(mentions.found.len() <= limits.mentions);
        for mention in &mentions.found {
            let project = mention.project.as_ref().map(|project| format!("{project}/"));
            let written = format!("@orch:{}{}", project.unwrap_or_default(), mention.agent);
            prop_assert_eq!(&comment[mention.range.clone()], written);
            prop_assert!(mention.rest_of_line.len() <= limits.line_bytes);
        }
    }

    #[test]
    fn neutralised_text_mentions_nobody(comment in near_mentions()) {
        let neutral = neutralise_mentions(&comment);
        prop_assert!(scan(&neutral, ScanLimits::default()).found.is_empty());
        let again = neutralise_mentions(&neutral);
        prop_assert_eq!(again, neutral);
    }

    #[test]
    fn a_quoted_or_fenced_comment_mentions_nobody(words in "[a-z@:/ -]{0,40}") {
        let quoted = format!("> {words} @orch:developer");
        let fenced = format!("```\n{words} @orch:developer\n```");
        prop_assert!(scan(&quoted, ScanLimits::default()).found.is_empty());
        prop_assert!(scan(&fenced, ScanLimits::default()).found.is_empty());
    }

    #[test]
    fn a_mark_is_found_in_what_is_posted(output in near_mentions(), run in "[a-z0-9]{1,20}", depth: u16) {
        let mark = Marker { run: run.parse().unwrap(), depth };
        prop_assert_eq!(Marker::find(&mark.attach(&output)), Some(mark));
    }

    #[test]
    fn ids_survive_display_and_json(
        agent in "[a-z][a-z0-9-]{1,39}",
        project in "[a-z0-9][a-z0-9_-]{0,39}",
        sha in "[0-9a-f]{39}[1-9a-f]",
        repo in "[A-Za-z0-9_]{1,20}/[A-Za-z0-9_]{1,20}",
    ) {
        macro_rules! survives {
            ($kind:ty, $text:expr) => {{
                let id: $kind = $text.parse().unwrap();
                prop_assert_eq!(id.as_str(), &*$text);
                let json = serde_json::to_string(&id).unwrap();
                prop_assert_eq!(serde_json::from_str::<$kind>(&json).unwrap(), id);
            }};
        }
        survives!(AgentName, agent);
        survives!(ProjectId, project);
        survives!(CommitSha, sha);
        survives!(RepoName, repo);
    }

    #[test]
    fn any_text_is_an_id_or_an_error(text in "\\PC{0,80}") {
        let _ = (text.parse::<AgentName>(), text.parse::<ProjectId>(), text.parse::<RunId>());
        let _ = (text.parse::<Login>(), text.parse::<BranchName>(), text.parse::<StatusContext>());
        if let Ok(reference) = text.parse::<GitRef>() {
            prop_assert_eq!(reference.to_string(), &*text);
        }
        if let Ok(name) = text.parse::<RepoName>() {
            prop_assert!(!name.as_str().contains(".."));
        }
        let _ = CommitSha::parse(&text, ObjectFormats::Sha1AndSha256);
    }

    #[test]
    fn cut_text_fits(text in "\\PC{0,60}", limit in 0_usize..70) {
        prop_assert!(text.starts_with(text::truncate(&text, limit)));
        prop_assert!(text::truncate(&text, limit).len() <= limit);
        prop_assert!(text::shorten(&text, limit).len() <= limit);
        prop_assert!(text::one_line(&text, limit).chars().count() <= limit);
    }
}
