//! What `workflow-runner check --summary` counts over many repositories: accepted, refused by
//! reason, and which additions would make most files acceptable.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::report::{FileReport, FileStatus};
use crate::workflow::Need;

/// How many additions are named; the first ones matter.
const MAX_ADDITIONS: usize = 25;

/// Counts over many files.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// Files that were found.
    pub files: usize,
    /// Those that could not be read or are too large: nothing is known of them.
    pub unread: usize,
    /// Files of which everything would run.
    pub accepted: usize,
    /// Well-written files with something that is not done.
    pub refused: usize,
    /// Files with mistakes, in the order of their names.
    pub wrong: Vec<WrongFile>,
    /// Files that need neither macOS nor Windows, wrong ones left out.
    pub linux_only: usize,
    /// Files that would be accepted with everything in the store of actions that they name, as far
    /// as it is known without it, so at most these: what an action needs in turn is seen once it is
    /// there.
    pub with_full_store: usize,
    /// The same with every image that they name as well.
    pub with_full_store_and_images: usize,
    /// Why files are refused; the most frequent reason first.
    pub reasons: Vec<ReasonCount>,
    /// Which additions would make most files acceptable, by group: each counts on those before it.
    pub additions: Vec<Addition>,
    /// The same by single thing: this action, that input.
    pub single_additions: Vec<Addition>,
}

/// A file with a mistake.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WrongFile {
    /// Which.
    pub file: String,
    /// Its first mistake.
    pub mistake: String,
}

/// How many files are refused for a reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReasonCount {
    /// The group.
    pub reason: String,
    /// Files with it; a file may have several reasons.
    pub files: usize,
    /// Files with it and with no other.
    pub alone: usize,
    /// The single things of the group with their files, most frequent first.
    pub details: Vec<(String, usize)>,
}

/// Things that, added together, make files acceptable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Addition {
    /// What to add.
    pub needs: Vec<String>,
    /// Files that become acceptable by it.
    pub gained: usize,
    /// Files acceptable then.
    pub accepted: usize,
}

/// Counts reports; `unread` files have none.
#[must_use]
pub fn summarise(reports: &[FileReport], unread: usize) -> Summary {
    let of = |status| {
        reports
            .iter()
            .filter(move |report| report.status() == status)
    };
    let accepted = of(FileStatus::Good).count();
    let refused: Vec<&FileReport> = of(FileStatus::Refused).collect();
    let groups = refused.iter().map(|report| keys(report, Need::group));
    let groups: Vec<BTreeSet<String>> = groups.collect();
    let details: Vec<BTreeSet<String>> = refused
        .iter()
        .map(|report| keys(report, labelled))
        .collect();
    let helped = |is_there: fn(&Need) -> bool| {
        let all_there = |report: &&&FileReport| {
            let mut refusals = report.refused.iter();
            refusals.all(|refusal| is_there(&refusal.need))
        };
        refused.iter().filter(all_there).count()
    };
    let linux = refused.iter().filter(|report| !other_system(report));
    Summary {
        files: reports.len() + unread,
        unread,
        accepted,
        refused: refused.len(),
        linux_only: accepted + linux.count(),
        with_full_store: accepted + helped(needs_store),
        with_full_store_and_images: accepted
            + helped(|need| needs_store(need) || matches!(need, Need::Image(_))),
        wrong: of(FileStatus::Wrong).map(wrong_file).collect(),
        reasons: reasons(&refused, &groups),
        additions: additions(&groups, accepted),
        single_additions: additions(&details, accepted),
    }
}

fn wrong_file(report: &FileReport) -> WrongFile {
    let text = report.diagnostics.to_string();
    WrongFile {
        file: report.file.clone(),
        mistake: text.lines().next().unwrap_or_default().to_owned(),
    }
}

/// Whether what is missing comes from the store of actions: actions, workflows, and the originals
/// of `setup-…`.
fn needs_store(need: &Need) -> bool {
    match need {
        Need::Action(_) | Need::RemoteWorkflow(_) | Need::Version(_) => true,
        Need::NativeInput(name) => name.contains("/setup-") || name.contains("rust-toolchain"),
        _ => false,
    }
}

fn other_system(report: &FileReport) -> bool {
    let mut needs = report.refused.iter().map(|refusal| &refusal.need);
    needs.any(|need| matches!(need, Need::OtherSystem(_)))
}

/// The group and the single thing, where the thing says more.
fn labelled(need: &Need, feature: &str) -> String {
    let (group, detail) = (need.group(feature), need.detail(feature));
    if group == detail {
        detail
    } else {
        format!("{group}: {detail}")
    }
}

fn keys(report: &FileReport, key: impl Fn(&Need, &str) -> String) -> BTreeSet<String> {
    let refusals = report.refused.iter();
    refusals
        .map(|refusal| key(&refusal.need, &refusal.feature))
        .collect()
}

fn reasons(refused: &[&FileReport], groups: &[BTreeSet<String>]) -> Vec<ReasonCount> {
    let mut counts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for set in groups {
        for group in set {
            let (files, alone) = counts.entry(group).or_default();
            *files += 1;
            *alone += usize::from(set.len() == 1);
        }
    }
    let mut details: BTreeMap<(String, String), BTreeSet<usize>> = BTreeMap::new();
    for (index, report) in refused.iter().enumerate() {
        for refusal in &report.refused {
            let group = refusal.need.group(&refusal.feature);
            let detail = refusal.need.detail(&refusal.feature);
            if group != detail {
                details.entry((group, detail)).or_default().insert(index);
            }
        }
    }
    let mut reasons: Vec<ReasonCount> = counts
        .into_iter()
        .map(|(reason, (files, alone))| {
            let of_group = details.iter().filter(|((group, _), _)| group == reason);
            let mut details: Vec<(String, usize)> = of_group
                .map(|((_, detail), files)| (detail.clone(), files.len()))
                .collect();
            details.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
            ReasonCount {
                reason: reason.to_owned(),
                files,
                alone,
                details,
            }
        })
        .collect();
    reasons.sort_by(|a, b| {
        let files = b.files.cmp(&a.files);
        files.then_with(|| a.reason.cmp(&b.reason))
    });
    reasons
}

/// Needs by their position in the sorted list of all.
type NeedSet = BTreeSet<usize>;

/// Greedy over whole sets of reasons: a file with two reasons is not acceptable by one of them. The
/// set that gains most files for each thing that has to be added comes first.
fn additions(sets: &[BTreeSet<String>], accepted: usize) -> Vec<Addition> {
    let names: BTreeSet<&str> = sets.iter().flatten().map(String::as_str).collect();
    let names: Vec<&str> = names.into_iter().collect();
    let mut open: BTreeMap<NeedSet, usize> = BTreeMap::new();
    for set in sets {
        let positions = set.iter().map(|need| names.binary_search(&need.as_str()));
        *open.entry(positions.flatten().collect()).or_default() += 1;
    }
    let mut accepted = accepted;
    let mut chosen = Vec::new();
    while chosen.len() < MAX_ADDITIONS
        && let Some((best, gained)) = best(&open)
    {
        accepted += gained;
        chosen.push(Addition {
            needs: best.iter().map(|need| names[*need].to_owned()).collect(),
            gained,
            accepted,
        });
        let mut left: BTreeMap<NeedSet, usize> = BTreeMap::new();
        for (set, files) in open {
            let rest: NeedSet = set.difference(&best).copied().collect();
            if !rest.is_empty() {
                *left.entry(rest).or_default() += files;
            }
        }
        open = left;
    }
    chosen
}

fn best(open: &BTreeMap<NeedSet, usize>) -> Option<(NeedSet, usize)> {
    let gained = |candidate: &NeedSet| -> usize {
        let within = open.iter().filter(|(set, _)| set.is_subset(candidate));
        within.map(|(_, files)| files).sum()
    };
    let mut best: Option<(&NeedSet, usize)> = None;
    for candidate in open.keys() {
        let gained = gained(candidate);
        // More files for each thing; of equals the smaller set, then the order of names.
        let better = best.is_none_or(|(known, files)| {
            let (new, old) = (gained * known.len(), files * candidate.len());
            new > old || (new == old && candidate.len() < known.len())
        });
        if better {
            best = Some((candidate, gained));
        }
    }
    best.map(|(set, files)| (set.clone(), files))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sets(texts: &[&str]) -> Vec<BTreeSet<String>> {
        let set = |text: &&str| text.split(' ').map(str::to_owned).collect();
        texts.iter().map(set).collect()
    }

    #[test]
    fn additions_are_chosen_by_what_they_gain_together() {
        // `a` is in four files but opens none alone; `b` opens two at once.
        let sets = sets(&["a c", "a c", "a c", "a d e", "b", "b"]);
        let found = additions(&sets, 1);
        let shown: Vec<_> = found
            .iter()
            .map(|addition| (addition.needs.join(" "), addition.gained, addition.accepted))
            .collect();
        let expected = [("b", 2, 3), ("a c", 3, 6), ("d e", 1, 7)];
        assert_eq!(
            shown,
            expected.map(|(needs, gained, accepted)| (needs.to_owned(), gained, accepted))
        );
        assert_eq!(additions(&[], 5), []);
    }
}
