//! Comments: each is posted once, whatever became of an attempt.

use std::time::Duration;

use forge_actors::outbox::EntryState;
use scripted_peers::{Failure, PlannedFailure};

use crate::common::{LONG, REPO, World, clock, forge, open, test};

fn fails(times: u32, failure: Failure) -> PlannedFailure {
    PlannedFailure::new("POST", "/comments", times, failure)
}

fn bodies(world: &World) -> Vec<String> {
    let first_line = |body: String| body.lines().next().unwrap_or_default().to_owned();
    let comments = world.forge.comments(REPO, 1).into_iter();
    comments.map(|comment| first_line(comment.body)).collect()
}

#[test]
fn comments_of_an_issue_are_posted_in_order() {
    test(async || {
        let world = World::new();
        for number in 0..5 {
            world
                .comment(&format!("r{number}"), &format!("text {number}"))
                .await;
        }
        world.quiet().await;
        let expected: Vec<_> = (0..5).map(|number| format!("text {number}")).collect();
        assert_eq!(bodies(&world), expected);
        assert_eq!(world.forge.comments(REPO, 1)[0].author, "build");
    });
}

#[test]
fn an_attempt_with_an_unknown_end_is_looked_up_before_another() {
    for failure in [
        Failure::DoneBut(502),
        Failure::DoneThenCut,
        Failure::DoneThenHang(LONG),
    ] {
        test(async || {
            let world = World::new();
            world.forge.plan(fails(1, failure.clone()));
            world.comment("r1", "only once").await;
            world.entry(|entry| entry.state == EntryState::Posted).await;
            assert_eq!(bodies(&world), ["only once"], "{failure:?}");
        });
    }
}

#[test]
fn an_attempt_that_never_arrived_is_repeated() {
    for failure in [Failure::Status(502, None), Failure::Hang(LONG)] {
        test(async || {
            let world = World::new();
            world.forge.plan(fails(2, failure.clone()));
            world.comment("r1", "only once").await;
            world.entry(|entry| entry.state == EntryState::Posted).await;
            assert_eq!(bodies(&world), ["only once"], "{failure:?}");
        });
    }
}

#[test]
fn a_crash_in_the_middle_of_an_attempt_posts_nothing_twice() {
    let folder = tempfile::tempdir().unwrap();
    let forge = std::cell::RefCell::new(None);
    // The forge lives on while the program is started anew.
    test(async || {
        let store = open(folder.path());
        let world = World::with(self::forge(), store.clone(), clock());
        world.forge.plan(fails(1, Failure::DoneThenHang(LONG)));
        world.comment("r1", "only once").await;
        let arrived = world
            .forge
            .wait_until(|forge| !forge.comments(REPO, 1).is_empty());
        tokio::time::timeout(LONG, arrived).await.unwrap();
        // The program ends before it hears of it.
        store.close();
        let left = world.forge.comments(REPO, 1);
        *forge.borrow_mut() = Some(left);
    });
    test(async || {
        let again = self::forge();
        for comment in forge.take().unwrap() {
            again.add_comment(REPO, 1, &comment.author, &comment.body);
        }
        // Its clock was set back meanwhile.
        let (now, back) = (clock(), 3_000);
        let set_back = std::sync::Arc::new(move || now() - back);
        let world = World::with(again, open(folder.path()), set_back);
        world.outbox_worker.ready().await;
        world.entry(|entry| entry.state == EntryState::Posted).await;
        assert_eq!(bodies(&world), ["only once"]);
    });
}

/// Waits until nothing more is to be done about a comment, and gives what stands at the issue.
async fn settled(world: &World) -> Vec<String> {
    world
        .entry(|entry| entry.state == EntryState::Posted && entry.due_at.is_none())
        .await;
    bodies(world)
}

/// The clock here is 100 times as fast; calls are given up after 0.4 s, which stand for 20 s or
/// more.
#[test]
fn u6_a_forge_that_was_frozen_has_the_comment_once() {
    // Goes on before the first look, between the two, and after the second attempt.
    for frozen in [500, 900, 1_300, 1_700] {
        test(async || {
            let world = World::new();
            let frozen = Duration::from_millis(frozen);
            world.forge.plan(fails(1, Failure::DoneAfter(frozen)));
            world.comment("r1", "only once").await;
            assert_eq!(settled(&world).await, ["only once"], "{frozen:?}");
        });
    }
}

#[test]
fn u6_two_attempts_that_were_held_up_leave_one_comment() {
    test(async || {
        let world = World::new();
        let plan = |millis| fails(1, Failure::DoneAfter(Duration::from_millis(millis)));
        world.forge.plan(plan(2_500));
        world.forge.plan(plan(600));
        world.comment("r1", "only once").await;
        assert_eq!(settled(&world).await, ["only once"]);
        let posts = world.forge.requests().into_iter();
        let posts = posts.filter(|request| request.method == "POST").count();
        assert_eq!(
            posts, 2,
            "the first was doubted long enough, and no third was made"
        );
    });
}

#[test]
fn u6_a_slow_and_erring_forge_has_every_comment_once() {
    test(async || {
        let world = World::new();
        let kinds = [
            Failure::DoneAfter(Duration::from_millis(700)),
            Failure::DoneBut(502),
            Failure::DoneThenCut,
            Failure::Status(503, None),
            Failure::Hang(LONG),
            Failure::DoneAfter(Duration::from_millis(420)),
        ];
        for failure in kinds.iter().cycle().take(12) {
            world.forge.plan(fails(1, failure.clone()));
        }
        let mut expected = Vec::new();
        for number in 10..22 {
            let text = format!("text {number}");
            world.comment(&format!("r{number}"), &text).await;
            expected.push(text);
        }
        let quiet = async {
            let busy = |entry: &forge_actors::outbox::OutboxEntry| entry.due_at.is_some();
            while world.entries().iter().any(busy) {
                actix_rt::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(LONG * 2, quiet).await.unwrap();
        let mut found = bodies(&world);
        found.sort();
        assert_eq!(found, expected);
    });
}

#[test]
fn u6_a_copy_by_somebody_else_is_neither_taken_for_ours_nor_removed() {
    test(async || {
        let world = World::new();
        world.forge.plan(fails(1, Failure::Hang(LONG)));
        let marker = forge_core::Marker {
            run: crate::common::run("r1"),
            depth: 1,
        };
        world
            .forge
            .add_comment(REPO, 1, "eve", &marker.attach("only once"));
        world.comment("r1", "only once").await;
        assert_eq!(settled(&world).await, ["only once", "only once"]);
        let authors = world.forge.comments(REPO, 1).into_iter();
        let authors: Vec<String> = authors.map(|comment| comment.author).collect();
        assert_eq!(authors, ["eve", "build"]);
    });
}

/// A forge that is not reached at all has nothing: the next attempt does not wait to see.
#[test]
fn u6_what_never_left_this_machine_is_not_doubted() {
    use forge_actors::outbox::{self, AttemptFailure, PostRetryDecision, PostTask};
    use http_clients::forge::ForgeError;
    test(async || {
        let world = World::new();
        world
            .forge
            .plan(fails(u32::MAX, Failure::Status(429, Some(9))));
        world.comment("r1", "only once").await;
        world.entry(|entry| entry.attempts > 0).await;
        let now = world.now() + 3_600_000;
        let work = world.store.read_blocking(|rows| outbox::due(rows, now, 1));
        let work = work.unwrap().remove(0);
        assert!(
            matches!(&work, PostTask::Comment { delivery, .. } if !delivery.uncertain && delivery.sent == 0),
            "{work:?}"
        );
        let settle = Duration::from_secs(30);
        let failed = |sent| AttemptFailure {
            error: ForgeError::Transient {
                reason: "x".into(),
                after: None,
                sent,
            },
            sending: true,
        };
        for sent in [false, true] {
            let (work, failed) = (work.clone(), failed(sent));
            let next = world.store.write_blocking(move |rows| {
                outbox::record_failure(rows, &work, &failed, settle, now, 0.0)
            });
            let PostRetryDecision::Again(delay) = next.unwrap() else {
                panic!("it is tried again");
            };
            assert_eq!(delay >= settle, sent, "{delay:?}");
        }
    });
}

#[test]
fn an_account_that_is_not_there_is_told_and_waits() {
    use forge_actors::outbox::{self, NewComment};
    test(async || {
        let world = World::new();
        let comment = NewComment {
            key: "r1".into(),
            account: "nobody".into(),
            repo: crate::common::repo(),
            issue: 1.try_into().unwrap(),
            body: "x".into(),
        };
        let now = world.now();
        let written = world
            .store
            .write(move |rows| outbox::comment(rows, &comment, now));
        written.await.unwrap();
        world.outbox_worker.ready().await;
        world
            .outbox_worker
            .tell(forge_actors::messages::Wake)
            .unwrap();
        let waiting = world.entry(|entry| entry.attempts > 0).await;
        assert!(waiting.failure.unwrap().contains("no account nobody"));
        assert_eq!(waiting.state, EntryState::Waiting);
    });
}
