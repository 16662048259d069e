//! What a document has to meet, as a tree.

use super::{Field, ParsedQuery};

/// A condition on one document.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Condition {
    /// It holds the word ([`ParsedQuery::words`]).
    Word(usize),
    /// It holds the phrase ([`ParsedQuery::phrases`]).
    Phrase(usize),
    /// It holds a word that begins so ([`ParsedQuery::prefixes`]).
    Prefix(usize),
    /// One of its fields has the value ([`ParsedQuery::filters`]).
    Filter(usize),
    /// It does not meet the condition.
    Not(Box<Condition>),
    /// It meets all of them.
    All(Vec<Condition>),
    /// It meets any of them.
    Any(Vec<Condition>),
}

/// What is known of a condition before a text was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Truth {
    /// It holds.
    Yes,
    /// It does not hold.
    No,
    /// The text decides.
    Open,
}

impl From<bool> for Truth {
    fn from(holds: bool) -> Self {
        if holds { Self::Yes } else { Self::No }
    }
}

impl Condition {
    /// Whether the condition holds, by what `leaf` says of its words, phrases, prefixes and filters.
    /// Leaves that cannot change the outcome are not asked for.
    pub fn holds<E>(&self, leaf: &mut impl FnMut(&Self) -> Result<Truth, E>) -> Result<Truth, E> {
        match self {
            Self::Word(_) | Self::Phrase(_) | Self::Prefix(_) | Self::Filter(_) => leaf(self),
            Self::Not(inner) => Ok(match inner.holds(leaf)? {
                Truth::Yes => Truth::No,
                Truth::No => Truth::Yes,
                Truth::Open => Truth::Open,
            }),
            Self::All(list) => Self::decided(list, leaf, Truth::No, Truth::Yes),
            Self::Any(list) => Self::decided(list, leaf, Truth::Yes, Truth::No),
        }
    }

    /// `decisive` as soon as one member is, `Open` if one is, `otherwise` else.
    fn decided<E>(
        list: &[Self],
        leaf: &mut impl FnMut(&Self) -> Result<Truth, E>,
        decisive: Truth,
        otherwise: Truth,
    ) -> Result<Truth, E> {
        let mut outcome = otherwise;
        for member in list {
            // A trait object stops the type of the closure from growing with the depth.
            let mut leaf: &mut dyn FnMut(&Self) -> Result<Truth, E> = leaf;
            match member.holds_dyn(&mut leaf)? {
                truth if truth == decisive => return Ok(decisive),
                Truth::Open => outcome = Truth::Open,
                _ => {}
            }
        }
        Ok(outcome)
    }

    fn holds_dyn<E>(
        &self,
        leaf: &mut &mut dyn FnMut(&Self) -> Result<Truth, E>,
    ) -> Result<Truth, E> {
        self.holds(leaf)
    }

    /// Whether every document that meets it holds a term that scores.
    pub(super) fn needs_a_term(&self, query: &ParsedQuery) -> bool {
        let scores = |term: usize| query.terms[term].count > 0;
        match self {
            Self::Word(word) => scores(query.words[*word].whole),
            Self::Phrase(phrase) => query.phrases[*phrase]
                .terms
                .iter()
                .any(|&term| scores(term)),
            Self::Prefix(_) | Self::Not(_) => false,
            Self::Filter(filter) => {
                let filter = &query.filters[*filter];
                filter.field == Field::Title
                    && filter
                        .words
                        .iter()
                        .any(|&word| scores(query.words[word].whole))
            }
            Self::All(list) => list.iter().any(|one| one.needs_a_term(query)),
            Self::Any(list) => list.iter().all(|one| one.needs_a_term(query)),
        }
    }

    /// The phrases it requires, where it requires nothing else.
    pub(super) fn phrases_alone(&self) -> Option<Vec<usize>> {
        let members = match self {
            Self::All(list) => list.as_slice(),
            one => std::slice::from_ref(one),
        };
        let phrase = |member: &Self| match member {
            Self::Phrase(phrase) => Some(*phrase),
            _ => None,
        };
        members.iter().map(phrase).collect()
    }

    /// Whether a phrase or a field has a part in it.
    #[must_use]
    pub fn any(&self, wanted: &impl Fn(&Self) -> bool) -> bool {
        match self {
            Self::Not(inner) => inner.any(wanted),
            Self::All(list) | Self::Any(list) => list.iter().any(|one| one.any(wanted)),
            leaf => wanted(leaf),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Condition, Truth};

    #[test]
    fn what_is_open_stays_open_only_where_it_decides() {
        use Condition::{All, Any, Not, Phrase, Word};
        let no = || Word(0);
        let yes = || Word(1);
        for (condition, expected) in [
            (All(vec![yes(), Phrase(0)]), Truth::Open),
            (All(vec![Phrase(0), no()]), Truth::No),
            (Any(vec![Phrase(0), yes()]), Truth::Yes),
            (Any(vec![no(), Phrase(0)]), Truth::Open),
            (Not(Box::new(Phrase(0))), Truth::Open),
            (Not(Box::new(All(vec![no(), Phrase(0)]))), Truth::Yes),
            (All(Vec::new()), Truth::Yes),
            (Any(Vec::new()), Truth::No),
        ] {
            let found = condition.holds(&mut |leaf| -> Result<Truth, ()> {
                Ok(match leaf {
                    Condition::Word(number) => (*number == 1).into(),
                    _ => Truth::Open,
                })
            });
            assert_eq!(found, Ok(expected), "{condition:?}");
        }
    }
}
