//! Whose a VM is: the run and the job that asked for it.

use crate::records::RunRecord;

/// The key of a request for the VM of a job, by the index of its record: another one for each
/// incarnation of the run and each attempt of the job.
pub(crate) fn vm_key(record: &RunRecord, index: usize) -> String {
    let (run, incarnation) = (&record.id, record.incarnation());
    match record.jobs.get(index).map_or(0, |job| job.lost.len()) {
        0 => format!("{run}-{incarnation}-{index}"),
        lost => format!("{run}-{incarnation}-{index}.{lost}"),
    }
}

/// Which job a VM is of, as its request said.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct VmOwner<'a> {
    pub(crate) run: &'a str,
    incarnation: u64,
    index: usize,
    /// Attempts of the job that were lost before.
    lost: usize,
}

impl<'a> VmOwner<'a> {
    /// `run-<vm_key>`.
    pub(crate) fn parse(owner: &'a str) -> Option<Self> {
        let (rest, index) = owner.strip_prefix("run-")?.rsplit_once('-')?;
        let (run, incarnation) = rest.rsplit_once('-')?;
        let (index, lost) = index.split_once('.').unwrap_or((index, "0"));
        Some(Self {
            run,
            incarnation: incarnation.parse().ok()?,
            index: index.parse().ok()?,
            lost: lost.parse().ok()?,
        })
    }

    /// Whether the job needs the VM no longer.
    pub(crate) fn has_ended(&self, record: &RunRecord) -> bool {
        if record.state.is_terminal() || self.incarnation < record.incarnation() {
            return true;
        }
        let job = record.jobs.get(self.index);
        self.incarnation == record.incarnation()
            && job.is_some_and(|job| job.ended_at.is_some() || job.lost.len() > self.lost)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i17_owners_name_run_incarnation_job_and_attempt() {
        for (text, lost) in [("run-019a-b-c-2-11", 0), ("run-019a-b-c-2-11.3", 3)] {
            let expected = VmOwner {
                run: "019a-b-c",
                incarnation: 2,
                index: 11,
                lost,
            };
            assert_eq!(VmOwner::parse(text), Some(expected));
        }
        for other in [
            "build",
            "run-",
            "run-a-b",
            "run-a-x-1",
            "walk-a-1-1",
            "run-a-1-1.x",
        ] {
            assert_eq!(VmOwner::parse(other), None, "{other}");
        }
    }
}
