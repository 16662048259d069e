//! Rounds of actors: the first when it was said, one at a time, and none after the actor's end.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use actix::prelude::{Actor, Context};
use supervision::{ChildSpec, FirstRound, Root, start_paced_rounds, start_rounds};

use crate::common::{root, run, stop};

const SHORT: Duration = Duration::from_millis(1);
const LONG: Duration = Duration::from_secs(3600);

/// How many rounds of each kind there were.
#[derive(Clone, Default)]
struct Counts {
    at_once: Arc<AtomicUsize>,
    after_interval: Arc<AtomicUsize>,
    short: Arc<AtomicUsize>,
    at_work: Arc<AtomicUsize>,
    paced: Arc<AtomicUsize>,
}

impl Actor for Counts {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        let count = |counter: &Arc<AtomicUsize>| {
            let counter = Arc::clone(counter);
            async move || {
                counter.fetch_add(1, Ordering::SeqCst);
            }
        };
        start_rounds(ctx, (FirstRound::AtOnce, LONG), count(&self.at_once));
        let late = count(&self.after_interval);
        start_rounds(ctx, (FirstRound::AfterInterval, LONG), late);
        let (short, at_work) = (Arc::clone(&self.short), Arc::clone(&self.at_work));
        let slow = async move || {
            assert_eq!(at_work.fetch_add(1, Ordering::SeqCst), 0, "one at a time");
            tokio::time::sleep(5 * SHORT).await;
            at_work.fetch_sub(1, Ordering::SeqCst);
            short.fetch_add(1, Ordering::SeqCst);
        };
        start_rounds(ctx, (FirstRound::AfterInterval, SHORT), slow);
        let paced = Arc::clone(&self.paced);
        start_paced_rounds(ctx, async move || {
            match paced.fetch_add(1, Ordering::SeqCst) {
                0 | 1 => SHORT,
                _ => LONG,
            }
        });
    }
}

#[test]
fn i14_rounds_begin_when_it_was_said_and_end_with_the_actor() {
    run(async {
        let counts = Counts::default();
        let spec = ChildSpec::new("counts", {
            let counts = counts.clone();
            move |_| counts.clone()
        });
        let tree = Root::start(root().child(spec));
        let count = |counter: &AtomicUsize| counter.load(Ordering::SeqCst);
        while count(&counts.short) < 10 || count(&counts.paced) < 3 {
            tokio::time::sleep(SHORT).await;
        }
        assert_eq!(count(&counts.at_once), 1);
        assert_eq!(count(&counts.after_interval), 0);
        assert_eq!(count(&counts.paced), 3);
        stop(tree).await;
        let at_the_end = count(&counts.short);
        tokio::time::sleep(20 * SHORT).await;
        assert_eq!(count(&counts.short), at_the_end);
    });
}
