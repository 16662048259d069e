//! An expression: a value of bounded size, or a mistake inside the text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use runner_core::expr::{
    ContextName, Contexts, Expr, ExprScope, ExprTemplate, ExprValue, IfCondition,
};
use runner_core::source_location::SourceLocation;

fuzz_target!(|text: &str| {
    let list = ExprValue::list(vec![1.0.into(), "a".into(), ExprValue::Null, true.into()]);
    let github = ExprValue::object([("ref", "refs/heads/main".into()), ("event", list)]);
    let contexts = Contexts::default().with(ContextName::Github, github);
    let scope = ExprScope::new(&contexts);
    match Expr::parse(text) {
        Ok(expr) => {
            if let Ok(value) = expr.eval(&scope) {
                assert!(value.as_text().len() <= 1 << 20);
            }
        }
        Err(error) => assert!(error.at <= text.len() && !error.message.is_empty()),
    }
    if let Ok(template) = ExprTemplate::parse(text, SourceLocation::default()) {
        if template.expressions().next().is_none() {
            assert_eq!(template.text(&scope).as_deref(), Ok(text));
        }
        let _ = template.text(&scope);
    }
    if let Ok(condition) = IfCondition::parse(text, SourceLocation::default()) {
        let _ = condition.holds(&scope);
    }
});
