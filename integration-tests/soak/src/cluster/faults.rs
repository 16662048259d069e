//! What happens to the processes and their database: kills, pauses, partitions, a database that is
//! restarted, and one that fails over to its replica.

use std::sync::{Arc, RwLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use postgres_server::Stop;

use super::proxy::Weather;
use super::world::{Cluster, Product, Replica};
use crate::daemon::pause;
use crate::random::Random;
use crate::wire::get;

/// A leader that is lost should be followed within this. Longer ones are said and fail nothing: the
/// time is the machine's as well.
pub(crate) const TAKEOVER: Duration = Duration::from_secs(10);
/// After this nobody comes any more.
const NO_LEADER: Duration = Duration::from_secs(90);
/// Between two looks who leads.
const LOOK: Duration = Duration::from_millis(50);

/// What a lane of faults did.
#[derive(Debug, Default)]
pub(crate) struct Done {
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

/// Starts the lanes: one for each product, one for managers and database. Faults of the database
/// wait for those of processes, so that each take-over has one cause.
pub(crate) fn spawn(
    cluster: &Arc<Cluster>,
    faults: u32,
    seed: u64,
    deadline: Instant,
) -> Vec<JoinHandle<Done>> {
    let turn = Arc::new(RwLock::new(()));
    let mut lanes = Vec::new();
    for lane in 0..2 {
        let (cluster, turn) = (Arc::clone(cluster), Arc::clone(&turn));
        let random = Random::new(seed, lane);
        lanes.push(std::thread::spawn(move || {
            let product = match lane {
                0 => &cluster.runners,
                _ => &cluster.orchestrators,
            };
            of_product(
                &cluster,
                product,
                faults * 9 / 20,
                random,
                (&turn, deadline),
            )
        }));
    }
    let (cluster, random) = (Arc::clone(cluster), Random::new(seed, 2));
    lanes.push(std::thread::spawn(move || {
        of_the_rest(&cluster, (faults / 10).max(3), random, (&turn, deadline))
    }));
    lanes
}

fn of_product(
    cluster: &Cluster,
    product: &Product,
    faults: u32,
    mut random: Random,
    (turn, deadline): (&RwLock<()>, Instant),
) -> Done {
    let mut done = Done::default();
    while done.faults < faults && Instant::now() < deadline {
        pause(Duration::from_millis(random.below(300)));
        let _turn = turn.read().expect("not poisoned");
        let Some((leader, epoch)) = until_led(product, None) else {
            done.failed
                .push(format!("nobody leads of {}", product.name));
            return done;
        };
        let count = product.replicas.len() as u64;
        let at = match random.below(3) {
            // A leader is followed within seconds, a standby is missed by nobody.
            0 => leader,
            _ => usize::try_from(random.below(count)).unwrap_or_default(),
        };
        let fault = drawn(&mut random);
        let short = Duration::from_millis(random.below(1500));
        let replica = &product.replicas[at];
        begin(replica, fault);
        if at == leader && fault != Fault::Slow {
            let began = Instant::now();
            match until_led(product, Some((at, epoch))) {
                Some(_) => {
                    let took = began.elapsed();
                    cluster.acknowledged().takeovers.push((fault.name(), took));
                    if took > TAKEOVER {
                        let name = fault.name();
                        let line = format!("{}: {name}: {took:?}", product.name);
                        println!("soak: a take-over longer than {TAKEOVER:?}: {line}");
                    }
                }
                None => done
                    .failed
                    .push(format!("nobody follows in {}", product.name)),
            }
        } else {
            pause(short);
        }
        if let Err(error) = end(replica, fault) {
            done.failed.push(format!("{error:#}"));
        }
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

fn begin(replica: &Replica, fault: Fault) {
    match fault {
        Fault::Kill => replica.daemon.kill(),
        Fault::Pause => replica.daemon.pause(),
        Fault::Cut => replica.proxy.set(Weather::Cut),
        Fault::HalfOpen => replica.proxy.set(Weather::HalfOpen),
        Fault::Slow => replica.proxy.set(Weather::Slow),
    }
}

fn end(replica: &Replica, fault: Fault) -> anyhow::Result<()> {
    match fault {
        Fault::Kill => {
            replica.daemon.spawn()?;
            replica.daemon.wait_ready()?;
        }
        Fault::Pause => replica.daemon.go_on(),
        Fault::Cut | Fault::HalfOpen | Fault::Slow => replica.proxy.set(Weather::Fair),
    }
    Ok(())
}

/// Who leads, and under which epoch; after `lost`, another one, or the same under a later epoch.
pub(crate) fn until_led(product: &Product, lost: Option<(usize, u64)>) -> Option<(usize, u64)> {
    let began = Instant::now();
    while began.elapsed() < NO_LEADER {
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
        pause(LOOK);
    }
    None
}

/// Managers are killed; the database is restarted, and once fails over.
fn of_the_rest(
    cluster: &Cluster,
    faults: u32,
    mut random: Random,
    (turn, deadline): (&RwLock<()>, Instant),
) -> Done {
    let mut done = Done::default();
    while done.faults < faults && Instant::now() < deadline {
        let left = deadline.saturating_duration_since(Instant::now());
        let part = left / (faults - done.faults + 1);
        pause(part.min(Duration::from_millis(4_000 + random.below(4_000))));
        if done.faults == faults / 2 {
            let _turn = turn.write().expect("not poisoned");
            fail_over(cluster);
        } else if random.below(3) == 0 {
            let _turn = turn.write().expect("not poisoned");
            let how = match random.below(2) {
                0 => Stop::Fast,
                _ => Stop::Crash,
            };
            let mut database = cluster.database.lock().expect("not poisoned");
            database.primary.restart(how);
        } else {
            let at = usize::try_from(random.below(3)).unwrap_or_default();
            let manager = &cluster.managers[at];
            manager.kill();
            if let Err(error) = manager.spawn().and_then(|()| manager.wait_ready()) {
                done.failed.push(format!("{error:#}"));
            }
        }
        done.faults += 1;
    }
    done
}

fn fail_over(cluster: &Cluster) {
    let mut database = cluster.database.lock().expect("not poisoned");
    let Some(replica) = database.replica.take() else {
        return;
    };
    database.primary.stop(Stop::Crash);
    replica.promote();
    cluster.lead_to(replica.port());
    database.primary = replica;
    println!("soak: the database failed over to its replica");
}
