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
pub struct Shelf {
    /// What its clones are made of.
    pub key: TemplateKey,
    /// Whether the configuration names it.
    pub configured: bool,
    /// Whether there is a template to clone from.
    pub template: Template,
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
pub enum Template {
    /// None.
    Absent,
    /// It is being made.
    Making,
    /// Clones can be made.
    Ready,
    /// Making it failed; it is tried again then.
    FailedUntil(UnixMs),
}

/// What to do for one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
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
pub fn decide(shelves: &[Shelf], policy: Policy, now: UnixMs) -> Vec<Action> {
    let mut actions = drops(shelves, policy, now);
    let making_template = shelves
        .iter()
        .any(|shelf| shelf.template == Template::Making);
    let mut templates = shelves
        .iter()
        .filter(|shelf| shelf.template == Template::Ready)
        .count();
    let mut may_make = !making_template;
    let mut slots = policy
        .parallel
        .saturating_sub(shelves.iter().map(|shelf| shelf.making).sum());
    for shelf in shelves.iter().filter(|shelf| wanted(shelf, policy, now)) {
        match shelf.template {
            Template::Ready if now < shelf.clones_after => {}
            Template::Ready => {
                let lacking = target(shelf, policy)
                    .saturating_sub(shelf.ready + shelf.making)
                    .min(slots);
                if lacking > 0 {
                    slots -= lacking;
                    actions.push(Action::MakeClones(shelf.key.clone(), lacking));
                }
            }
            Template::Making => {}
            Template::FailedUntil(time) if now < time => {}
            Template::Absent | Template::FailedUntil(_)
                if may_make && templates < policy.templates =>
            {
                may_make = false;
                templates += 1;
                actions.push(Action::MakeTemplate(shelf.key.clone()));
            }
            Template::Absent | Template::FailedUntil(_) => {}
        }
    }
    actions
}

fn wanted(shelf: &Shelf, policy: Policy, now: UnixMs) -> bool {
    shelf.configured || now.since(shelf.last_used) < policy.idle
}

/// Keys that are not configured keep a template, for clones on demand, but no waiting clones.
fn target(shelf: &Shelf, policy: Policy) -> usize {
    if shelf.configured { policy.clones } else { 0 }
}

fn drops(shelves: &[Shelf], policy: Policy, now: UnixMs) -> Vec<Action> {
    let mut actions = Vec::new();
    for shelf in shelves {
        let keep = if wanted(shelf, policy, now) {
            target(shelf, policy)
        } else {
            0
        };
        if shelf.ready > keep {
            actions.push(Action::DropClones(shelf.key.clone(), shelf.ready - keep));
        }
        if !wanted(shelf, policy, now) && shelf.template == Template::Ready && shelf.making == 0 {
            actions.push(Action::DropTemplate(shelf.key.clone()));
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

    fn shelf(mem_mib: u32, template: Template, ready: usize, making: usize) -> Shelf {
        Shelf {
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
            decide(&[shelf(1, Template::Absent, 0, 0)], policy, NOW),
            [Action::MakeTemplate(key(1))]
        );
        assert_eq!(decide(&[shelf(1, Template::Making, 0, 0)], policy, NOW), []);
        assert_eq!(
            decide(&[shelf(1, Template::Ready, 0, 0)], policy, NOW),
            [Action::MakeClones(key(1), 2)]
        );
        assert_eq!(
            decide(&[shelf(1, Template::Ready, 1, 1)], policy, NOW),
            [Action::MakeClones(key(1), 1)]
        );
        assert_eq!(decide(&[shelf(1, Template::Ready, 3, 0)], policy, NOW), []);
    }

    #[test]
    fn one_template_at_a_time_and_clones_share_the_slots() {
        let shelves = [
            shelf(1, Template::Absent, 0, 0),
            shelf(2, Template::Absent, 0, 0),
        ];
        assert_eq!(
            decide(&shelves, Policy::default(), NOW),
            [Action::MakeTemplate(key(1))]
        );
        let shelves = [
            shelf(1, Template::Ready, 1, 0),
            shelf(2, Template::Ready, 0, 0),
        ];
        let wanted = [Action::MakeClones(key(1), 1), Action::MakeClones(key(2), 1)];
        assert_eq!(decide(&shelves, Policy::default(), NOW), wanted);
    }

    #[test]
    fn a_template_that_failed_waits_before_it_is_tried_again() {
        let later = Template::FailedUntil(UnixMs(NOW.0 + 1));
        assert_eq!(decide(&[shelf(1, later, 0, 0)], Policy::default(), NOW), []);
        let now = Template::FailedUntil(NOW);
        assert_eq!(
            decide(&[shelf(1, now, 0, 0)], Policy::default(), NOW),
            [Action::MakeTemplate(key(1))]
        );
    }

    #[test]
    fn what_nobody_uses_goes() {
        let mut idle = shelf(1, Template::Ready, 1, 0);
        idle.configured = false;
        assert_eq!(
            decide(&[idle.clone()], Policy::default(), NOW),
            [Action::DropClones(key(1), 1)]
        );
        idle.last_used = UnixMs(0);
        let wanted = [Action::DropClones(key(1), 1), Action::DropTemplate(key(1))];
        assert_eq!(decide(&[idle.clone()], Policy::default(), NOW), wanted);
        idle.making = 1;
        assert_eq!(
            decide(&[idle], Policy::default(), NOW).len(),
            1,
            "not under a clone being made"
        );
        let much = shelf(1, Template::Ready, 5, 0);
        assert_eq!(
            decide(&[much], Policy::default(), NOW),
            [Action::DropClones(key(1), 3)]
        );
    }

    #[test]
    fn no_more_templates_than_allowed() {
        let policy = Policy {
            templates: 1,
            clones: 0,
            ..Policy::default()
        };
        let shelves = [
            shelf(1, Template::Ready, 0, 0),
            shelf(2, Template::Absent, 0, 0),
        ];
        assert_eq!(decide(&shelves, policy, NOW), []);
    }

    #[test]
    fn t8_no_clone_is_made_while_the_machine_has_too_little() {
        let mut lacking = shelf(256, Template::Ready, 0, 0);
        lacking.clones_after = NOW.plus(Duration::from_secs(30));
        let shelves = [lacking];
        assert_eq!(decide(&shelves, Policy::default(), NOW), []);
        let later = NOW.plus(Duration::from_secs(30));
        let actions = decide(&shelves, Policy::default(), later);
        assert!(
            matches!(actions[..], [Action::MakeClones(_, 2)]),
            "{actions:?}"
        );
    }
}
