//! A workflow file: a plan, or mistakes with their places; a plan runs to its end on the state.
#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use runner_core::actions::NoActions;
use runner_core::expr::Contexts;
use runner_core::plan::{PlanAction, PlanInput, PlanState, plan};
use runner_core::report::{FileStatus, check};
use runner_core::state::Conclusion;
use runner_core::workflow::parse;

fuzz_target!(|bytes: &[u8]| {
    let report = check("ci.yml", bytes, &|_| None);
    assert!(!report.render(config_core::Colours::Off).is_empty());
    let workflow = match parse("ci.yml", bytes) {
        Ok(parsed) => parsed.value,
        Err(wrong) => {
            assert!(wrong.has_errors() && report.status() == FileStatus::Wrong);
            assert!(wrong.iter().all(|found| found.line.is_some()));
            return;
        }
    };
    let contexts = Contexts::default();
    let input = PlanInput {
        contexts: &contexts,
        files: &|_| None,
        actions: &NoActions,
    };
    let Ok(plan) = plan(workflow, input) else {
        return;
    };
    let mut state = PlanState::new(Arc::new(plan), contexts);
    loop {
        let started: Vec<(usize, usize)> = state
            .advance()
            .iter()
            .filter_map(|action| match action {
                PlanAction::Start { job, instance } => Some((*job, *instance)),
                _ => None,
            })
            .collect();
        if started.is_empty() {
            break;
        }
        for (job, instance) in started {
            state.finished(job, instance, Conclusion::Success, &[]);
        }
    }
    assert!(state.conclusion().is_some(), "the state stands still");
});
