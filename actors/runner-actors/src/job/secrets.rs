//! The secrets of a job, as all of its steps know them: those that run beside each other too.

use std::cell::RefCell;
use std::rc::Rc;

use runner_core::mask::MaskedSecrets;

/// What is masked in a job's output. Clones are the same secrets.
#[derive(Debug, Clone, Default)]
pub(crate) struct JobSecrets(Rc<RefCell<KnownSecrets>>);

#[derive(Debug, Default)]
struct KnownSecrets {
    secrets: MaskedSecrets,
    /// Grows with each of them.
    version: u64,
}

impl JobSecrets {
    /// One more. Beyond the bound the streams withhold everything.
    pub(super) fn add(&self, secret: &str) {
        let mut known = self.0.borrow_mut();
        let _ = known.secrets.add(secret);
        known.version += 1;
    }

    /// Others in place of these.
    pub(super) fn replace(&self, secrets: MaskedSecrets) {
        let mut known = self.0.borrow_mut();
        known.secrets = secrets;
        known.version += 1;
    }

    /// A whole text with the secrets taken out.
    pub(super) fn mask(&self, text: &str) -> String {
        self.0.borrow().secrets.mask(text)
    }

    /// Those that are known now.
    pub(super) fn snapshot(&self) -> MaskedSecrets {
        self.0.borrow().secrets.clone()
    }

    /// Another number after each change.
    pub(super) fn version(&self) -> u64 {
        self.0.borrow().version
    }
}
