//! The kind of forge that an event is of, and what depends on it.

use forge_core::Forge;
use runner_core::event::EventKind;

use super::StoredEvent;

impl StoredEvent {
    /// With the kind of forge that its headers speak of.
    #[must_use]
    pub fn sent_by(mut self, forge: Option<Forge>) -> Self {
        self.forge = forge;
        self
    }

    /// The kind of forge it is of, where this one is configured: Forgejo is told from Gitea by what
    /// it sends.
    pub(crate) fn forge(&self, configured: Forge) -> Forge {
        match (configured, self.forge) {
            (Forge::GitHub, _) => Forge::GitHub,
            (_, Some(Forge::Forgejo)) => Forge::Forgejo,
            (configured, _) => configured,
        }
    }

    /// The run that the same delivery starts for workflows that ask for `pull_request_target`: of
    /// the default branch at GitHub, of the branch that it goes into at Gitea and Forgejo.
    #[must_use]
    pub(crate) fn target(&self, configured: Forge) -> Option<Self> {
        if self.kind != EventKind::PullRequest {
            return None;
        }
        let base = self.base_branch.as_deref();
        let base = base.filter(|_| self.forge(configured) != Forge::GitHub);
        let branch = base.or(self.default_branch.as_deref());
        let context = self.context().into_target(branch);
        Some(Self {
            clone_url: self.clone_url.clone(),
            html_url: self.html_url.clone(),
            default_branch: self.default_branch.clone(),
            number: self.number,
            forge: self.forge,
            ..Self::of_context(context)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i17_a_target_is_of_the_base_branch_at_gitea_and_forgejo() {
        let url = "https://forge.example/a/b.git";
        let made = StoredEvent::without_webhook(
            EventKind::PullRequest,
            "a/b",
            "refs/pull/7/head",
            "1",
            url,
        );
        let event = StoredEvent {
            base_branch: Some("release/1".to_owned()),
            ..made.with_page(None, Some("main".to_owned()))
        };
        for (configured, sent_by, forge, branch) in [
            (Forge::Gitea, None, Forge::Gitea, "release/1"),
            (
                Forge::Gitea,
                Some(Forge::Forgejo),
                Forge::Forgejo,
                "release/1",
            ),
            (
                Forge::Forgejo,
                Some(Forge::Gitea),
                Forge::Forgejo,
                "release/1",
            ),
            (Forge::GitHub, Some(Forge::Forgejo), Forge::GitHub, "main"),
        ] {
            let event = event.clone().sent_by(sent_by);
            assert_eq!(event.forge(configured), forge);
            let target = event.target(configured).expect("it is a pull request");
            assert_eq!(target.reference, format!("refs/heads/{branch}"));
            assert_eq!(target.forge, sent_by, "it is kept");
        }
    }
}
