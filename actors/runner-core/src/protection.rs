//! Whether a job may go on to its environment now: approval, wait, branches. No clock, no store.
//!
//! Source: GitHub's documentation, page "Deployments and environments", "Deployment protection
//! rules".

use serde::{Deserialize, Serialize};

use crate::glob::GlobPattern;

/// The longest wait for an approval, in milliseconds: 30 days, as on GitHub. A job that nobody
/// approved by then fails.
pub const APPROVAL_TIMEOUT_MS: u64 = 30 * 24 * 3600 * 1000;

/// What stands before an environment.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ProtectionRules {
    /// Somebody has to approve.
    pub approval: bool,
    /// How long a job waits, in milliseconds.
    pub wait_ms: u64,
    /// Branches whose runs may go on. With these or `tags` no other reference may.
    pub branches: Vec<GlobPattern>,
    /// Tags whose runs may go on.
    pub tags: Vec<GlobPattern>,
}

/// What was said to a run or an environment that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = Verdict)]
pub enum ProtectionVerdict {
    /// It goes on.
    Approved,
    /// It does not.
    Rejected,
}

/// Whether a job may go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GateState {
    /// It may.
    Open,
    /// Not yet.
    Waiting {
        /// Somebody has to approve.
        for_approval: bool,
        /// When to look again, in milliseconds since the Unix epoch: a wait or the time for an
        /// approval ends.
        until: u64,
    },
    /// It never may: why.
    Closed(String),
}

impl ProtectionRules {
    /// Whether runs of this reference (`refs/heads/…`) may deploy.
    #[must_use]
    pub fn allows(&self, reference: &str) -> bool {
        if self.branches.is_empty() && self.tags.is_empty() {
            return true;
        }
        let matches = |patterns: &[GlobPattern], name: &str| {
            let mut matching = patterns.iter().filter(|pattern| pattern.matches(name));
            matching.next_back().is_some_and(|last| !last.negative)
        };
        match (
            reference.strip_prefix("refs/heads/"),
            reference.strip_prefix("refs/tags/"),
        ) {
            (Some(branch), _) => matches(&self.branches, branch),
            (_, Some(tag)) => matches(&self.tags, tag),
            // A pull request is no branch of the repository.
            (None, None) => false,
        }
    }

    /// Whether a job of a run of `reference` may go on to the environment `name`, for which it has
    /// waited since `since`. Times are milliseconds since the Unix epoch.
    #[must_use]
    pub fn state(
        &self,
        name: &str,
        reference: &str,
        since: u64,
        verdict: Option<ProtectionVerdict>,
        now: u64,
    ) -> GateState {
        if !self.allows(reference) {
            return GateState::Closed(format!(
                "the environment {name} takes no runs of {reference}: its `branches` and `tags` say of which"
            ));
        }
        let waits_until = since.saturating_add(self.wait_ms);
        match (self.approval, verdict) {
            (_, Some(ProtectionVerdict::Rejected)) => {
                GateState::Closed(format!("the environment {name} was not approved"))
            }
            (true, None) => {
                let expires = since.saturating_add(APPROVAL_TIMEOUT_MS.max(self.wait_ms));
                if now >= expires {
                    let days = APPROVAL_TIMEOUT_MS / (24 * 3600 * 1000);
                    let text = format!("nobody approved the environment {name} within {days} days");
                    return GateState::Closed(text);
                }
                GateState::Waiting {
                    for_approval: true,
                    until: expires,
                }
            }
            (_, Some(ProtectionVerdict::Approved)) | (false, None)
                if self.wait_ms > 0 && now < waits_until =>
            {
                GateState::Waiting {
                    for_approval: false,
                    until: waits_until,
                }
            }
            (_, Some(ProtectionVerdict::Approved)) | (false, None) => GateState::Open,
        }
    }
}

/// Whose pull requests from forks run only when somebody has approved that.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ForkApproval {
    /// Of those who contribute for the first time.
    #[default]
    FirstTime,
    /// Of all.
    All,
    /// Of nobody.
    Never,
}

impl ForkApproval {
    /// Whether a pull request from a fork waits. `association` is what the forge says of its author
    /// (`author_association`, GitHub only), `own_event`: the author caused the event;
    /// `approved_before`: everybody who caused it was approved in this repository before.
    #[must_use]
    pub fn asks(self, association: Option<&str>, own_event: bool, approved_before: bool) -> bool {
        let is_known = matches!(
            association,
            Some("OWNER" | "MEMBER" | "COLLABORATOR" | "CONTRIBUTOR")
        );
        match self {
            Self::Never => false,
            Self::All => true,
            // What the forge says of the author counts, as on GitHub: approved once is not merged.
            Self::FirstTime if association.is_some() => {
                !(is_known && (own_event || approved_before))
            }
            Self::FirstTime => !approved_before,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: u64 = 24 * 3600 * 1000;

    fn rules(approval: bool, wait_ms: u64, branches: &[&str], tags: &[&str]) -> ProtectionRules {
        let patterns = |texts: &[&str]| {
            let texts = texts.iter();
            texts
                .map(|text| GlobPattern::parse(text).unwrap())
                .collect()
        };
        ProtectionRules {
            approval,
            wait_ms,
            branches: patterns(branches),
            tags: patterns(tags),
        }
    }

    #[test]
    fn i17_branches_and_tags_say_whose_runs_may_deploy() {
        let main = ["main", "release/*"];
        for (branches, tags, reference, allowed) in [
            (&[][..], &[][..], "refs/pull/7/head", true),
            (&main[..], &[][..], "refs/heads/main", true),
            (&main[..], &[][..], "refs/heads/release/2", true),
            (&main[..], &[][..], "refs/heads/release/2/x", false),
            (&main[..], &[][..], "refs/heads/mainly", false),
            (&main[..], &[][..], "refs/tags/main", false),
            (&main[..], &[][..], "refs/pull/7/head", false),
            (&[][..], &["v*"][..], "refs/tags/v1", true),
            (&[][..], &["v*"][..], "refs/heads/v1", false),
            (&["**", "!x/**"][..], &[][..], "refs/heads/x/y", false),
        ] {
            let rules = rules(false, 0, branches, tags);
            assert_eq!(rules.allows(reference), allowed, "{branches:?} {reference}");
        }
    }

    #[test]
    fn i17_a_job_waits_for_an_approval_and_for_its_time() {
        use GateState::{Closed, Open, Waiting};
        let waits = |for_approval, until| Waiting {
            for_approval,
            until,
        };
        let (yes, no) = (
            Some(ProtectionVerdict::Approved),
            Some(ProtectionVerdict::Rejected),
        );
        let closed = |text: &str| Closed(text.to_owned());
        let late = "nobody approved the environment p within 30 days";
        for (rules, verdict, now, expected) in [
            (rules(false, 0, &[], &[]), None, 0, Open),
            (rules(false, 50, &[], &[]), None, 149, waits(false, 150)),
            (rules(false, 50, &[], &[]), None, 150, Open),
            (
                rules(true, 0, &[], &[]),
                None,
                200,
                waits(true, 100 + 30 * DAY),
            ),
            (rules(true, 0, &[], &[]), None, 100 + 30 * DAY, closed(late)),
            (rules(true, 0, &[], &[]), yes, 200, Open),
            (rules(true, 500, &[], &[]), yes, 200, waits(false, 600)),
            (rules(true, 500, &[], &[]), yes, 600, Open),
            (
                rules(true, 500, &[], &[]),
                no,
                600,
                closed("the environment p was not approved"),
            ),
        ] {
            let state = rules.state("p", "refs/heads/main", 100, verdict, now);
            assert_eq!(state, expected, "{rules:?} {verdict:?} {now}");
        }
        let closed = rules(true, 0, &["main"], &[]).state("p", "refs/heads/x", 0, yes, 1);
        assert!(matches!(closed, Closed(text) if text.contains("refs/heads/x")));
    }

    #[test]
    fn i17_who_contributes_for_the_first_time_has_to_be_approved() {
        use ForkApproval::{All, FirstTime, Never};
        for (setting, association, own_event, before, asks) in [
            (FirstTime, None, true, false, true),
            (FirstTime, Some("NONE"), true, false, true),
            (FirstTime, Some("FIRST_TIME_CONTRIBUTOR"), true, false, true),
            (FirstTime, Some("FIRST_TIMER"), true, false, true),
            (FirstTime, Some("CONTRIBUTOR"), true, false, false),
            (FirstTime, Some("MEMBER"), true, false, false),
            // Somebody else reopened it: who that is, is not said.
            (FirstTime, Some("CONTRIBUTOR"), false, false, true),
            (FirstTime, Some("MEMBER"), false, true, false),
            (FirstTime, None, false, true, false),
            (FirstTime, None, true, true, false),
            // Approved before, and nothing of it merged yet: each of its pushes is asked about.
            (FirstTime, Some("FIRST_TIME_CONTRIBUTOR"), true, true, true),
            (FirstTime, Some("FIRST_TIMER"), true, true, true),
            (FirstTime, Some("NONE"), true, true, true),
            (FirstTime, Some("NONE"), false, true, true),
            (All, Some("OWNER"), true, true, true),
            (Never, None, false, false, false),
        ] {
            assert_eq!(
                setting.asks(association, own_event, before),
                asks,
                "{setting:?} {association:?} {own_event} {before}"
            );
        }
    }
}
