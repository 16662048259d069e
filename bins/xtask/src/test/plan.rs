//! Which step begins when: never more than two at once.

use super::steps::TestStep;

/// Steps at once: each computes on all processors or waits for something else.
const AT_ONCE: usize = 2;

/// The place in `waiting` of the step that begins now: the first one that may stand beside those
/// that run, and whose earlier steps have ended or are not part of the run.
pub(super) fn next(waiting: &[&TestStep], running: &[&TestStep]) -> Option<usize> {
    if running.len() >= AT_ONCE {
        return None;
    }
    let is_over = |name: &&str| {
        let mut others = waiting.iter().chain(running);
        others.all(|step| step.name != *name)
    };
    waiting.iter().position(|step| {
        let mut beside = running.iter();
        beside.all(|other| step.work.may_stand_beside(other.work)) && step.after.iter().all(is_over)
    })
}

#[cfg(test)]
mod tests {
    use super::super::steps::STEPS;
    use super::*;

    /// What a run with steps of such seconds does: each step with those that ran as it began.
    fn simulate(mut waiting: Vec<&TestStep>, seconds: impl Fn(&str) -> u32) -> Vec<String> {
        let mut running: Vec<(u32, &TestStep)> = Vec::new();
        let (mut now, mut begun) = (0, Vec::new());
        loop {
            let steps: Vec<&TestStep> = running.iter().map(|(_, step)| *step).collect();
            if let Some(at) = next(&waiting, &steps) {
                let step = waiting.remove(at);
                let beside: Vec<&str> = steps.iter().map(|step| step.name).collect();
                begun.push(format!("{now} {} {}", step.name, beside.join(" ")));
                running.push((now + seconds(step.name), step));
                continue;
            }
            let Some(first) = (0..running.len()).min_by_key(|at| running[*at].0) else {
                assert!(waiting.is_empty(), "nothing runs, and {waiting:?} waits");
                return begun;
            };
            now = running.remove(first).0;
        }
    }

    fn default_steps() -> Vec<&'static TestStep> {
        STEPS.iter().filter(|step| !step.on_request).collect()
    }

    #[test]
    fn i14_a_whole_run_fills_the_waits_of_its_steps() {
        let seconds = |name: &str| match name {
            "tools" => 150,
            "clippy" => 300,
            "build" => 500,
            "test" => 1000,
            "fuzzers" => 400,
            "soak" | "docs" => 160,
            "doctest" => 30,
            "browser" => 100,
            _ => 20,
        };
        assert_eq!(
            simulate(default_steps(), seconds),
            [
                "0 tools ",
                "0 clippy tools",
                "150 fmt clippy",
                "170 tidy clippy",
                "190 deny clippy",
                "300 build ",
                "800 test ",
                "800 fuzzers test",
                "1800 up ",
                "1800 doctest up",
                "1820 soak doctest",
                "1830 docs soak",
                "1990 web ",
                "1990 fuzz web",
                "2010 browser ",
            ]
        );
    }

    #[test]
    fn i14_every_step_begins_whatever_the_others_take_and_whoever_is_left_out() {
        for left_out in STEPS.iter().map(|step| step.name).chain([""]) {
            let chosen: Vec<&TestStep> = default_steps()
                .into_iter()
                .filter(|step| step.name != left_out)
                .collect();
            for round in 0..8_usize {
                let seconds = |name: &str| {
                    let at = STEPS.iter().position(|step| step.name == name);
                    [1, 5, 25, 125][(at.expect("it is one of them") * (round + 1)) % 4]
                };
                let begun = simulate(chosen.clone(), seconds);
                assert_eq!(begun.len(), chosen.len(), "without {left_out:?}");
            }
        }
    }

    #[test]
    fn i14_what_a_step_waits_for_stands_before_it() {
        for (at, step) in STEPS.iter().enumerate() {
            for name in step.after {
                let before = STEPS.iter().take(at).any(|other| other.name == *name);
                assert!(before, "{} waits for {name}", step.name);
            }
        }
        assert_eq!(next(&[], &[]), None);
    }
}
