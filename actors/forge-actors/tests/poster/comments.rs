//! Comments: each is posted once, whatever became of an attempt.

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
        world.poster.ready().await;
        world.entry(|entry| entry.state == EntryState::Posted).await;
        assert_eq!(bodies(&world), ["only once"]);
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
        world.poster.ready().await;
        world.poster.tell(forge_actors::messages::Wake).unwrap();
        let waiting = world.entry(|entry| entry.attempts > 0).await;
        assert!(waiting.failure.unwrap().contains("no account nobody"));
        assert_eq!(waiting.state, EntryState::Waiting);
    });
}
