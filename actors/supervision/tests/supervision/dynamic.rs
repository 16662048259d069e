//! Children started at run time: bounded in number, gone when they end.

use std::time::Duration;

use supervision::{
    AskError, ChildError, ChildRef, Restart, Root, StartChildError, StartRefusal, Supervisor,
    SupervisorSpec,
};

use crate::common::{
    AT_ONCE, BeStubborn, Increment, Journal, Panic, Stop, puppet, root, run, stop, until,
};

fn bounded(limit: usize) -> (SupervisorSpec, ChildRef<Supervisor>) {
    let jobs = SupervisorSpec::new("jobs").max_dynamic(limit);
    let reference = jobs.reference();
    (root().supervisor(jobs), reference)
}

#[test]
fn children_at_run_time_are_bounded_and_leave_when_they_end() {
    run(async {
        let journal = Journal::default();
        let (spec, jobs) = bounded(2);
        let tree = Root::start(spec);
        jobs.ready().await;
        let job = |id: &str| puppet(id, &journal).restart(Restart::Temporary);
        let one = jobs.start_child(job("one")).await.unwrap();
        assert_eq!(one.ask(Increment).await, Ok(1));
        let duplicate = jobs.start_child(job("one")).await.unwrap_err();
        let refused = StartRefusal::Duplicate { id: "one".into() };
        assert_eq!(duplicate, StartChildError::Refused(refused));
        jobs.start_child(job("two")).await.unwrap();
        let full = jobs.start_child(job("three")).await.unwrap_err();
        assert_eq!(
            full,
            StartChildError::Refused(StartRefusal::Full { limit: 2 })
        );

        one.tell(Panic("planned")).unwrap();
        until(&tree.handle(), &["jobs"], |jobs| jobs.children.len() == 1).await;
        jobs.start_child(job("three")).await.unwrap();
        jobs.stop_child("two", Duration::from_secs(5))
            .await
            .unwrap();
        let snapshot = tree.handle().tree().snapshot();
        let names: Vec<_> = snapshot
            .find(&["jobs"])
            .unwrap()
            .children
            .iter()
            .map(|job| &job.name)
            .collect();
        assert_eq!(names, ["three"]);
        let unknown = jobs
            .stop_child("two", Duration::from_secs(5))
            .await
            .unwrap_err();
        assert!(matches!(unknown, ChildError::NoSuchChild(_)), "{unknown}");
        stop(tree).await;
        assert_eq!(journal.count("three stopped"), 1);
        let stopped = jobs.start_child(job("four")).await.unwrap_err();
        let unavailable = AskError::Unavailable {
            actor: "jobs".into(),
        };
        assert_eq!(stopped, StartChildError::Supervisor(unavailable));
    });
}

#[test]
fn a_transient_child_at_run_time_is_restarted_until_it_ends_well() {
    run(async {
        let (spec, jobs) = bounded(8);
        let tree = Root::start(spec);
        jobs.ready().await;
        let spec = puppet("job", &Journal::default())
            .restart(Restart::Transient)
            .policy(AT_ONCE);
        let job = jobs.start_child(spec).await.unwrap();
        job.tell(Panic("planned")).unwrap();
        job.ready_after(1).await;
        job.ask(Stop).await.unwrap();
        until(&tree.handle(), &["jobs"], |jobs| jobs.children.is_empty()).await;
        stop(tree).await;
    });
}

#[test]
fn children_at_run_time_stop_all_at_once() {
    run(async {
        let (spec, jobs) = bounded(64);
        let tree = Root::start(spec);
        jobs.ready().await;
        let journal = Journal::default();
        for number in 0..64 {
            let spec = puppet(&format!("job-{number}"), &journal)
                .restart(Restart::Temporary)
                .shutdown(Duration::from_secs(2));
            let job = jobs.start_child(spec).await.unwrap();
            job.ask(BeStubborn).await.unwrap();
        }
        // One after the other would take 128 s, beyond the deadline of the test and the 30 s of
        // the supervisor.
        stop(tree).await;
    });
}
