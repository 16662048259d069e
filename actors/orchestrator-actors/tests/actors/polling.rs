//! What a poll finds, and what it says.

use orchestrator_core::admin::WebhookOutcome;
use scripted_peers::{Failure, PlannedFailure, Pull};

use crate::world::{
    FAN_OUT, MENTIONS, REPO, Site, comment, first_poll, pull, sha, system_now, test,
};

/// 2,300 comments were written while nobody listened; the one at the 2,100th place counts as well.
#[test]
fn u3_no_mention_among_thousands_of_comments_is_lost() {
    test(async || {
        let site = Site::new("[mentions]\nmax_per_issue_per_hour = 100\n");
        let world = first_poll(&site).await;
        let start = system_now() / 1000;
        let mentions = [7, 1_999, 2_000, 2_099, 2_299];
        for number in 0..2_300 {
            let asks = mentions.contains(&number);
            let body = if asks { "@orch:dev look" } else { "I agree" };
            // Several in the same second.
            site.forge
                .add_comment_at(REPO, 1, "ada", body, start + number / 4);
        }
        site.later(4_000);
        world.poll().await;
        assert_eq!(world.runs().await.len(), mentions.len());
        let asked = site.forge.requests().len();
        world.poll().await;
        assert_eq!(world.runs().await.len(), mentions.len(), "and none twice");
        let again = site.forge.requests().len() - asked;
        assert!(again < 20, "the cursor has moved: {again} calls");
        world.stop().await;
    });
}

fn refused() -> PlannedFailure {
    PlannedFailure::new("GET", "/issues/comments", 1, Failure::Status(403, None))
}

/// A poll that is cut off goes on from where it was, and never behind what it did not read.
#[test]
fn u3_a_poll_that_fails_between_two_pages_loses_nothing() {
    test(async || {
        let site = Site::new("[mentions]\nmax_per_issue_per_hour = 100\n");
        let world = first_poll(&site).await;
        let start = system_now() / 1000;
        for number in 0..400 {
            let body = if number % 40 == 39 { "@orch:dev" } else { "hm" };
            site.forge
                .add_comment_at(REPO, 1, "ada", body, start + number);
        }
        site.later(4_000);
        let mut world = world;
        for round in 0..12 {
            // Some pages come, the next does not.
            site.forge.plan_after(round % 3, refused());
            world.poll().await;
            site.forge.plan_nothing();
            // A new life knows no more than the store.
            world.stop().await;
            world = site.start();
            world.ready().await;
        }
        world.poll().await;
        assert_eq!(world.runs().await.len(), 10);
        world.stop().await;
    });
}

/// A comment that is deleted while pages are read moves the others forward; none of them is passed
/// over.
#[test]
fn u3_the_cursor_is_the_time_of_what_was_read() {
    test(async || {
        let site = Site::new(MENTIONS);
        let world = first_poll(&site).await;
        let start = system_now() / 1000;
        site.forge
            .add_comment_at(REPO, 1, "ada", "first", start + 10);
        site.later(3_600);
        world.poll().await;
        // The forge's clock is behind ours by an hour: what it says next is still after the cursor.
        site.forge
            .add_comment_at(REPO, 1, "ada", "@orch:dev", start + 20);
        world.poll().await;
        assert_eq!(world.runs().await.len(), 1);
        world.stop().await;
    });
}

/// A webhook and a poll that tell of the same comment decide the same.
#[test]
fn v6_a_poll_decides_as_the_webhook_would_have() {
    test(async || {
        let site = Site::new(MENTIONS);
        let world = first_poll(&site).await;
        let now = system_now() / 1000;
        // Seen by a webhook without a mention, then changed: an edit starts nothing.
        let seen = site.forge.add_comment(REPO, 1, "ada", "nothing yet");
        let reply = world.hook(&comment(seen, "nothing yet")).await;
        assert_eq!(reply.reason.as_deref(), Some("no_mention"));
        // Seen by a poll, then changed.
        let polled = site.forge.add_comment(REPO, 1, "ada", "nothing yet");
        world.poll().await;
        for id in [seen, polled] {
            site.forge.edit_comment(REPO, id, "@orch:dev now");
        }
        world.poll().await;
        assert_eq!(world.runs().await.len(), 0, "edits");
        // A closed issue refuses, whoever tells of it.
        site.forge.add_issue(REPO, 2, "done");
        site.forge.close_issue(REPO, 2, now - 100);
        site.forge.add_comment(REPO, 2, "ada", "@orch:dev again");
        world.poll().await;
        let runs = world.runs().await;
        assert_eq!(runs[0].reason.as_deref(), Some("issue_closed"), "{runs:?}");
        // One that was closed after the comment was open when a webhook would have come.
        site.forge.add_issue(REPO, 4, "closing soon");
        site.forge
            .add_comment_at(REPO, 4, "ada", "@orch:dev quick", now + 5);
        site.forge.close_issue(REPO, 4, now + 5);
        world.poll().await;
        let runs = world.runs().await;
        assert_eq!(
            (runs.len(), runs[0].reason.as_deref()),
            (2, None),
            "{runs:?}"
        );
        world.stop().await;
    });
}

#[test]
fn y12_polls_say_nothing_of_what_is_known() {
    test(async || {
        let site = Site::new(FAN_OUT);
        let world = first_poll(&site).await;
        let mut open = Pull::new(3, "ada", &sha(1), &sha(9));
        open.head_branch = "topic".into();
        site.forge.add_pull(REPO, open);
        site.forge.add_comment(REPO, 1, "ada", "@orch:dev");
        // Its own account starts nothing.
        site.forge.add_comment(REPO, 1, "orch-bot", "@orch:dev");
        for _ in 0..5 {
            world.poll().await;
        }
        let journal = world.journal().await;
        let hits = journal.iter().filter(|entry| entry.event == "dedup.hit");
        assert_eq!(hits.count(), 0, "{journal:?}");
        assert_eq!(world.runs().await.len(), 2);
        // A webhook that comes twice is worth a word.
        let reply = world.hook(&pull("synchronized", &sha(1))).await;
        assert_eq!(reply.outcome, WebhookOutcome::Duplicate);
        assert_eq!(reply.reason.as_deref(), Some("duplicate"));
        let journal = world.journal().await;
        assert_eq!(journal.last().unwrap().event, "dedup.hit");
        world.stop().await;
    });
}

/// A pull request was opened while a new orchestrator asked for the first time: the poll took it
/// for an old one, and its webhook, which came later, for a repetition.
#[test]
fn i18_a_webhook_under_way_at_the_first_poll_starts_its_runs() {
    test(async || {
        let site = Site::new(FAN_OUT);
        let mut open = Pull::new(3, "ada", &sha(1), &sha(9));
        open.head_branch = "topic".into();
        site.forge.add_pull(REPO, open);
        let world = first_poll(&site).await;
        for _ in 0..3 {
            world.poll().await;
        }
        assert!(
            world.runs().await.is_empty(),
            "what was there starts nothing"
        );
        let reply = world.hook(&pull("opened", &sha(1))).await;
        assert_eq!(reply.outcome, WebhookOutcome::Accepted, "{reply:?}");
        let started = world.runs().await.len();
        assert!(started > 0);
        world.poll().await;
        let mut again = pull("opened", &sha(1));
        again["pull_request"]["title"] = "told again".into();
        let reply = world.hook(&again).await;
        assert_eq!(reply.outcome, WebhookOutcome::Duplicate, "{reply:?}");
        assert_eq!(world.runs().await.len(), started, "once");
        world.stop().await;
    });
}
