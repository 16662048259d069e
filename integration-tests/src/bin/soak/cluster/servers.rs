//! What happens to the database and the storage: restarts, and one fail-over to the replica in the
//! middle.

use std::time::Duration;

use scripted_peers::postgres::Stop;

use super::faults::LaneReport;
use super::pace::Pace;
use super::world::Cluster;
use crate::daemon::pause;
use crate::random::Random;

/// Between two looks how far the other lanes are.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Does its faults spread over those of the processes.
pub(crate) fn of_servers(
    cluster: &Cluster,
    faults: u32,
    mut random: Random,
    pace: &Pace,
) -> LaneReport {
    let mut done = LaneReport::default();
    while done.faults < faults {
        let part = f64::from(done.faults + 1) / f64::from(faults + 1);
        while !pace.has_done(part) && !pace.is_over() {
            pause(POLL_INTERVAL);
        }
        if pace.is_over() {
            break;
        }
        let name = if done.faults == faults / 2 {
            let _turn = pace.turn.write().expect("not poisoned");
            fail_over(cluster);
            "database failed over"
        } else {
            match random.below(4) {
                0 => restart_storage(cluster, &mut random),
                1 => restart_database(cluster, pace, Stop::Fast),
                _ => restart_database(cluster, pace, Stop::Crash),
            }
        };
        cluster.note_fault(name);
        done.faults += 1;
    }
    done
}

fn restart_database(cluster: &Cluster, pace: &Pace, how: Stop) -> &'static str {
    let _turn = pace.turn.write().expect("not poisoned");
    let mut database = cluster.database.lock().expect("not poisoned");
    database.primary.restart(how);
    match how {
        Stop::Fast => "database restarted",
        Stop::Crash => "database crashed",
    }
}

/// Logs wait for it, nothing else does.
fn restart_storage(cluster: &Cluster, random: &mut Random) -> &'static str {
    let mut storage = cluster.storage.lock().expect("not poisoned");
    storage.stop();
    pause(Duration::from_millis(random.below(1_000)));
    storage.start_again();
    "storage restarted"
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
