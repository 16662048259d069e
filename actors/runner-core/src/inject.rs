//! Texts that strangers write, inside scripts: `run: echo ${{ github.event.pull_request.title }}`
//! makes a command of a title.

use std::ops::Range;

use config_core::{Diagnostics, Severity, SourceText};

use crate::expr::{BinaryOperator, Chain, Expr, ExprTemplate, Function};
use crate::workflow::{InputKind, JobWork, Step, StepWork, Workflow};

/// Ends of names below `github.event` whose values a stranger can choose freely.
const FREE: [&str; 9] = [
    "title",
    "body",
    "message",
    "name",
    "email",
    "ref",
    "label",
    "page_name",
    "default_branch",
];
/// Others.
const WHOLE: [&str; 5] = [
    "github.head_ref",
    "github.event.inputs",
    "github.ref_name",
    "github.event.workflow_run.head_branch",
    "github.event.workflow_run.display_title",
];
/// Of those, what only people with rights in the repository can choose.
const OF_WRITERS: [&str; 10] = [
    "github.ref_name",
    "github.event.base_ref",
    "github.event.label.",
    "github.event.milestone.",
    "github.event.pull_request.base.",
    "github.event.pull_request.labels.",
    "github.event.pull_request.milestone.",
    "github.event.ref",
    "github.event.release.",
    "github.event.workflow_run.name",
];

/// Who chooses a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Chooser {
    /// Whoever may push, label or release.
    Writer,
    /// Whoever may start the workflow.
    Starter,
    /// Everybody.
    Stranger,
}

impl Chooser {
    fn chooses(self) -> &'static str {
        match self {
            Self::Writer => "whoever may push chooses",
            Self::Starter => "whoever starts the run chooses",
            Self::Stranger => "strangers choose",
        }
    }
}

/// Expressions of a script whose values others choose, as they are written.
pub fn untrusted(script: &str) -> Vec<String> {
    let found = chosen(script, &[]).into_iter();
    found.map(|(expression, _)| expression).collect()
}

/// The same with who chooses them; `typed` are inputs whose values are checked when the run is
/// started, in small letters.
fn chosen(script: &str, typed: &[String]) -> Vec<(String, Chooser)> {
    let mut found: Vec<(String, Chooser)> = Vec::new();
    let mut rest = script;
    while let Some(start) = rest.find("${{") {
        let Some(length) = rest[start..].find("}}") else {
            break;
        };
        let inner = rest[start + 3..start + length].trim();
        let parsed = Expr::parse(inner).ok();
        let chooser = parsed.as_ref().and_then(|expr| chooser_of(expr, typed));
        if let Some(chooser) = chooser
            && !found.iter().any(|(known, _)| known == inner)
        {
            found.push((inner.to_owned(), chooser));
        }
        rest = &rest[start + length + 2..];
    }
    found
}

/// Who chooses what an expression may come to: of conditions nobody does.
fn chooser_of(expr: &Expr, typed: &[String]) -> Option<Chooser> {
    let chooser_of = |expr: &Expr| chooser_of(expr, typed);
    match expr {
        Expr::Literal(_) | Expr::Context(_) | Expr::Not(_) => None,
        // What is on the left counts where it is empty or false only.
        Expr::Binary(BinaryOperator::And, _, right) => chooser_of(right),
        Expr::Binary(BinaryOperator::Or, left, right) => chooser_of(left).max(chooser_of(right)),
        Expr::Binary(..) => None,
        Expr::Call(
            Function::Format
            | Function::Join
            | Function::ToJson
            | Function::FromJson
            | Function::Case,
            arguments,
        ) => arguments.iter().filter_map(chooser_of).max(),
        Expr::Call(..) => None,
        Expr::Index(inner, _) | Expr::Star(inner) => match expr.chain() {
            Some(chain) => chooser(&name_of(&chain), typed),
            None => chooser_of(inner),
        },
    }
}

/// The dotted name of a chain, in lower case; `*` stands for what only the run knows.
fn name_of(chain: &Chain<'_>) -> String {
    let names = chain.names.iter().map(|name| name.unwrap_or("*"));
    let all: Vec<&str> = std::iter::once(chain.context.name()).chain(names).collect();
    all.join(".").to_ascii_lowercase()
}

fn chooser(name: &str, typed: &[String]) -> Option<Chooser> {
    let input = name.strip_prefix("github.event.inputs.");
    if input.is_some_and(|input| typed.iter().any(|known| known == input)) {
        return None;
    }
    let free = name.strip_prefix("github.event.").is_some_and(|rest| {
        let mut parts = rest.rsplit('.');
        parts.next().is_some_and(|last| FREE.contains(&last)) && !rest.starts_with("repository.")
    });
    let within = |whole: &str| {
        let rest = name.strip_prefix(whole);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.') || whole.ends_with('.'))
    };
    if !free && !WHOLE.iter().any(|whole| within(whole)) {
        return None;
    }
    Some(if within("github.event.inputs") {
        Chooser::Starter
    } else if OF_WRITERS.iter().any(|whole| within(whole)) {
        Chooser::Writer
    } else {
        Chooser::Stranger
    })
}

/// Inputs of actions that are run as scripts, in small letters.
const SCRIPTS: [(&str, &str); 6] = [
    ("actions/github-script", "script"),
    ("nick-fields/retry", "command"),
    ("nick-invision/retry", "command"),
    ("azure/cli", "inlinescript"),
    ("azure/powershell", "inlinescript"),
    ("appleboy/ssh-action", "script"),
];

/// What of a step is run as commands: its script, or the script that an action is given.
fn scripts(step: &Step) -> Vec<&ExprTemplate> {
    match &step.work {
        StepWork::Run { script, .. } => vec![script],
        StepWork::Uses { uses, with, .. } => {
            let name = uses.value.split('@').next().unwrap_or_default();
            let name = name.to_ascii_lowercase();
            let is_script = |input: &str| {
                let mut known = SCRIPTS.iter();
                known.any(|(action, key)| name == *action && input.eq_ignore_ascii_case(key))
            };
            let given = with.iter().filter(|(input, _)| is_script(input));
            given.map(|(_, value)| value).collect()
        }
        _ => Vec::new(),
    }
}

/// The inputs of `workflow_dispatch` that cannot be any text: true or false, a number, one of some.
fn typed_inputs(workflow: &Workflow) -> Vec<String> {
    let inputs = workflow.on.workflow_dispatch.iter().flatten();
    let is_typed = |kind: &InputKind| {
        matches!(
            kind,
            InputKind::Boolean | InputKind::Number | InputKind::Choice(_)
        )
    };
    let typed = inputs.filter(|input| is_typed(&input.kind));
    typed.map(|input| input.name.to_ascii_lowercase()).collect()
}

/// Where an expression stands in a script: in its line of a block, where it is found as written.
fn place_of(expression: &str, script: &ExprTemplate, text: &str) -> Range<usize> {
    let whole = script.place.bytes();
    let mut at = whole.start;
    while let Some(open) = text.get(at..).and_then(|rest| rest.find("${{")) {
        let start = at + open;
        let Some(length) = text[start..].find("}}") else {
            break;
        };
        if text[start + 3..start + length].trim() == expression {
            return start..start + length + 2;
        }
        at = start + length;
    }
    whole
}

/// A warning for each step whose script holds such an expression.
pub(crate) fn warnings(workflow: &Workflow, bytes: &[u8]) -> Diagnostics {
    let mut warnings = Diagnostics::default();
    let Ok(text) = SourceText::read(&workflow.file, bytes) else {
        return warnings;
    };
    let typed = typed_inputs(workflow);
    for job in &workflow.jobs {
        let JobWork::Steps { steps, .. } = &job.work else {
            continue;
        };
        for script in steps.iter().flat_map(scripts) {
            for (expression, chooser) in chosen(&script.source, &typed) {
                let who = chooser.chooses();
                let message = format!(
                    "`${{{{ {expression} }}}}` puts a text that {who} into a script, where it is run as commands"
                );
                let help = "give it to the step by `env`, and use the variable in double quotes";
                let place = place_of(&expression, script, text.text());
                warnings.push(text.diagnostic(Severity::Warning, place, &message, Some(help), ""));
            }
        }
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r03_what_strangers_choose_is_found_and_the_rest_is_not() {
        let script = "echo '${{ github.event.pull_request.title }}' ${{github.HEAD_REF}} ${{ format('{0}', github.event.commits[0].message) }} ${{ github.event.inputs.x }}";
        assert_eq!(
            untrusted(script),
            [
                "github.event.pull_request.title",
                "github.HEAD_REF",
                "format('{0}', github.event.commits[0].message)",
                "github.event.inputs.x"
            ]
        );
        for harmless in [
            "echo ${{ github.sha }} ${{ github.event.number }} ${{ github.event.pull_request.head.sha }}",
            "echo ${{ 'github.event.issue.title' }} ${{ env.TITLE }} ${{ github.event.repository.name }}",
            "echo $TITLE ${{ unclosed",
            "echo ${{ contains(github.event.pull_request.labels.*.name, 'full') }}",
            "echo ${{ github.head_ref == 'x' && 'a' || 'b' }} ${{ !github.head_ref }}",
        ] {
            assert_eq!(untrusted(harmless), Vec::<String>::new(), "{harmless}");
        }
    }

    #[test]
    fn i17_who_chooses_a_text_is_told_apart() {
        for (expression, who) in [
            ("github.event.issue.title", Chooser::Stranger),
            ("github.event.workflow_run.head_branch", Chooser::Stranger),
            (
                "github.event.name && github.head_ref || 'x'",
                Chooser::Stranger,
            ),
            ("toJSON(github.event.commits.*.message)", Chooser::Stranger),
            ("github.event.inputs.version", Chooser::Starter),
            (
                "github.event.inputs.tag || github.ref_name",
                Chooser::Starter,
            ),
            ("github.ref_name", Chooser::Writer),
            ("github.event.pull_request.base.ref", Chooser::Writer),
            ("github.event.pull_request.labels[0].name", Chooser::Writer),
            ("github.event.workflow_run.name", Chooser::Writer),
            ("github.event.release.body", Chooser::Writer),
        ] {
            let found = chosen(&format!("echo ${{{{ {expression} }}}}"), &[]);
            assert_eq!(found, [(expression.to_owned(), who)], "{expression}");
        }
    }

    /// Where each warning was said, and of inputs whose values are checked as well.
    #[test]
    fn i17_a_warning_of_a_script_stands_at_its_line() {
        let text = "on:\n  workflow_dispatch:\n    inputs:\n      free: {type: string}\n      yes: {type: boolean}\n      which: {type: choice, options: [a, b]}\n      count: {type: number}\njobs:\n  a:\n    runs-on: x\n    steps:\n      - run: |\n          make\n          echo ${{ github.event.inputs.YES }} ${{ github.event.inputs.which }}\n          echo ${{ github.event.inputs.count }}\n          echo ${{ github.event.inputs.free }}\n";
        let workflow = crate::workflow::parse("ci.yml", text.as_bytes()).unwrap();
        let found = warnings(&workflow.value, text.as_bytes());
        let places: Vec<_> = found.iter().map(|it| (it.line, it.col)).collect();
        assert_eq!(places, [(Some(16), Some(16))], "{found:?}");
    }
}
