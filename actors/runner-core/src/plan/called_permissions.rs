//! What a called workflow asks to be allowed, compared with what its caller leaves it (page "Reuse
//! workflows": permissions can only be kept or taken away).

use super::build::Builder;
use super::input::PlanError;
use super::types::PlanFinding;
use crate::expr::DataKey;
use crate::workflow::{CacheMode, Env, Job, JobWork, Permissions};

impl Builder<'_> {
    /// What a job's token may do: a called workflow's no more than its caller's.
    pub(super) fn permissions(&self, job: &Job, workflow: usize) -> Permissions {
        let caller = self.workflows[workflow].caller;
        let caller = caller.map(|caller| &self.jobs[caller].permissions);
        match (self.asked(job, workflow), caller) {
            (Some(named), Some(caller)) => {
                Permissions::or_defaults(Some(named.clone()), caller).intersect(caller)
            }
            (Some(named), None) => {
                Permissions::or_defaults(Some(named.clone()), &Permissions::restricted())
            }
            (None, Some(caller)) => caller.clone(),
            (None, None) => Permissions::restricted(),
        }
    }

    /// What a job may do with caches.
    ///
    /// # Errors
    /// A called workflow asks for more than its caller may.
    fn cache_mode(&self, job: &Job, workflow: usize) -> Result<CacheMode, PlanError> {
        let called = &self.workflows[workflow];
        let named = job.cache_mode.or(called.workflow.cache_mode);
        let Some(caller) = called.caller else {
            return Ok(named.unwrap_or_default());
        };
        let most = self.jobs[caller].cache_mode;
        let mode = named.unwrap_or(most);
        if most.allows(mode) {
            return Ok(mode);
        }
        let message = format!(
            "the job {} of {} has the cache-mode `{}`, and is allowed `{}`",
            config_core::quoted(&job.id),
            called.workflow.file,
            mode.name(),
            most.name()
        );
        Err(self.wrong_call(caller, message))
    }

    /// The same of a job with steps as its `env` leaves it: of a job that calls, variables are not
    /// those of what it calls.
    ///
    /// # Errors
    /// A called workflow asks for more than its caller may.
    pub(super) fn own_cache_mode(
        &self,
        job: &Job,
        workflow: usize,
    ) -> Result<CacheMode, PlanError> {
        let mode = self.cache_mode(job, workflow)?;
        Ok(match job.work {
            JobWork::Steps { .. } => {
                let env = &self.workflows[workflow].workflow.env;
                let named = of_env(&job.env).or_else(|| of_env(env));
                mode.intersect(named.unwrap_or_default())
            }
            JobWork::Call { .. } => mode,
        })
    }

    /// What is wrong with what a job calls.
    fn wrong_call(&self, caller: usize, message: String) -> PlanError {
        let caller = &self.jobs[caller];
        PlanError::Workflow {
            file: (&*self.workflows[caller.workflow].workflow.file).into(),
            place: caller.job.place,
            message,
        }
    }

    /// What a job, or else its workflow, names.
    pub(super) fn asked<'b>(&'b self, job: &'b Job, workflow: usize) -> Option<&'b Permissions> {
        let of_workflow = &self.workflows[workflow].workflow.permissions;
        job.permissions.as_ref().or(of_workflow.as_ref())
    }

    /// Refuses a job of a called workflow that asks for more than its callers name, as GitHub does
    /// before anything begins. Where none of them names anything, the defaults of a repository
    /// decide there: what the token lacks here is said.
    ///
    /// # Errors
    /// Which permissions it asks for, and what it is allowed.
    pub(super) fn check_permissions(
        &self,
        job: &Job,
        workflow: usize,
    ) -> Result<Option<PlanFinding>, PlanError> {
        let called = &self.workflows[workflow];
        let (Some(asked), Some(caller)) = (self.asked(job, workflow), called.caller) else {
            return Ok(None);
        };
        let mut named = None;
        let mut at = Some(caller);
        while let (Some(caller), None) = (at, named) {
            let caller = &self.jobs[caller];
            named = self.asked(&caller.job, caller.workflow);
            // Defaults are nobody's words.
            named = named.filter(|named| !named.is_default);
            at = self.workflows[caller.workflow].caller;
        }
        let left = &self.jobs[caller].permissions;
        let (more, most) = asked.beyond(named.unwrap_or(left));
        if more.is_empty() {
            return Ok(None);
        }
        let message = format!(
            "the job {} of {} asks for `{more}`, and is allowed `{most}`",
            config_core::quoted(&job.id),
            called.workflow.file
        );
        if named.is_some() {
            return Err(self.wrong_call(caller, message));
        }
        let caller = &self.jobs[caller];
        Ok(Some(PlanFinding {
            file: self.workflows[caller.workflow].workflow.file.to_string(),
            place: caller.job.place,
            message,
            help: "name `permissions` where it is called: its token has no more than these"
                .to_owned(),
        }))
    }
}

/// What `ACTIONS_CACHE_MODE` in an `env` says, by which clients of the cache service know it.
fn of_env(env: &Env) -> Option<CacheMode> {
    let Env::Map(entries) = env else {
        return None;
    };
    let is_mode = |key: &DataKey| {
        let name = match key {
            DataKey::Text(name) => name.fixed(),
            DataKey::Insert => None,
        };
        name.is_some_and(|name| &*name.as_text() == "ACTIONS_CACHE_MODE")
    };
    let (_, value) = entries.iter().find(|(key, _)| is_mode(key))?;
    let text = value.fixed()?.as_text();
    let mut modes = CacheMode::ALL.into_iter();
    modes.find(|mode| mode.name() == &*text)
}
