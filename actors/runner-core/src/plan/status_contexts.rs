//! Contexts of commit statuses: one for each copy of a job, and no two the same.
//!
//! A forge keeps one status for each context of a commit. Two jobs with one context would hide each
//! other: whichever is posted last, or first, would stand for both. Names are the workflow's to
//! choose, so they are told apart here.

use std::collections::{HashMap, HashSet};

use super::types::{Instances, JobInstance, Plan};

/// Bytes of a context: forges keep 255.
const MAX_BYTES: usize = 200;
/// Bytes of a workflow's name in it, and of what tells a job from another.
const MAX_PART: usize = 80;

/// The contexts of a run's jobs.
#[derive(Debug, Clone, Default)]
pub struct StatusContexts {
    workflow: String,
    event: String,
    /// Of each job: the names of its callers, and a slash behind each.
    callers: Vec<String>,
    keys: Vec<String>,
    /// Of each job: its name without a copy's values.
    names: Vec<String>,
    /// What each job may be called, in small letters, and which jobs may be.
    wanted: HashMap<String, HashSet<usize>>,
    given: HashMap<String, (usize, usize)>,
}

impl StatusContexts {
    /// Of a plan's jobs. `workflow` is what the workflow is called, other than any other of the
    /// commit.
    pub fn new(plan: &Plan, workflow: &str, event: &str) -> Self {
        let mut contexts = Self {
            workflow: workflow.to_owned(),
            event: event.to_owned(),
            callers: vec![String::new(); plan.jobs.len()],
            keys: plan.jobs.iter().map(|job| job.key.clone()).collect(),
            names: plan.jobs.iter().map(|job| own_name(&job.job)).collect(),
            wanted: HashMap::new(),
            given: HashMap::new(),
        };
        for (index, job) in plan.jobs.iter().enumerate() {
            // Those that call stand before what they call.
            let called = &plan.workflows[job.workflow];
            if let Some(caller) = called.caller {
                let copy = match &plan.jobs[caller].instances {
                    Instances::Known(copies) => copies.get(called.copy),
                    Instances::Later => None,
                };
                let name = copy.map(|copy| copy.name.trim());
                let name = name.filter(|name| !name.is_empty());
                let name = name.unwrap_or(&contexts.names[caller]);
                contexts.callers[index] = format!("{}{name} / ", contexts.callers[caller]);
            }
        }
        for (index, job) in plan.jobs.iter().enumerate() {
            let mut names = vec![contexts.names[index].clone()];
            if let Instances::Known(copies) = &job.instances {
                names.extend(copies.iter().map(|copy| copy.name.clone()));
            }
            for name in names {
                let context = contexts.composed(index, &name, "").to_lowercase();
                contexts.wanted.entry(context).or_default().insert(index);
            }
        }
        contexts
    }

    /// The same of a plan that has more jobs meanwhile: what was given stays given.
    #[must_use]
    pub fn extended(self, plan: &Plan) -> Self {
        Self {
            given: self.given,
            ..Self::new(plan, &self.workflow, &self.event)
        }
    }

    /// What a job is called for people, with those that call it before it.
    pub fn name(&self, job: usize) -> String {
        format!("{}{}", self.callers[job], self.names[job])
    }

    /// What a copy is called for people.
    pub fn name_of_copy(&self, job: usize, copy: &JobInstance) -> String {
        format!("{}{}", self.callers[job], copy.name)
    }

    /// The context of a job that has no copies: it was left out.
    pub fn of_job(&mut self, job: usize) -> String {
        let name = self.names[job].clone();
        let context = self.with_unique_names(job, &name, None);
        self.claim(&context, (job, 0))
    }

    /// The context of a copy of a job, one of all its copies.
    pub fn of_copy(&mut self, job: usize, copies: &[JobInstance], index: usize) -> String {
        let name = copies[index].name.clone();
        let plain = self.composed(job, &name, "").to_lowercase();
        let same = copies
            .iter()
            .filter(|copy| self.composed(job, &copy.name, "").to_lowercase() == plain);
        let number = (same.count() > 1).then_some(index + 1);
        let context = self.with_unique_names(job, &name, number);
        self.claim(&context, (job, index))
    }

    /// With the job's key, which is the plan's own, where another may have the same name.
    fn with_unique_names(&self, job: usize, name: &str, number: Option<usize>) -> String {
        let plain = self.composed(job, name, "");
        let key = &self.keys[job];
        let wanted = self.wanted.get(&plain.to_lowercase());
        let is_anothers = wanted.is_some_and(|jobs| jobs.iter().any(|other| *other != job));
        match number {
            Some(number) => self.composed(job, name, &format!(" [{key} #{number}]")),
            None if is_anothers => self.composed(job, name, &format!(" [{key}]")),
            None => plain,
        }
    }

    fn composed(&self, job: usize, name: &str, behind: &str) -> String {
        // An expression may give nothing.
        let name = if name.trim().is_empty() {
            &self.names[job]
        } else {
            name
        };
        let job = format!("{}{name}", self.callers[job]);
        compose(&self.workflow, &job, behind, &self.event)
    }

    /// Whatever was not foreseen is told apart by a number.
    fn claim(&mut self, context: &str, owner: (usize, usize)) -> String {
        let mut number = 1;
        let mut given = context.to_owned();
        loop {
            let key = given.to_lowercase();
            match self.given.get(&key) {
                Some(other) if *other != owner => {
                    number += 1;
                    given = format!("{context} ({number})");
                }
                _ => {
                    self.given.insert(key, owner);
                    return given;
                }
            }
        }
    }
}

/// A name that is an expression is known for copies only.
fn own_name(job: &crate::workflow::Job) -> String {
    let fixed = job.name.as_ref().filter(|name| name.fixed().is_some());
    let name = fixed.map_or(job.id.as_str(), |name| name.source.trim());
    if name.is_empty() {
        job.id.clone()
    } else {
        name.to_owned()
    }
}

/// The context of a job's status: as Gitea's own runner calls it.
pub fn status_context(workflow: &str, job: &str, event: &str) -> String {
    compose(workflow, job, "", event)
}

/// The context of what is said of a run as a whole; `file` is its workflow's, once that is known.
pub fn run_context(file: Option<&str>, event: &str) -> String {
    match file {
        Some(file) => compose(file, "workflow", "", event),
        None => compose("workflow-runner", "commit", "", event),
    }
}

fn compose(workflow: &str, job: &str, behind: &str, event: &str) -> String {
    let clean = |text: &str| -> String { text.chars().filter(|c| !c.is_control()).collect() };
    let (workflow, job, behind) = (clean(workflow), clean(job), clean(behind));
    let workflow = cut(workflow.trim(), MAX_PART);
    let behind = format!("{} ({event})", cut(&behind, MAX_PART));
    let room = MAX_BYTES.saturating_sub(workflow.len() + " / ".len() + behind.len());
    format!("{workflow} / {}{behind}", cut(job.trim(), room))
}

/// At most so many bytes; where something is left out, it ends with a digest of the whole, so that
/// two texts stay two.
fn cut(text: &str, bytes: usize) -> String {
    if text.len() <= bytes {
        return text.to_owned();
    }
    let mut end = bytes.saturating_sub(20);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    // FNV-1a, 64 bits: stable, and what it does not tell apart is told apart by a number.
    let digest = text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |digest, byte| {
            (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
    format!("{}\u{2026}~{digest:016x}", &text[..end])
}
