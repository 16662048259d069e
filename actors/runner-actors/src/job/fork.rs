//! A runner for a step beside others: it begins as the job is, and what it has changed is the
//! job's when somebody waits for it.

use std::collections::HashMap;
use std::rc::Rc;

use tokio::sync::watch;

use super::checked_out::CheckedOutTree;
use super::frame::set;
use super::runner_state::CurrentStep;
use super::shell_start::ShellStart;
use super::step_runner::StepRunner;
use super::variables::JobVariables;
use crate::log::LineKind;

/// What a fork began with.
#[derive(Default)]
pub(super) struct ForkBase {
    variables: JobVariables,
    trees: Vec<CheckedOutTree>,
    /// State of actions.
    state: HashMap<usize, Vec<(String, String)>>,
}

impl<'a> StepRunner<'a> {
    /// A runner for the step that has the job's next number. What it counts and masks is counted
    /// and masked with the job's.
    /// `cancel` is the job's cancellation and that of the step, `cancel_step` the latter alone.
    pub(super) fn fork(
        &self,
        cancel: watch::Receiver<bool>,
        cancel_step: watch::Receiver<bool>,
    ) -> (Self, ForkBase) {
        let mut node_actions = self.node_actions.clone();
        // Those that it meets.
        node_actions.posts.clear();
        let base = ForkBase {
            variables: self.variables.clone(),
            trees: self.checkouts.trees.clone(),
            state: node_actions.state.clone(),
        };
        let fork = Self {
            request: self.request,
            machine: self.machine,
            log: self.log,
            cancel,
            events: self.events.clone(),
            secrets: self.secrets.clone(),
            variables: self.variables.clone(),
            current: CurrentStep::beside_others(self.current.number, cancel_step),
            checkouts: self.checkouts.fork(),
            progress: self.progress.fork(),
            counters: Rc::clone(&self.counters),
            caches: Vec::new(),
            node_actions,
            containers: self.containers.clone(),
            shell: ShellStart::default(),
            admission: self.admission.clone(),
            folders: self.folders.clone(),
        };
        (fork, base)
    }

    /// Takes over what a fork has changed since its beginning.
    pub(super) async fn merge(&mut self, fork: Self, base: &ForkBase) {
        for pair in fork.variables.env {
            if !base.variables.env.contains(&pair) {
                set(&mut self.variables.env, pair);
            }
        }
        prepend(
            &mut self.variables.path,
            &base.variables.path,
            &fork.variables.path,
        );
        if let Err(error) = self
            .variables
            .matchers
            .take_over(&base.variables.matchers, &fork.variables.matchers)
        {
            let text = format!("problem matchers of a step in the background are dropped: {error}");
            self.log
                .line(self.current.number, LineKind::Warning, &text)
                .await;
        }
        for tree in fork.checkouts.trees {
            if !base.trees.iter().any(|known| known.is_same(&tree)) {
                self.checkouts
                    .trees
                    .retain(|known| known.directory != tree.directory);
                self.checkouts.trees.push(tree);
            }
        }
        self.checkouts.keys.extend(fork.checkouts.keys);
        self.caches.extend(fork.caches);
        let actions = fork.node_actions;
        let known = &mut self.node_actions;
        known.listing = known.listing.take().or(actions.listing);
        known.present.extend(actions.present);
        let changed = actions.state.into_iter();
        let changed = changed.filter(|(slot, state)| base.state.get(slot) != Some(state));
        known.state.extend(changed);
        actions.posts.into_iter().for_each(|post| known.keep(post));
        self.containers.built.extend(fork.containers.built);
        self.shell.take_over(fork.shell);
        self.progress.records.extend(fork.progress.records);
        self.progress.records.sort_by_key(|done| done.record.number);
    }
}

/// Puts before `PATH` what a fork has put there: all before what it has in common with its
/// beginning, in its order.
fn prepend(path: &mut Vec<String>, base: &[String], fork: &[String]) {
    let common = fork.iter().rev().zip(base.iter().rev());
    let common = common.take_while(|(one, other)| one == other).count();
    let added = &fork[..fork.len() - common];
    path.retain(|folder| !added.contains(folder));
    path.splice(0..0, added.iter().cloned());
}

#[cfg(test)]
mod tests {
    use super::prepend;

    #[test]
    fn i17_folders_of_a_step_beside_come_before_those_of_the_job() {
        let words =
            |text: &str| -> Vec<String> { text.split_whitespace().map(str::to_owned).collect() };
        for (path, base, fork, expected) in [
            ("b a", "a", "a", "b a"),
            ("b a", "a", "c a", "c b a"),
            ("b a", "a", "d c a", "d c b a"),
            // What the job has put there meanwhile, too.
            ("c b a", "a", "c a", "c b a"),
            ("a", "", "", "a"),
            ("x n18 n20", "n18 n20", "n20 n18", "n20 n18 x"),
        ] {
            let mut path = words(path);
            prepend(&mut path, &words(base), &words(fork));
            assert_eq!(path, words(expected));
        }
    }
}
