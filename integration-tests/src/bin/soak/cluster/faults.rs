//! What happens to the processes: kills, pauses, partitions.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::pace::{Pace, Shares};
use super::proxy::{Proxy, Weather};
use super::starvation::{Starved, TAKEOVER_TIMEOUT, is_late};
use super::world::{Cluster, Product, Replica};
use crate::daemon::{Daemon, pause};
use crate::random::Random;
use crate::wire::get;

/// After this nobody comes any more.
const NO_LEADER_TIMEOUT: Duration = Duration::from_secs(90);
/// Between two looks who leads.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// What a lane of faults did.
#[derive(Debug, Default)]
pub(crate) struct LaneReport {
    pub(crate) faults: u32,
    pub(crate) failed: Vec<String>,
}

/// Kinds of faults, of a hundred.
const KINDS: [(u64, Fault); 5] = [
    (40, Fault::Kill),
    (20, Fault::Pause),
    (20, Fault::Cut),
    (10, Fault::HalfOpen),
    (10, Fault::Slow),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    Kill,
    Pause,
    Cut,
    HalfOpen,
    Slow,
}

impl Fault {
    fn name(self) -> &'static str {
        match self {
            Self::Kill => "kill",
            Self::Pause => "pause",
            Self::Cut => "cut off",
            Self::HalfOpen => "half cut off",
            Self::Slow => "slow",
        }
    }
}

/// Starts the lanes of processes: one for each product, one for the managers. Faults of the servers
/// wait for those of processes, so that each take-over has one cause.
pub(crate) fn spawn(
    cluster: &Arc<Cluster>,
    shares: Shares,
    seed: u64,
    pace: &Arc<Pace>,
) -> Vec<JoinHandle<LaneReport>> {
    let mut lanes = Vec::new();
    for lane in 0..3 {
        let (cluster, pace) = (Arc::clone(cluster), Arc::clone(pace));
        let mut random = Random::new(seed, lane);
        lanes.push(std::thread::spawn(move || match lane {
            0 => of_product(&cluster, &cluster.runners, shares, &mut random, &pace),
            1 => of_product(&cluster, &cluster.orchestrators, shares, &mut random, &pace),
            _ => of_managers(&cluster, shares.managers, &mut random, &pace),
        }));
    }
    lanes
}

fn of_product(
    cluster: &Cluster,
    product: &Product,
    shares: Shares,
    random: &mut Random,
    pace: &Pace,
) -> LaneReport {
    let mut done = LaneReport::default();
    while done.faults < shares.product && !pace.is_over() {
        pause(Duration::from_millis(random.below(300)));
        let _turn = pace.turn.read().expect("not poisoned");
        let Some((leader, epoch)) = until_led(product, None) else {
            done.failed
                .push(format!("nobody leads of {}", product.name));
            return done;
        };
        let count = product.replicas.len() as u64;
        // A leader is followed within seconds, a standby is missed by nobody.
        let slow = pace.allows_slow(done.faults, shares.product);
        let at = match random.below(3) {
            0 if slow => leader,
            _ => usize::try_from(random.below(count)).unwrap_or_default(),
        };
        let at = match at == leader && !slow {
            true => (leader + 1) % product.replicas.len(),
            false => at,
        };
        let fault = drawn(random);
        let short = Duration::from_millis(random.below(1000));
        let replica = &product.replicas[at];
        start((&replica.daemon, &replica.proxy), fault);
        if at == leader && fault != Fault::Slow {
            follow(cluster, product, (leader, epoch), fault, &mut done);
        } else {
            pause(short);
        }
        if let Err(error) = end((&replica.daemon, &replica.proxy), fault) {
            done.failed.push(format!("{error:#}"));
        }
        cluster.note_fault(&format!("{} {}", product.name, fault.name()));
        pace.count();
        done.faults += 1;
    }
    done
}

/// Waits for the next leader after a fault of the former one.
fn follow(
    cluster: &Cluster,
    product: &Product,
    former: (usize, u64),
    fault: Fault,
    done: &mut LaneReport,
) {
    let waited = |replica: &Replica| {
        replica
            .daemon
            .process()
            .map(Starved::new)
            .unwrap_or_default()
    };
    let before: Vec<Starved> = product.replicas.iter().map(waited).collect();
    let began = Instant::now();
    let Some((follower, _)) = until_led(product, Some(former)) else {
        done.failed
            .push(format!("nobody follows in {}", product.name));
        return;
    };
    let (took, name) = (began.elapsed(), fault.name());
    cluster.acknowledged().takeovers.push((name, took));
    if took > TAKEOVER_TIMEOUT {
        let starved = waited(&product.replicas[follower]);
        let starved = starved.since(&before[follower]);
        let line = format!(
            "{}: {name}: {took:?}, of which the next leader waited for a processor for {starved:?}",
            product.name
        );
        println!("soak: a take-over longer than {TAKEOVER_TIMEOUT:?}: {line}");
        if is_late(took, starved) {
            done.failed.push(format!("followed too late: {line}"));
        }
    }
}

/// Managers are killed, paused for moments, and cut off from everybody who has VMs of them: also
/// for longer than it takes to find one silent.
fn of_managers(cluster: &Cluster, faults: u32, random: &mut Random, pace: &Pace) -> LaneReport {
    let mut done = LaneReport::default();
    while done.faults < faults && !pace.is_over() {
        // As quick as the other lanes at most: jobs should get somewhere as well.
        pause(Duration::from_millis(1_000 + random.below(3_000)));
        let at = usize::try_from(random.below(3)).unwrap_or_default();
        let manager = &cluster.managers[at];
        let fault = match random.below(8) {
            0 => Fault::Pause,
            1 | 2 => Fault::Cut,
            3 => Fault::HalfOpen,
            _ => Fault::Kill,
        };
        let longest = match fault {
            Fault::HalfOpen if pace.allows_slow(done.faults, faults) => 20_000,
            _ => 2_000,
        };
        let time = Duration::from_millis(random.below(longest));
        start((&manager.daemon, &manager.proxy), fault);
        if fault != Fault::Kill {
            pause(time);
        }
        if let Err(error) = end((&manager.daemon, &manager.proxy), fault) {
            done.failed.push(format!("{error:#}"));
        }
        cluster.note_fault(&format!("vm-manager {}", fault.name()));
        pace.count();
        done.faults += 1;
    }
    done
}

fn drawn(random: &mut Random) -> Fault {
    let mut at = random.below(100);
    for (share, fault) in KINDS {
        if at < share {
            return fault;
        }
        at -= share;
    }
    Fault::Kill
}

fn start((daemon, proxy): (&Daemon, &Proxy), fault: Fault) {
    match fault {
        Fault::Kill => daemon.kill(),
        Fault::Pause => daemon.pause(),
        Fault::Cut => proxy.set(Weather::Cut),
        Fault::HalfOpen => proxy.set(Weather::HalfOpen),
        Fault::Slow => proxy.set(Weather::Slow),
    }
}

fn end((daemon, proxy): (&Daemon, &Proxy), fault: Fault) -> anyhow::Result<()> {
    match fault {
        Fault::Kill => {
            daemon.spawn()?;
            daemon.wait_ready()?;
        }
        Fault::Pause => daemon.resume(),
        Fault::Cut | Fault::HalfOpen | Fault::Slow => proxy.set(Weather::Fair),
    }
    Ok(())
}

/// Who leads, and under which epoch; after `lost`, another one, or the same under a later epoch.
pub(crate) fn until_led(product: &Product, lost: Option<(usize, u64)>) -> Option<(usize, u64)> {
    let began = Instant::now();
    while began.elapsed() < NO_LEADER_TIMEOUT {
        let others = (0..product.replicas.len()).filter(|at| lost.is_none_or(|it| it.0 != *at));
        let leading = others.filter_map(|at| {
            let health = get(product.replicas[at].daemon.health_address(), "/health", &[])?;
            let replica = &health["replica"];
            let epoch = replica["epoch"].as_u64()?;
            let leads = replica["role"] == "leader" && lost.is_none_or(|it| epoch > it.1);
            leads.then_some((at, epoch))
        });
        // One that was taken from may not have noticed yet.
        if let Some(found) = leading.max_by_key(|it| it.1) {
            return Some(found);
        }
        pause(POLL_INTERVAL);
    }
    None
}
