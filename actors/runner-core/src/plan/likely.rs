//! Whether a step's condition holds, as far as that can be told before a run: what machine it is on
//! is known, and the values of the job's matrix.

use super::types::{Instances, JobInstance};
use crate::context::runner;
use crate::expr::{
    BinaryOperator, ContextName, Contexts, Expr, ExprScope, ExprValue, Function, IfCondition,
};
use crate::hosted_label::is_other_system;

/// What is known of the steps of a job.
#[derive(Debug, Clone, Default)]
pub(crate) struct KnownValues {
    /// Of each copy here, where its copies are known.
    matrices: Vec<ExprValue>,
}

impl KnownValues {
    pub(super) fn from_instances(instances: &Instances) -> Self {
        let copies = match instances {
            Instances::Known(copies) => copies.as_slice(),
            Instances::Later => &[],
        };
        Self::of_copies(copies)
    }

    /// Of those of these copies that do not ask for another system: such a copy is refused by
    /// itself.
    pub(crate) fn of_copies(copies: &[JobInstance]) -> Self {
        let is_here = |copy: &&JobInstance| !copy.runs_on.iter().any(|it| is_other_system(it));
        let here = copies.iter().filter(is_here);
        Self {
            matrices: here.map(|copy| copy.matrix.clone()).collect(),
        }
    }

    /// Whether it holds in a copy that nothing has failed in before: surely, surely not in any, or
    /// nobody knows.
    pub(crate) fn holds(&self, condition: Option<&IfCondition>) -> Option<bool> {
        let Some(condition) = condition else {
            return Some(true);
        };
        let runner = Contexts::default().with(ContextName::Runner, runner("", false));
        if self.matrices.is_empty() {
            return decided(condition.expr(), &runner, &|expr| is_known(expr, false));
        }
        let copies = self.matrices.iter().map(|matrix| {
            let contexts = runner.clone().with(ContextName::Matrix, matrix.clone());
            decided(condition.expr(), &contexts, &|expr| is_known(expr, true))
        });
        let copies: Vec<Option<bool>> = copies.collect();
        if copies.contains(&Some(true)) {
            Some(true)
        } else {
            copies.iter().all(|it| *it == Some(false)).then_some(false)
        }
    }
}

/// Whether a condition holds that nothing has failed before; `is_known`: of which parts the
/// contexts have the value.
pub(super) fn decided(
    expr: &Expr,
    contexts: &Contexts,
    is_known: &dyn Fn(&Expr) -> bool,
) -> Option<bool> {
    let decide = |expr| decided(expr, contexts, is_known);
    match expr {
        Expr::Not(inner) => decide(inner).map(|holds| !holds),
        Expr::Binary(BinaryOperator::And, left, right) => match (decide(left), decide(right)) {
            (Some(false), _) | (_, Some(false)) => Some(false),
            (Some(true), Some(true)) => Some(true),
            _ => None,
        },
        Expr::Binary(BinaryOperator::Or, left, right) => match (decide(left), decide(right)) {
            (Some(true), _) | (_, Some(true)) => Some(true),
            (Some(false), Some(false)) => Some(false),
            _ => None,
        },
        Expr::Call(Function::Always | Function::Success, _) => Some(true),
        _ if is_known(expr) => {
            let value = expr.eval(&ExprScope::new(contexts)).ok()?;
            Some(value.truthy())
        }
        _ => None,
    }
}

/// Whether everything that it is made of has its value already.
fn is_known(expr: &Expr, has_matrix: bool) -> bool {
    let mut known = true;
    expr.walk(&mut |expr| match expr {
        Expr::Context(ContextName::Runner) => {}
        Expr::Context(ContextName::Matrix) => known &= has_matrix,
        Expr::Context(_) => known = false,
        Expr::Call(function, _) => {
            known &= !function.is_status() && *function != Function::HashFiles;
        }
        _ => {}
    });
    // Of the machine its system alone is the same everywhere.
    expr.chains(&mut |chain| {
        let is_os = chain
            .name(0)
            .is_some_and(|it| it.eq_ignore_ascii_case("os"));
        known &= chain.context != ContextName::Runner || is_os;
    });
    known
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source_location::SourceLocation;

    #[test]
    fn i17_conditions_are_decided_by_the_machine_and_the_matrix() {
        let matrix = |os: &str| ExprValue::object([("os", os)]);
        let known = KnownValues {
            matrices: vec![matrix("ubuntu-latest"), matrix("ubuntu-22.04")],
        };
        for (text, expected) in [
            ("runner.os == 'Windows'", Some(false)),
            ("runner.os != 'Windows'", Some(true)),
            ("${{ always() && runner.os == 'windows' }}", Some(false)),
            ("always()", Some(true)),
            ("failure()", None),
            ("matrix.os == 'windows-latest'", Some(false)),
            ("matrix.os == 'ubuntu-22.04'", Some(true)),
            ("runner.arch == 'X64'", None),
            ("inputs.platform == 'win'", None),
            ("inputs.a || runner.os == 'Linux'", Some(true)),
            ("env.A && startsWith(matrix.os, 'win')", Some(false)),
            ("hashFiles('a') != ''", None),
        ] {
            let condition = IfCondition::parse(text, SourceLocation::default()).unwrap();
            assert_eq!(known.holds(Some(&condition)), expected, "{text}");
        }
        assert_eq!(known.holds(None), Some(true));
        let later = IfCondition::parse("matrix.os == 'x'", SourceLocation::default()).unwrap();
        assert_eq!(KnownValues::default().holds(Some(&later)), None);
    }
}
