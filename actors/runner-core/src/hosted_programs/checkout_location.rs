//! Where the checkout lies: scripts that reach beside it (`../build`), which is the root of the
//! machine where steps are root, and files that name it as GitHub's machines have it.

use super::command_prefix::is_before;
use crate::context::WORKSPACE;
use crate::expr::ExprTemplate;
use crate::job_folders::below_workspace;
use crate::plan::{KnownValues, PlannedJob, PlannedStep, StepKind};
use crate::workflow::{Env, Workflow};

/// Around the checkouts of GitHub's machines.
const ON_GITHUB: &str = concat!("/home/runner", "/work", "/");

/// Commands whose words name no files of the folder that they are in.
const OF_TEXT: [&str; 7] = ["echo", "egrep", "grep", "ln", "printf", "rg", "sed"];

/// The note of a job whose scripts begin in the checkout.
pub(super) fn beside_note(steps: &[PlannedStep], known: &KnownValues) -> Option<String> {
    let mut own = steps
        .iter()
        .filter(|step| known.holds(step.condition.as_ref()) != Some(false));
    let found = own.find_map(|step| match &step.work {
        StepKind::Run {
            script,
            working_directory: None,
            ..
        } => reaches_beside(&script.source),
        _ => None,
    })?;
    Some(format!(
        "its scripts reach beside the checkout (`{found}`): where steps are root `..` is the root of the machine, and the folder around the checkout is `$RUNNER_WORKSPACE`; with a `user` of the machine (`runner`) it is that folder, as on GitHub"
    ))
}

/// The note of a job that names the checkout as it is called on GitHub's machines; where its steps
/// are a user, it is called so.
pub(super) fn written_out_note(
    (workflow, job): (&Workflow, &PlannedJob),
    steps: &[PlannedStep],
    known: &KnownValues,
    is_user: bool,
) -> Option<String> {
    let of_env = |env| variables(env).find_map(written_out);
    let of_steps = || {
        let mut own = steps
            .iter()
            .filter(|step| known.holds(step.condition.as_ref()) != Some(false));
        own.find_map(|step| {
            variables(&step.env)
                .chain(texts(&step.work))
                .find_map(written_out)
        })
    };
    let found = of_env(&workflow.env)
        .or_else(|| of_env(&job.job.env))
        .or_else(of_steps)?;
    if is_user && below_workspace(found).is_some() {
        return None;
    }
    Some(format!(
        "it names `{found}`, where GitHub's machines have the checkout: where steps are root that is `{WORKSPACE}` here, and `$GITHUB_WORKSPACE` (`github.workspace`) everywhere"
    ))
}

fn variables(env: &Env) -> Box<dyn Iterator<Item = &str> + '_> {
    match env {
        Env::Map(entries) => Box::new(entries.iter().map(|(_, value)| &*value.source)),
        Env::Expr(value) => Box::new(std::iter::once(&*value.source)),
    }
}

/// Its script, or what it gives to an action.
fn texts(work: &StepKind) -> Box<dyn Iterator<Item = &str> + '_> {
    match work {
        StepKind::Run { script, .. } => Box::new(std::iter::once(&*script.source)),
        StepKind::Native { with, .. } => Box::new(with.iter().map(|(_, value)| &*value.source)),
        StepKind::Composite(action) => Box::new(literal_inputs(&action.inputs)),
        StepKind::Node(action) => Box::new(literal_inputs(&action.inputs)),
        StepKind::Docker(action) => Box::new(literal_inputs(&action.inputs)),
        _ => Box::new(std::iter::empty()),
    }
}

fn literal_inputs(inputs: &[(String, Option<ExprTemplate>)]) -> impl Iterator<Item = &str> {
    let inputs = inputs.iter();
    inputs.filter_map(|(_, value)| Some(&*value.as_ref()?.source))
}

/// The path in a text that no machine here has.
fn written_out(text: &str) -> Option<&str> {
    let is_code = |line: &&str| !line.trim_start().starts_with('#');
    text.lines().filter(is_code).find_map(|line| {
        let path = &line[line.find(ON_GITHUB)?..];
        let apart = |c: char| c.is_whitespace() || "\"'`,;:)&|".contains(c);
        path.split(apart).next()
    })
}

/// What a script names that lies beside the folder that it begins in.
fn reaches_beside(script: &str) -> Option<&str> {
    for line in script.lines().map(str::trim) {
        if line.starts_with('#') {
            continue;
        }
        for part in line.split([';', '|', '&', '(', ')', '`']) {
            let words: Vec<&str> = part.split_whitespace().collect();
            let Some(first) = words.iter().position(|word| !is_before(word)) else {
                continue;
            };
            let words = &words[first..];
            let of_text = OF_TEXT.contains(&words[0]);
            let mut pairs = words.iter().skip(1).zip(words);
            let named = pairs.find_map(|(word, before)| {
                let word = word
                    .trim_start_matches(['2', '>'])
                    .trim_matches(['"', '\'']);
                let is_meant = !of_text || before.ends_with('>');
                let path = word.rsplit('=').next().unwrap_or(word);
                (is_meant && (path == ".." || path.starts_with("../"))).then_some(path)
            });
            if named.is_some() {
                return named;
            }
            // What follows is somewhere else, or no command.
            let is_elsewhere = matches!(words[0], "cd" | "pushd" | "popd");
            if is_elsewhere || words.iter().any(|word| word.starts_with("<<")) {
                return None;
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i17_what_lies_beside_the_checkout_is_found_where_a_script_begins() {
        for (script, expected) in [
            ("./count.sh | tee ../old.txt", Some("../old.txt")),
            (
                "git worktree add --detach \"../prev\" \"$SHA\"",
                Some("../prev"),
            ),
            ("mkdir ../build && cd ../build", Some("../build")),
            ("cd ..\nls", Some("..")),
            ("echo a > ../list", Some("../list")),
            ("x=$(readlink -f ../install)", Some("../install")),
            ("./configure --prefix=../out", Some("../out")),
            ("cd build\n../configure", None),
            ("cd build && cmake ..", None),
            ("pushd a; make -C ../b; popd", None),
            ("# ../x\nmake", None),
            ("ln -s ../a/b c", None),
            ("sed -i 's/a/b/' ../c", None),
            ("echo ../x", None),
            ("cat > a <<EOF\nread ../x\nEOF", None),
            ("node -e 'require(\"../x\")'", None),
            ("make", None),
        ] {
            assert_eq!(reaches_beside(script), expected, "{script}");
        }
    }
    #[test]
    fn i17_the_checkout_as_github_calls_it_is_found() {
        let path = |rest: &str| format!("{ON_GITHUB}{rest}");
        for (before, rest, behind, is_found) in [
            ("cp ", "a/a/COPYING", " \"$X\"", true),
            ("x=1:list=", "a/a/list", ":y=2", true),
            ("make\n  ls '", "a/a", "'", true),
            ("# in ", "a", "", false),
        ] {
            let text = format!("{before}{}{behind}", path(rest));
            let expected = is_found.then(|| path(rest));
            assert_eq!(written_out(&text), expected.as_deref(), "{text}");
        }
        assert_eq!(written_out("ls /home/runner"), None);
    }
}
