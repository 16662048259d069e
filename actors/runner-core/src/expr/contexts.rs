//! What expressions can refer to, and the values it has at one moment.

use super::ExprValue;

/// A context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ContextName {
    /// The event and the run.
    Github,
    /// Environment variables of the file and of earlier steps.
    Env,
    /// Variables of the repository's settings.
    Vars,
    /// Secrets.
    Secrets,
    /// Outputs and outcomes of earlier steps.
    Steps,
    /// Outputs and results of jobs this one needs.
    Needs,
    /// This job's values of the matrix.
    Matrix,
    /// The matrix itself: index, total, fail-fast.
    Strategy,
    /// The machine.
    Runner,
    /// The job so far.
    Job,
    /// Jobs of a called workflow, in its outputs.
    Jobs,
    /// Inputs of a called or dispatched workflow, or of an action.
    Inputs,
}

impl ContextName {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::Github,
        Self::Env,
        Self::Vars,
        Self::Secrets,
        Self::Steps,
        Self::Needs,
        Self::Matrix,
        Self::Strategy,
        Self::Runner,
        Self::Job,
        Self::Jobs,
        Self::Inputs,
    ];

    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Github => "github",
            Self::Env => "env",
            Self::Vars => "vars",
            Self::Secrets => "secrets",
            Self::Steps => "steps",
            Self::Needs => "needs",
            Self::Matrix => "matrix",
            Self::Strategy => "strategy",
            Self::Runner => "runner",
            Self::Job => "job",
            Self::Jobs => "jobs",
            Self::Inputs => "inputs",
        }
    }

    /// The context of that name; case does not matter. Forgejo's and Gitea's own names stand for
    /// `github`.
    pub fn named(name: &str) -> Option<Self> {
        if ["forgejo", "forge", "gitea"]
            .iter()
            .any(|own| own.eq_ignore_ascii_case(name))
        {
            return Some(Self::Github);
        }
        Self::ALL
            .into_iter()
            .find(|context| context.name().eq_ignore_ascii_case(name))
    }
}

/// How it went so far: what the status functions answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatusFlags {
    /// `success()`
    pub success: bool,
    /// `failure()`
    pub failure: bool,
    /// `cancelled()`
    pub cancelled: bool,
}

impl StatusFlags {
    /// Nothing failed, nothing was cancelled.
    pub const SUCCESS: Self = Self {
        success: true,
        failure: false,
        cancelled: false,
    };
    /// Something failed.
    pub const FAILURE: Self = Self {
        success: false,
        failure: true,
        cancelled: false,
    };
    /// The run was cancelled.
    pub const CANCELLED: Self = Self {
        success: false,
        failure: false,
        cancelled: true,
    };
}

/// The contexts' values at one moment.
#[derive(Debug, Clone)]
pub struct Contexts {
    values: [ExprValue; ContextName::ALL.len()],
    status: StatusFlags,
}

impl Default for Contexts {
    fn default() -> Self {
        let values = std::array::from_fn(|_| ExprValue::object::<&str, ExprValue>([]));
        Self {
            values,
            status: StatusFlags::SUCCESS,
        }
    }
}

impl Contexts {
    /// The value of a context: an empty object until it is set.
    pub fn get(&self, context: ContextName) -> &ExprValue {
        &self.values[context as usize]
    }

    /// Sets the value of a context.
    pub fn set(&mut self, context: ContextName, value: ExprValue) {
        self.values[context as usize] = value;
    }

    /// The same with one context set.
    #[must_use]
    pub fn with(mut self, context: ContextName, value: ExprValue) -> Self {
        self.set(context, value);
        self
    }

    /// How it went so far.
    pub fn status(&self) -> StatusFlags {
        self.status
    }

    /// Says how it went so far.
    pub fn set_status(&mut self, status: StatusFlags) {
        self.status = status;
    }
}

/// Hashes the files patterns match: a hexadecimal SHA-256, or an empty text when none does.
pub type HashFiles<'a> = &'a dyn Fn(&[String]) -> Result<String, String>;

/// Everything an expression can ask for.
#[derive(Clone, Copy)]
pub struct ExprScope<'a> {
    /// The contexts.
    pub contexts: &'a Contexts,
    /// What `hashFiles` does; outside of steps it cannot be called.
    pub hash_files: Option<HashFiles<'a>>,
}

impl<'a> ExprScope<'a> {
    /// A scope without files.
    pub fn new(contexts: &'a Contexts) -> Self {
        Self {
            contexts,
            hash_files: None,
        }
    }
}
