//! What an expression refers to: a context, and the names behind it.

use super::{ContextName, Expr, ExprValue};

/// A context and the names behind it: `steps.build.outputs` is `steps` and `build`, `outputs`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chain<'e> {
    /// The context it begins with.
    pub context: ContextName,
    /// The names, in order; nothing stands for one that only the run knows (`[matrix.v]`, `*`).
    pub names: Vec<Option<&'e str>>,
}

impl<'e> Chain<'e> {
    /// The name at `index`, if it is written there.
    pub fn name(&self, index: usize) -> Option<&'e str> {
        self.names.get(index).copied().flatten()
    }
}

impl Expr {
    /// Calls `visit` with every longest chain in it.
    pub fn chains<'e>(&'e self, visit: &mut dyn FnMut(&Chain<'e>)) {
        if let Some(chain) = self.chain() {
            visit(&chain);
        }
        self.inside(visit);
    }

    /// The chains in its parts, but not those that are the beginning of its own.
    fn inside<'e>(&'e self, visit: &mut dyn FnMut(&Chain<'e>)) {
        match self {
            Self::Literal(_) | Self::Context(_) => {}
            Self::Index(left, right) => {
                right.chains(visit);
                left.behind(visit);
            }
            Self::Star(inner) => inner.behind(visit),
            Self::Not(inner) => inner.chains(visit),
            Self::Binary(_, left, right) => {
                left.chains(visit);
                right.chains(visit);
            }
            Self::Call(_, arguments) => arguments.iter().for_each(|value| value.chains(visit)),
        }
    }

    fn behind<'e>(&'e self, visit: &mut dyn FnMut(&Chain<'e>)) {
        if self.chain().is_some() {
            self.inside(visit);
        } else {
            self.chains(visit);
        }
    }

    /// The chain that this is.
    pub(crate) fn chain(&self) -> Option<Chain<'_>> {
        let (inner, name) = match self {
            Self::Context(context) => {
                return Some(Chain {
                    context: *context,
                    names: Vec::new(),
                });
            }
            Self::Index(inner, index) => match &**index {
                Self::Literal(ExprValue::Text(name)) => (inner, Some(&**name)),
                _ => (inner, None),
            },
            Self::Star(inner) => (inner, None),
            _ => return None,
        };
        let mut chain = inner.chain()?;
        chain.names.push(name);
        Some(chain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_are_as_long_as_they_can_be() {
        for (text, expected) in [
            ("steps.a.outputs.b", "steps.a.outputs.b"),
            ("needs['a'].result == 'x'", "needs.a.result"),
            (
                "github.event[inputs.key].id",
                "github.event.?.id inputs.key",
            ),
            ("matrix.*.name", "matrix.?.name"),
            ("fromJSON(env.X).y[vars.Z]", "vars.Z env.X"),
            ("toJSON(needs)", "needs"),
        ] {
            let expr = Expr::parse(text).unwrap();
            let mut found = Vec::new();
            expr.chains(&mut |chain| {
                let names = chain.names.iter().map(|name| name.unwrap_or("?"));
                let all: Vec<&str> = std::iter::once(chain.context.name()).chain(names).collect();
                found.push(all.join("."));
            });
            assert_eq!(found.join(" "), expected, "{text}");
        }
    }
}
