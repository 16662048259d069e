//! The price of supervision: messages per second between two actors through child references
//! against plain actix addresses, and how long a restart takes.
//!
//! Each pattern runs both ways in turn, round after round, in one process; the figures are medians
//! of the rounds, and the price is the median of the rounds' own ratios, so that a machine that
//! is busy for a while weighs on both sides.
//!
//! `cargo bench -p supervision --bench messages [-- --json]`

use std::{
    fmt::Write as _,
    future::Future,
    io::Write as _,
    time::{Duration, Instant},
};

use actix::prelude::{Actor, Addr, Arbiter, Context, Handler, Message, ResponseFuture, System};
use futures_util::{StreamExt, stream};
use serde::Serialize;
use supervision::{
    ChildRef, ChildSpec, PastLimit, Pings, RestartPolicy, Root, SupervisorSpec, ThreadPlacement,
};

const ROUNDS: usize = 21;
const MESSAGES: u64 = 60_000;
const WINDOW: usize = 64;
const RESTARTS: u64 = 200;

/// The actor that is asked.
#[derive(Default)]
struct Echo {
    sent: u64,
}

impl Actor for Echo {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        // Plain addresses are given the same depth as the reference, so that neither side waits
        // for room.
        ctx.set_mailbox_capacity(2 * MESSAGES as usize);
    }
}

#[derive(Message)]
#[rtype(u64)]
struct Say(u64);

impl Handler<Say> for Echo {
    type Result = u64;

    fn handle(&mut self, Say(number): Say, _: &mut Context<Self>) -> u64 {
        number + 1
    }
}

#[derive(Message)]
#[rtype(result = "()")]
struct Hear;

impl Handler<Hear> for Echo {
    type Result = ();

    fn handle(&mut self, _: Hear, _: &mut Context<Self>) {
        self.sent += 1;
    }
}

#[derive(Message)]
#[rtype(result = "()")]
struct Panic;

impl Handler<Panic> for Echo {
    type Result = ();

    fn handle(&mut self, _: Panic, _: &mut Context<Self>) {
        panic!("planned");
    }
}

/// The actor that asks: holds both ways to its peer.
struct Driver {
    plain: Addr<Echo>,
    child: ChildRef<Echo>,
}

impl Actor for Driver {
    type Context = Context<Self>;
}

/// How messages are exchanged.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "snake_case")]
enum Pattern {
    /// One question at a time.
    Ask,
    /// Always 64 questions on their way.
    AskWindow,
    /// Messages without a reply in groups of 64, then one question to see them handled.
    Tell,
}

#[derive(Message)]
#[rtype(result = "Duration")]
struct Drive {
    pattern: Pattern,
    supervised: bool,
}

impl Handler<Drive> for Driver {
    type Result = ResponseFuture<Duration>;

    fn handle(&mut self, drive: Drive, _: &mut Context<Self>) -> Self::Result {
        let (plain, child) = (self.plain.clone(), self.child.clone());
        Box::pin(async move {
            let begun = Instant::now();
            match drive.supervised {
                true => supervised(drive.pattern, &child).await,
                false => unsupervised(drive.pattern, &plain).await,
            }
            begun.elapsed()
        })
    }
}

async fn supervised(pattern: Pattern, child: &ChildRef<Echo>) {
    let ask = |n| async move { child.ask(Say(n)).await.expect("the child runs") };
    match pattern {
        Pattern::Ask => one_by_one(ask).await,
        Pattern::AskWindow => window(ask).await,
        Pattern::Tell => {
            for group in 0..MESSAGES / WINDOW as u64 {
                (1..WINDOW).for_each(|_| child.tell(Hear).expect("the child runs"));
                ask(group).await;
            }
        }
    }
}

async fn unsupervised(pattern: Pattern, plain: &Addr<Echo>) {
    let ask = |n| async move { plain.send(Say(n)).await.expect("the actor runs") };
    match pattern {
        Pattern::Ask => one_by_one(ask).await,
        Pattern::AskWindow => window(ask).await,
        Pattern::Tell => {
            for group in 0..MESSAGES / WINDOW as u64 {
                (1..WINDOW).for_each(|_| plain.do_send(Hear));
                ask(group).await;
            }
        }
    }
}

async fn one_by_one<F: Future<Output = u64>>(ask: impl Fn(u64) -> F) {
    for number in 0..MESSAGES {
        assert_eq!(ask(number).await, number + 1);
    }
}

async fn window<F: Future<Output = u64>>(ask: impl Fn(u64) -> F) {
    let replies = stream::iter(0..MESSAGES)
        .map(ask)
        .buffer_unordered(WINDOW)
        .count()
        .await;
    assert_eq!(replies as u64, MESSAGES);
}

/// One line of the table.
#[derive(Serialize)]
struct Line {
    pattern: Pattern,
    across_arbiters: bool,
    plain_per_s: f64,
    supervised_per_s: f64,
    /// Supervised messages per second as a share of plain ones.
    ratio: f64,
}

#[derive(Serialize)]
struct Report {
    benchmark: &'static str,
    rounds: usize,
    messages_per_round: u64,
    lines: Vec<Line>,
    restart_p50_us: f64,
    restart_p99_us: f64,
    load_average: String,
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

async fn compare(across: bool) -> Vec<Line> {
    let arbiter = Arbiter::new();
    let plain = match across {
        true => Echo::start_in_arbiter(&arbiter.handle(), |_| Echo::default()),
        false => Echo::default().start(),
    };
    let spec = ChildSpec::new("echo", |_| Echo::default()).capacity(2 * MESSAGES as usize);
    let spec = if across {
        spec.placement(ThreadPlacement::Own)
    } else {
        spec
    };
    let child = spec.reference();
    let root = Root::start(SupervisorSpec::root("root").child(spec));
    child.ready().await;
    let driver = Driver { plain, child }.start();
    let mut lines = Vec::new();
    for pattern in [Pattern::Ask, Pattern::AskWindow, Pattern::Tell] {
        lines.push(rounds(&driver, pattern, across).await);
    }
    root.handle().stop();
    root.verdict().await;
    arbiter.stop();
    lines
}

async fn rounds(driver: &Addr<Driver>, pattern: Pattern, across_arbiters: bool) -> Line {
    let rate = |supervised| async move {
        let time = driver
            .send(Drive {
                pattern,
                supervised,
            })
            .await
            .expect("the driver runs");
        MESSAGES as f64 / time.as_secs_f64()
    };
    let (mut plain, mut supervised, mut ratio) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        // Who is first changes, so that neither always has the warmer or the calmer machine.
        let (one, other) = (rate(round % 2 == 0).await, rate(round % 2 != 0).await);
        let (with, without) = if round % 2 == 0 {
            (one, other)
        } else {
            (other, one)
        };
        plain.push(without);
        supervised.push(with);
        ratio.push(with / without);
    }
    Line {
        pattern,
        across_arbiters,
        plain_per_s: median(plain),
        supervised_per_s: median(supervised),
        ratio: median(ratio),
    }
}

/// From sending the message that panics until the next incarnation answers, in microseconds,
/// sorted.
async fn restarts() -> Vec<f64> {
    let at_once = RestartPolicy {
        intensity: u32::MAX,
        period: Duration::from_secs(3600),
        first_delay: Duration::ZERO,
        max_delay: Duration::ZERO,
    };
    let spec = ChildSpec::new("echo", |_| Echo::default())
        .policy(at_once)
        .past_limit(PastLimit::Park)
        .pings(Pings::DEFAULT);
    let child = spec.reference();
    let root = Root::start(SupervisorSpec::root("root").child(spec));
    let mut times = Vec::new();
    for incarnation in 0..RESTARTS {
        child.ready_after(incarnation).await;
        let begun = Instant::now();
        child.tell(Panic).expect("the child runs");
        child.ready_after(incarnation + 1).await;
        assert_eq!(
            child.ask(Say(1)).await.expect("the next incarnation runs"),
            2
        );
        times.push(begun.elapsed().as_secs_f64() * 1e6);
    }
    root.handle().stop();
    root.verdict().await;
    times.sort_by(f64::total_cmp);
    times
}

fn table(report: &Report) -> String {
    let mut text = String::from("pattern     arbiters    plain/s   supervised/s   ratio\n");
    for line in &report.lines {
        let _ = writeln!(
            text,
            "{:<11} {:<8} {:>10.0} {:>14.0}   {:.3}",
            format!("{:?}", line.pattern),
            if line.across_arbiters { "two" } else { "one" },
            line.plain_per_s,
            line.supervised_per_s,
            line.ratio
        );
    }
    let _ = writeln!(
        text,
        "restart (panic until the next incarnation answers): p50 {:.0} µs, p99 {:.0} µs\n\
         medians of {} rounds of {} messages; load average {}",
        report.restart_p50_us,
        report.restart_p99_us,
        report.rounds,
        report.messages_per_round,
        report.load_average
    );
    text
}

fn load_average() -> String {
    let read = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    read.split_whitespace()
        .take(3)
        .collect::<Vec<_>>()
        .join(" ")
}

fn main() {
    let json = std::env::args().any(|argument| argument == "--json");
    let report = System::new().block_on(async {
        let mut lines = compare(false).await;
        lines.extend(compare(true).await);
        // Planned panics are not to bury the figures.
        std::panic::set_hook(Box::new(|_| {}));
        let restarts = restarts().await;
        Report {
            benchmark: "supervision",
            rounds: ROUNDS,
            messages_per_round: MESSAGES,
            lines,
            restart_p50_us: restarts[restarts.len() / 2],
            restart_p99_us: restarts[restarts.len() * 99 / 100],
            load_average: load_average(),
        }
    });
    let text = match json {
        true => serde_json::to_string(&report).expect("numbers and strings are JSON"),
        false => table(&report),
    };
    // A closed pipe is the reader's wish.
    let _ = writeln!(std::io::stdout(), "{}", text.trim_end());
}
