//! Regular expressions and exact texts of a query.

use super::Planner;
use crate::analysis::is_stop_word;
use crate::query::condition::QueryCondition;
use crate::query::error::QueryError;
use crate::query::lexer::EXPRESSION;
use crate::query::matcher::folded;
use crate::query::pattern::{MAX_PATTERNS, PatternFault, TextPattern};

impl Planner<'_> {
    /// `re:/text/`, which stands at a byte of the query.
    pub(super) fn regular_expression(
        &mut self,
        text: &str,
        ignores_case: bool,
        at: usize,
    ) -> Result<Option<QueryCondition>, QueryError> {
        let ignores_case = ignores_case || self.minds_case == Some(false);
        let found = TextPattern::expression(text, ignores_case);
        self.pattern(found, at + EXPRESSION.len()).map(Some)
    }

    /// Quoted text of which every sign means itself.
    pub(super) fn exact_text(
        &mut self,
        text: &str,
        minds_case: bool,
        at: usize,
    ) -> Result<Option<QueryCondition>, QueryError> {
        if text.trim().is_empty() {
            return Ok(None);
        }
        self.pattern(TextPattern::exact(text, !minds_case), at)
            .map(Some)
    }

    /// The condition of a pattern. The words that stand whole in whatever matches score.
    fn pattern(
        &mut self,
        found: Result<TextPattern, PatternFault>,
        at: usize,
    ) -> Result<QueryCondition, QueryError> {
        self.count_word()?;
        let text = self.text;
        let refused = |at, message| QueryError::in_pattern(text, at, message);
        let mut pattern = found.map_err(|fault| refused(at + fault.at, fault.message))?;
        pattern.is_shown = self.scores;
        let whole: Vec<String> = pattern.needs().whole_words().map(str::to_owned).collect();
        for word in whole.iter().filter(|word| !is_stop_word(&folded(word))) {
            let index = self.word(word, false)?;
            pattern.words.extend(index);
        }
        let patterns = &mut self.query.patterns;
        if let Some(known) = patterns.iter().position(|known| *known == pattern) {
            return Ok(QueryCondition::Pattern(known));
        }
        if patterns.len() == MAX_PATTERNS {
            let message = format!(
                "a query may have at most {MAX_PATTERNS} expressions and exact texts; leave some out"
            );
            return Err(refused(at, message));
        }
        patterns.push(pattern);
        Ok(QueryCondition::Pattern(patterns.len() - 1))
    }
}
