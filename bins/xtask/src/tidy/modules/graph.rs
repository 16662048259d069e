//! The module graph of one crate: an edge from each file to the files whose definitions it uses.

use std::collections::{BTreeMap, VecDeque};

use super::resolve::{Modules, PathTarget};
use crate::tidy::module_source::Path;

/// Why a module needs another: one import or path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Evidence {
    /// The path as written.
    pub(super) path: String,
    /// `file:line`.
    pub(super) place: String,
}

/// Which module uses which, by their paths in the crate.
#[derive(Debug, Default)]
pub(super) struct Graph {
    edges: BTreeMap<String, BTreeMap<String, Evidence>>,
}

/// A group of modules each of which needs all others, directly or not.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ModuleCycle {
    /// All modules of the group.
    pub(super) modules: Vec<String>,
    /// A shortest way round: from, to, and one reason.
    pub(super) cycle: Vec<(String, String, Evidence)>,
}

impl Graph {
    /// Draws the graph.
    pub(super) fn new(modules: &Modules) -> Self {
        let mut graph = Self::default();
        for (at, module) in modules.0.iter().enumerate() {
            if module.node == at {
                graph.edges.entry(name(modules, at)).or_default();
            }
            let own = module
                .source
                .imports
                .iter()
                .filter(|import| !import.reexport);
            let own = own
                .filter(|import| import.name != "*")
                .map(|import| &import.path);
            for path in own.chain(&module.source.paths) {
                graph.add(modules, at, path);
            }
        }
        graph
    }

    fn add(&mut self, modules: &Modules, from: usize, path: &Path) {
        // Naming a module uses nothing of it yet.
        let Some(PathTarget::Item(to)) = modules.resolve(from, path) else {
            return;
        };
        let (from_node, to) = (modules.0[from].node, modules.0[to].node);
        if from_node == to {
            return;
        }
        let evidence = Evidence {
            path: path.segments.join("::"),
            place: format!("{}:{}", modules.0[from].file, path.line),
        };
        let from = self.edges.entry(name(modules, from_node)).or_default();
        from.entry(name(modules, to)).or_insert(evidence);
    }

    /// The groups of modules in a cycle, the largest first.
    pub(super) fn knots(&self) -> Vec<ModuleCycle> {
        let reach: BTreeMap<&str, BTreeMap<&str, &str>> = self
            .edges
            .keys()
            .map(|from| (from.as_str(), self.reached(from)))
            .collect();
        let mut left: Vec<&str> = self.edges.keys().map(String::as_str).collect();
        let mut knots = Vec::new();
        while let Some(first) = left.first().copied() {
            let both = |to: &&str| {
                *to == first || (reach[first].contains_key(to) && reach[to].contains_key(first))
            };
            let (group, rest): (Vec<&str>, Vec<&str>) = left.iter().copied().partition(both);
            left = rest;
            if group.len() > 1 {
                knots.push(self.knot(&group, &reach));
            }
        }
        knots.sort_by_key(|knot| std::cmp::Reverse(knot.modules.len()));
        knots
    }

    /// What can be reached from a module by at least one edge, each with the module before it.
    fn reached(&self, from: &str) -> BTreeMap<&str, &str> {
        let mut before = BTreeMap::new();
        let start = self
            .edges
            .get_key_value(from)
            .map(|(name, _)| name.as_str());
        let mut queue: VecDeque<&str> = start.into_iter().collect();
        while let Some(at) = queue.pop_front() {
            for to in self.edges.get(at).into_iter().flat_map(BTreeMap::keys) {
                if !before.contains_key(to.as_str()) {
                    before.insert(to.as_str(), at);
                    queue.push_back(to);
                }
            }
        }
        before
    }

    fn knot(&self, group: &[&str], reach: &BTreeMap<&str, BTreeMap<&str, &str>>) -> ModuleCycle {
        let rounds = group.iter().map(|start| round(start, &reach[start]));
        let shortest = rounds.min_by_key(Vec::len).unwrap_or_default();
        let cycle = shortest.windows(2).map(|pair| {
            let evidence = self.edges[pair[0]][pair[1]].clone();
            (pair[0].to_owned(), pair[1].to_owned(), evidence)
        });
        ModuleCycle {
            modules: group.iter().map(|name| (*name).to_owned()).collect(),
            cycle: cycle.collect(),
        }
    }

    /// The graph for people: each module, and below it those it uses.
    pub(super) fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for (from, to) in &self.edges {
            lines.push(from.clone());
            lines.extend(to.iter().map(|(to, evidence)| {
                format!("    {to}  ({}, {})", evidence.path, evidence.place)
            }));
        }
        lines
    }
}

/// The way from `start` back to it, by the module before each.
fn round<'a>(start: &'a str, before: &BTreeMap<&'a str, &'a str>) -> Vec<&'a str> {
    let mut way = vec![start];
    while let Some(at) = way.last().and_then(|last| before.get(last)) {
        way.push(at);
        if *at == start {
            break;
        }
    }
    way.reverse();
    way
}

fn name(modules: &Modules, at: usize) -> String {
    match modules.0[at].name.as_slice() {
        [] => "crate".to_owned(),
        parts => parts.join("::"),
    }
}
