//! `needs`: which jobs wait for which.

use std::collections::HashSet;

use config_core::quoted;

use super::reader::WorkflowReader;
use super::types::Job;
use crate::source_location::Located;
use crate::yaml::YamlEntry;

/// Every need names a job, once; it is written as the job is from here on (case does not matter).
pub(super) fn check_needs(reader: &WorkflowReader<'_>, jobs: &mut [Job], entries: &[YamlEntry]) {
    let known = |id: &str| {
        entries
            .iter()
            .find(|entry| entry.key.eq_ignore_ascii_case(id))
    };
    for job in &mut *jobs {
        let mut seen = HashSet::new();
        for need in &mut job.needs {
            match known(&need.value) {
                Some(entry) => need.value.clone_from(&entry.key),
                None => unknown_need(reader, &job.id, need, entries),
            }
        }
        // One that is named twice is needed once.
        job.needs.retain(|need| {
            let is_new = seen.insert(need.value.clone());
            if !is_new {
                let message = format!("{} needs {} twice", quoted(&job.id), quoted(&need.value));
                let help = "name it once; the case of letters does not matter";
                reader.warn(need.place, message, help);
            }
            is_new
        });
    }
    if let Some(cycle) = cycle(jobs) {
        let first = jobs.iter().find(|job| job.id == cycle[0]);
        let place = first
            .and_then(|job| job.needs.first())
            .map(|need| need.place);
        let message = format!("jobs need each other in a circle: {}", cycle.join(" → "));
        reader.error(place.unwrap_or_default(), message);
    }
}

fn unknown_need(
    reader: &WorkflowReader<'_>,
    job: &str,
    need: &Located<String>,
    entries: &[YamlEntry],
) {
    let message = format!(
        "{} needs {}, but there is no such job",
        quoted(job),
        quoted(&need.value)
    );
    match reader.closest_name(&need.value, entries.iter().map(|entry| entry.key.as_str())) {
        Some(near) => reader.error_help(need.place, message, format!("did you mean `{near}`?")),
        None => reader.error(need.place, message),
    }
}

/// A circle of jobs, its first job again at the end.
fn cycle(jobs: &[Job]) -> Option<Vec<String>> {
    // Jobs whose needs are all placed are placed; what is left needs a circle.
    let mut left: Vec<&Job> = jobs.iter().collect();
    loop {
        let ids: HashSet<&str> = left.iter().map(|job| job.id.as_str()).collect();
        let before = left.len();
        left.retain(|job| {
            job.needs
                .iter()
                .any(|need| ids.contains(need.value.as_str()))
        });
        if left.len() == before {
            break;
        }
    }
    let mut path: Vec<&str> = vec![left.first()?.id.as_str()];
    loop {
        let job = left
            .iter()
            .find(|job| Some(&job.id.as_str()) == path.last())?;
        let next = job
            .needs
            .iter()
            .find(|need| left.iter().any(|job| job.id == need.value))?;
        if let Some(at) = path.iter().position(|id| *id == next.value) {
            let mut circle: Vec<String> = path[at..].iter().map(|id| (*id).to_owned()).collect();
            circle.push(next.value.clone());
            return Some(circle);
        }
        path.push(&next.value);
    }
}
