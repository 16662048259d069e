//! How many templates and waiting clones to keep: what the warm pool does next, as data.

use crate::{TemplateKey, UnixMs};
use std::time::Duration;

/// What the manager was told to keep warm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Clones that wait for each configured key.
    pub clones: usize,
    /// Clones being made at once, all keys together.
    pub parallel: usize,
    /// Templates kept at once, those not configured included.
    pub templates: usize,
    /// A template or clone of a key that is not configured goes after this long without use.
    pub idle: Duration,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            clones: 2,
            parallel: 2,
            templates: 4,
            idle: Duration::from_secs(600),
        }
    }
}

/// One key of the pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolEntry {
    /// What its clones are made of.
    pub key: TemplateKey,
    /// Whether the configuration names it.
    pub configured: bool,
    /// Whether there is a template to clone from.
    pub template: TemplateState,
    /// Clones that wait.
    pub ready: usize,
    /// Clones being made.
    pub making: usize,
    /// When a VM of this key was last asked for.
    pub last_used: UnixMs,
    /// No clone is made before: the machine had too little of something.
    pub clones_after: UnixMs,
}

/// Whether a key has a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TemplateState {
    /// None.
    Absent,
    /// It is being made.
    InProgress,
    /// Clones can be made.
    Ready,
    /// Making it failed; it is tried again then.
    FailedUntil(UnixMs),
}

/// What to do for one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PoolAction {
    /// Boot and save a template.
    MakeTemplate(TemplateKey),
    /// Make this many clones.
    MakeClones(TemplateKey, usize),
    /// Kill this many waiting clones.
    DropClones(TemplateKey, usize),
    /// Remove the template.
    DropTemplate(TemplateKey),
}

/// What the pool does next. One template is made at a time, since booting is what costs most.
pub fn decide(entries: &[PoolEntry], policy: Policy, now: UnixMs) -> Vec<PoolAction> {
    let mut actions = drops(entries, policy, now);
    let making_template = entries
        .iter()
        .any(|entry| entry.template == TemplateState::InProgress);
    let mut templates = entries
        .iter()
        .filter(|entry| entry.template == TemplateState::Ready)
        .count();
    let mut may_make = !making_template;
    let mut permits = policy
        .parallel
        .saturating_sub(entries.iter().map(|entry| entry.making).sum());
    for entry in entries.iter().filter(|entry| is_wanted(entry, policy, now)) {
        match entry.template {
            TemplateState::Ready if now < entry.clones_after => {}
            TemplateState::Ready => {
                let lacking = target(entry, policy)
                    .saturating_sub(entry.ready + entry.making)
                    .min(permits);
                if lacking > 0 {
                    permits -= lacking;
                    actions.push(PoolAction::MakeClones(entry.key.clone(), lacking));
                }
            }
            TemplateState::InProgress => {}
            TemplateState::FailedUntil(time) if now < time => {}
            TemplateState::Absent | TemplateState::FailedUntil(_)
                if may_make && templates < policy.templates =>
            {
                may_make = false;
                templates += 1;
                actions.push(PoolAction::MakeTemplate(entry.key.clone()));
            }
            TemplateState::Absent | TemplateState::FailedUntil(_) => {}
        }
    }
    actions
}

fn is_wanted(entry: &PoolEntry, policy: Policy, now: UnixMs) -> bool {
    entry.configured || now.since(entry.last_used) < policy.idle
}

/// Keys that are not configured keep a template, for clones on demand, but no waiting clones.
fn target(entry: &PoolEntry, policy: Policy) -> usize {
    if entry.configured { policy.clones } else { 0 }
}

fn drops(entries: &[PoolEntry], policy: Policy, now: UnixMs) -> Vec<PoolAction> {
    let mut actions = Vec::new();
    for entry in entries {
        let keep = if is_wanted(entry, policy, now) {
            target(entry, policy)
        } else {
            0
        };
        if entry.ready > keep {
            actions.push(PoolAction::DropClones(
                entry.key.clone(),
                entry.ready - keep,
            ));
        }
        if !is_wanted(entry, policy, now)
            && entry.template == TemplateState::Ready
            && entry.making == 0
        {
            actions.push(PoolAction::DropTemplate(entry.key.clone()));
        }
    }
    actions
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: UnixMs = UnixMs(10_000_000);

    fn key(mem_mib: u32) -> TemplateKey {
        TemplateKey {
            image: crate::ImageRef::default(),
            vcpus: 1,
            mem_mib,
            disk_mib: 1024,
        }
    }

    fn entry(mem_mib: u32, template: TemplateState, ready: usize, making: usize) -> PoolEntry {
        PoolEntry {
            key: key(mem_mib),
            configured: true,
            template,
            ready,
            making,
            last_used: NOW,
            clones_after: UnixMs(0),
        }
    }

    #[test]
    fn a_configured_key_gets_a_template_then_its_clones() {
        let policy = Policy {
            clones: 3,
            ..Policy::default()
        };
        assert_eq!(
            decide(&[entry(1, TemplateState::Absent, 0, 0)], policy, NOW),
            [PoolAction::MakeTemplate(key(1))]
        );
        assert_eq!(
            decide(&[entry(1, TemplateState::InProgress, 0, 0)], policy, NOW),
            []
        );
        assert_eq!(
            decide(&[entry(1, TemplateState::Ready, 0, 0)], policy, NOW),
            [PoolAction::MakeClones(key(1), 2)]
        );
        assert_eq!(
            decide(&[entry(1, TemplateState::Ready, 1, 1)], policy, NOW),
            [PoolAction::MakeClones(key(1), 1)]
        );
        assert_eq!(
            decide(&[entry(1, TemplateState::Ready, 3, 0)], policy, NOW),
            []
        );
    }

    #[test]
    fn one_template_at_a_time_and_clones_share_the_slots() {
        let entries = [
            entry(1, TemplateState::Absent, 0, 0),
            entry(2, TemplateState::Absent, 0, 0),
        ];
        assert_eq!(
            decide(&entries, Policy::default(), NOW),
            [PoolAction::MakeTemplate(key(1))]
        );
        let entries = [
            entry(1, TemplateState::Ready, 1, 0),
            entry(2, TemplateState::Ready, 0, 0),
        ];
        let wanted = [
            PoolAction::MakeClones(key(1), 1),
            PoolAction::MakeClones(key(2), 1),
        ];
        assert_eq!(decide(&entries, Policy::default(), NOW), wanted);
    }

    #[test]
    fn a_template_that_failed_waits_before_it_is_tried_again() {
        let later = TemplateState::FailedUntil(UnixMs(NOW.0 + 1));
        assert_eq!(decide(&[entry(1, later, 0, 0)], Policy::default(), NOW), []);
        let now = TemplateState::FailedUntil(NOW);
        assert_eq!(
            decide(&[entry(1, now, 0, 0)], Policy::default(), NOW),
            [PoolAction::MakeTemplate(key(1))]
        );
    }

    #[test]
    fn what_nobody_uses_goes() {
        let mut idle = entry(1, TemplateState::Ready, 1, 0);
        idle.configured = false;
        assert_eq!(
            decide(&[idle.clone()], Policy::default(), NOW),
            [PoolAction::DropClones(key(1), 1)]
        );
        idle.last_used = UnixMs(0);
        let wanted = [
            PoolAction::DropClones(key(1), 1),
            PoolAction::DropTemplate(key(1)),
        ];
        assert_eq!(decide(&[idle.clone()], Policy::default(), NOW), wanted);
        idle.making = 1;
        assert_eq!(
            decide(&[idle], Policy::default(), NOW).len(),
            1,
            "not under a clone being made"
        );
        let much = entry(1, TemplateState::Ready, 5, 0);
        assert_eq!(
            decide(&[much], Policy::default(), NOW),
            [PoolAction::DropClones(key(1), 3)]
        );
    }

    #[test]
    fn no_more_templates_than_allowed() {
        let policy = Policy {
            templates: 1,
            clones: 0,
            ..Policy::default()
        };
        let entries = [
            entry(1, TemplateState::Ready, 0, 0),
            entry(2, TemplateState::Absent, 0, 0),
        ];
        assert_eq!(decide(&entries, policy, NOW), []);
    }

    #[test]
    fn t8_no_clone_is_made_while_the_machine_has_too_little() {
        let mut lacking = entry(256, TemplateState::Ready, 0, 0);
        lacking.clones_after = NOW.plus(Duration::from_secs(30));
        let entries = [lacking];
        assert_eq!(decide(&entries, Policy::default(), NOW), []);
        let later = NOW.plus(Duration::from_secs(30));
        let actions = decide(&entries, Policy::default(), later);
        assert!(
            matches!(actions[..], [PoolAction::MakeClones(_, 2)]),
            "{actions:?}"
        );
    }
}
