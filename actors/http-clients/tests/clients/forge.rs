//! The forge client against the scripted forge.

use std::time::Duration;

use config_core::Secret;
use forge_core::{CommitSha, CommitState, CommitStatus, Forge, PullRequestNumber, RepoName};
use http_clients::forge::{ForgeClient, ForgeError, ForgeRefusal, Permission};
use http_clients::http::{HttpClient, HttpOptions};
use jiff::Timestamp;
use scripted_peers::{Failure, PlannedFailure, Pull, ScriptedForge};

use crate::common::options;

const SHA: &str = "0123456789abcdef0123456789abcdef01234567";
const BASE: &str = "89abcdef0123456789abcdef0123456789abcdef";

fn repo() -> RepoName {
    "acme/site".parse().unwrap()
}

fn sha() -> CommitSha {
    SHA.parse().unwrap()
}

fn status(state: CommitState, description: &str) -> CommitStatus {
    CommitStatus {
        context: "orch/build".parse().unwrap(),
        state,
        description: description.into(),
        target_url: Some("https://runs.example/1".into()),
    }
}

/// A forge with a repository, a commit, an issue and a pull request.
fn forge() -> ScriptedForge {
    let forge = ScriptedForge::start();
    forge.add_user("bot", "t-bot");
    forge.add_repo("acme/site");
    forge.add_commit("acme/site", SHA);
    forge.add_issue("acme/site", 1, "the door is stuck");
    forge.add_pull("acme/site", Pull::new(7, "ada", SHA, BASE));
    forge
}

fn client(forge: &ScriptedForge, kind: Forge) -> ForgeClient {
    let http = HttpClient::new(HttpOptions {
        deadline: Duration::from_secs(2),
        ..options()
    });
    let token = Some(Secret::new("t-bot".to_owned()));
    ForgeClient::new(http, kind, forge.url().parse().unwrap(), token)
}

const KINDS: [Forge; 3] = [Forge::Gitea, Forge::Forgejo, Forge::GitHub];

#[actix_rt::test]
async fn a_status_is_posted_and_read_on_every_forge() {
    for kind in KINDS {
        let forge = forge();
        let client = client(&forge, kind);
        for (state, text) in [
            (CommitState::Pending, "queued"),
            (CommitState::Success, "fine"),
        ] {
            let posted = client
                .post_status(&repo(), &sha(), &status(state, text))
                .await;
            assert_eq!(posted.unwrap().state, Some(state), "{kind:?}");
        }
        let latest = client.statuses(&repo(), &sha()).await.unwrap();
        assert_eq!(latest.len(), 1, "{kind:?}");
        assert_eq!(latest[0].state, Some(CommitState::Success));
        assert_eq!(latest[0].description, "fine");
        assert_eq!(forge.statuses("acme/site", SHA).len(), 2);
        let request = &forge.requests()[0];
        let scheme = if kind == Forge::GitHub {
            "Bearer"
        } else {
            "token"
        };
        assert_eq!(
            request.authorization.as_deref(),
            Some(&*format!("{scheme} t-bot"))
        );
        assert!(
            request
                .user_agent
                .as_deref()
                .unwrap()
                .starts_with("orrery/")
        );
    }
}

#[actix_rt::test]
async fn a_commit_the_forge_does_not_have_is_not_found() {
    for (kind, refusal) in [
        (Forge::Gitea, ForgeRefusal::NotFound),
        (Forge::GitHub, ForgeRefusal::Unprocessable),
    ] {
        let forge = forge();
        let unknown = "f".repeat(40).parse().unwrap();
        let posted = client(&forge, kind)
            .post_status(&repo(), &unknown, &status(CommitState::Pending, ""))
            .await;
        assert_eq!(posted.unwrap_err().refusal(), Some(refusal), "{kind:?}");
    }
}

#[actix_rt::test]
async fn o20_a_500_for_a_commit_that_is_there_stays_temporary() {
    let forge = forge();
    forge.plan(PlannedFailure::new(
        "POST",
        "/statuses/",
        1,
        Failure::Status(500, None),
    ));
    let client = client(&forge, Forge::Gitea);
    let pending = status(CommitState::Pending, "");
    let error = client
        .post_status(&repo(), &sha(), &pending)
        .await
        .unwrap_err();
    assert!(matches!(error, ForgeError::Transient { .. }), "{error:?}");
    client.post_status(&repo(), &sha(), &pending).await.unwrap();
}

#[actix_rt::test]
async fn o20_refusals_limits_and_hangs_have_their_class() {
    let forge = forge();
    let client = client(&forge, Forge::Gitea);
    let issue = 1.try_into().unwrap();
    let fail = |failure| forge.plan(PlannedFailure::new("POST", "/comments", 1, failure));
    fail(Failure::Status(401, None));
    fail(Failure::Status(403, None));
    fail(Failure::Status(404, None));
    fail(Failure::Status(422, None));
    fail(Failure::Status(429, Some(9)));
    fail(Failure::Status(503, Some(3)));
    fail(Failure::DoneThenCut);
    let mut classes = Vec::new();
    for _ in 0..7 {
        let error = client.post_comment(&repo(), issue, "x").await.unwrap_err();
        classes.push((
            error.refusal(),
            error.retry_after().map(|after| after.as_secs()),
        ));
    }
    assert_eq!(
        classes,
        [
            (Some(ForgeRefusal::Unauthorised), None),
            (Some(ForgeRefusal::Forbidden), None),
            (Some(ForgeRefusal::NotFound), None),
            (Some(ForgeRefusal::Unprocessable), None),
            (None, Some(9)),
            (None, Some(3)),
            (None, None),
        ]
    );
    fail(Failure::Hang(crate::common::LONG));
    let error = client.post_comment(&repo(), issue, "x").await.unwrap_err();
    assert!(matches!(error, ForgeError::Transient { .. }), "{error:?}");
}

#[actix_rt::test]
async fn reads_are_repeated_and_writes_are_not() {
    let forge = forge();
    let client = client(&forge, Forge::Gitea);
    forge.plan(PlannedFailure::new(
        "GET",
        "/user",
        2,
        Failure::Status(503, None),
    ));
    assert_eq!(client.whoami().await.unwrap().as_str(), "bot");
    assert_eq!(forge.requests().len(), 3);
    forge.plan(PlannedFailure::new(
        "POST",
        "/comments",
        1,
        Failure::Status(503, None),
    ));
    let posted = client
        .post_comment(&repo(), 1.try_into().unwrap(), "x")
        .await;
    assert!(posted.is_err());
    assert_eq!(forge.requests().len(), 4);
}

#[actix_rt::test]
async fn comments_are_written_changed_and_read_since_a_time() {
    for kind in KINDS {
        let forge = forge();
        let client = client(&forge, kind);
        let before = Timestamp::now() - jiff::SignedDuration::from_secs(60);
        let first = client
            .post_comment(&repo(), 1.try_into().unwrap(), "one")
            .await
            .unwrap();
        let second = client
            .post_comment(&repo(), 7.try_into().unwrap(), "two")
            .await
            .unwrap();
        assert_eq!(first.author.as_ref().unwrap().as_str(), "bot");
        forge.edit_comment("acme/site", first.id.get(), "uno");
        let all = client.comments_since(&repo(), before, 1).await.unwrap();
        let read: Vec<_> = all
            .items
            .iter()
            .map(|comment| {
                (
                    &*comment.body,
                    comment.issue.unwrap().get(),
                    comment.is_pull,
                )
            })
            .collect();
        assert_eq!(read, [("uno", 1, false), ("two", 7, true)], "{kind:?}");
        let of_seven = client
            .issue_comments(&repo(), 7.try_into().unwrap(), None)
            .await
            .unwrap();
        assert_eq!(of_seven.items, [second]);
        let later = Timestamp::now() + jiff::SignedDuration::from_secs(3600);
        assert!(
            client
                .comments_since(&repo(), later, 1)
                .await
                .unwrap()
                .items
                .is_empty()
        );
    }
}

#[actix_rt::test]
async fn long_lists_are_read_to_their_end() {
    for kind in KINDS {
        let forge = forge();
        for number in 0..120 {
            forge.add_comment("acme/site", 1, "ada", &format!("comment {number}"));
        }
        let (client, issue) = (client(&forge, kind), 1.try_into().unwrap());
        let listed = client.issue_comments(&repo(), issue, None).await.unwrap();
        assert_eq!((listed.items.len(), listed.more), (120, false), "{kind:?}");
        assert_eq!(forge.requests().len(), 3, "{kind:?}");
    }
}

#[actix_rt::test]
async fn pull_requests_are_listed_closed_and_opened_again() {
    for kind in KINDS {
        let forge = forge();
        let fork = Pull {
            head_repo: Some("eve/site".into()),
            ..Pull::new(8, "eve", &"a".repeat(40), BASE)
        };
        forge.add_pull("acme/site", fork);
        let client = client(&forge, kind);
        let open = client.open_pulls(&repo()).await.unwrap().items;
        let seen: Vec<_> = open
            .iter()
            .map(|pull| (pull.number.get(), pull.is_fork))
            .collect();
        assert_eq!(seen, [(7, false), (8, true)], "{kind:?}");
        assert_eq!(open[0].head_sha, sha());
        assert_eq!(open[0].base_branch.as_str(), "main");
        let number = PullRequestNumber::try_from(7).unwrap();
        for is_open in [false, true] {
            forge.change_pull("acme/site", 7, |pull| pull.open = is_open);
            let pull = client.pull(&repo(), number).await.unwrap();
            assert_eq!(pull.is_open, is_open, "{kind:?}");
        }
    }
}

#[actix_rt::test]
async fn permissions_are_asked_for() {
    let forge = forge();
    forge.set_permission("acme/site", "ada", "write");
    let client = client(&forge, Forge::Gitea);
    for (user, expected) in [("ada", Permission::Write), ("mallory", Permission::None)] {
        let user = user.parse().unwrap();
        assert_eq!(client.permission(&repo(), &user).await.unwrap(), expected);
    }
    let other = "acme/gone".parse().unwrap();
    let gone = client
        .permission(&other, &"ada".parse().unwrap())
        .await
        .unwrap();
    assert_eq!(gone, Permission::None);
}

#[actix_rt::test]
async fn v7_an_old_gitea_that_does_not_know_the_question_is_no_stranger() {
    let forge = forge();
    forge.set_old();
    let user = "ada".parse().unwrap();
    let error = client(&forge, Forge::Gitea)
        .permission(&repo(), &user)
        .await
        .unwrap_err();
    assert_eq!(error.refusal(), Some(ForgeRefusal::TooOld));
    assert!(error.to_string().contains("Gitea 1.15.11"), "{error}");
    assert!(error.to_string().contains("1.17"), "{error}");
}

#[actix_rt::test]
async fn a_wrong_token_is_unauthorised() {
    let forge = forge();
    let client = client(&forge, Forge::Gitea).with_token(Secret::new("stolen".into()));
    let error = client.whoami().await.unwrap_err();
    assert_eq!(error.refusal(), Some(ForgeRefusal::Unauthorised));
    assert!(!format!("{error} {error:?}").contains("stolen"));
}

#[actix_rt::test]
async fn v13_a_hook_is_registered_once_with_the_secret_of_now() {
    use http_clients::forge::{HookChange, HookEvent, HookSpec};
    for kind in KINDS {
        let forge = forge();
        let client = client(&forge, kind);
        let mut wanted = HookSpec {
            url: "https://ci.example/webhook".parse().unwrap(),
            secret: Secret::new("first".to_owned()),
            events: vec![HookEvent::PullRequest, HookEvent::IssueComment],
        };
        let other = HookSpec {
            url: "https://other.example/webhook".parse().unwrap(),
            ..wanted.clone()
        };
        client.create_hook(&repo(), &other).await.unwrap();
        let (_, change) = client.ensure_hook(&repo(), &wanted).await.unwrap();
        assert_eq!(change, HookChange::Created, "{kind:?}");
        wanted.secret = Secret::new("second".to_owned());
        let (hook, change) = client.ensure_hook(&repo(), &wanted).await.unwrap();
        assert_eq!(change, HookChange::Updated, "{kind:?}");
        assert_eq!(client.hooks(&repo()).await.unwrap().items.len(), 2);
        client.test_hook(&repo(), hook.id).await.unwrap();
        let hooks = forge.hooks("acme/site");
        let [other, own] = &hooks[..] else {
            panic!("{kind:?}: {hooks:?}");
        };
        assert_eq!(other.url, "https://other.example/webhook");
        assert_eq!((own.id, own.tests, own.active), (hook.id, 1, true));
        assert_eq!((&*own.secret, &*own.content_type), ("second", "json"));
        assert_eq!(own.events, ["pull_request", "issue_comment"]);
    }
}
