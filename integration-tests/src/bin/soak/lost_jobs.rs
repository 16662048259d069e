//! The rule of lost jobs, as a run's record shows it: they ran again as often as they may, and not
//! more often.

use serde_json::Value;

/// A run is taken up so often after restarts of the runner.
const RECOVERIES: u64 = 3;
/// A job of which no step had begun runs again so often in any case.
const UNBEGUN: u64 = 2;

/// What of a run that has ended breaks the rule.
pub(crate) fn broken(run: &Value) -> Vec<String> {
    let taken_up = run["taken_up"].as_u64().unwrap_or_default();
    let jobs = run["jobs"].as_array().into_iter().flatten();
    let broken = jobs.filter_map(|job| {
        let number = |key: &str| job[key].as_u64().unwrap_or_default();
        let lost = job["lost"].as_array().map_or(0, Vec::len) as u64;
        let most = number("reruns").max(UNBEGUN);
        let had_machine = !job["started_at"].is_null();
        let text = if lost > most {
            format!("ran again {lost} times, {most} are allowed")
        } else if job["end"] == "lost"
            && had_machine
            && lost < number("reruns")
            && taken_up <= RECOVERIES
        {
            format!(
                "is lost after {lost} of {} further attempts",
                number("reruns")
            )
        } else {
            return None;
        };
        Some(format!("job {} of run {} {text}", job["key"], run["id"]))
    });
    broken.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn i17_a_lost_job_has_run_again_as_often_as_it_may() {
        let run = |taken_up: u64, end: &str, lost: usize, reruns: u64, started: Option<u64>| {
            let attempts = vec![json!({"reason": "x"}); lost];
            let job = json!({"key": "a", "end": end, "lost": attempts, "reruns": reruns, "started_at": started});
            broken(&json!({"id": "r", "taken_up": taken_up, "jobs": [job]})).len()
        };
        assert_eq!(run(0, "usual", 0, 5, Some(1)), 0);
        assert_eq!(run(1, "usual", 5, 5, Some(1)), 0);
        assert_eq!(run(0, "lost", 5, 5, Some(1)), 0);
        assert_eq!(run(0, "lost", 1, 5, Some(1)), 1, "it may run again");
        assert_eq!(run(4, "lost", 1, 5, Some(1)), 0, "its run may not");
        assert_eq!(run(0, "lost", 1, 5, None), 0, "it got no machine");
        assert_eq!(run(0, "usual", 2, 0, Some(1)), 0, "no step had begun");
        assert_eq!(run(0, "usual", 3, 0, Some(1)), 1);
        assert_eq!(run(0, "usual", 6, 5, Some(1)), 1);
    }
}
