//! What a document has to meet, as a tree.

/// A condition on one document.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum QueryCondition {
    /// It holds the word ([`super::ParsedQuery::words`]).
    Word(usize),
    /// It holds the phrase ([`super::ParsedQuery::phrases`]).
    Phrase(usize),
    /// It holds a word that begins so ([`super::ParsedQuery::prefixes`]).
    Prefix(usize),
    /// Its text matches letter for letter ([`super::ParsedQuery::patterns`]).
    Pattern(usize),
    /// One of its fields has the value ([`super::ParsedQuery::filters`]).
    Filter(usize),
    /// It does not meet the condition.
    Not(Box<QueryCondition>),
    /// It meets all of them.
    All(Vec<QueryCondition>),
    /// It meets any of them.
    Any(Vec<QueryCondition>),
}

/// What is known of a condition before a text was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatchState {
    /// It holds.
    Yes,
    /// It does not hold.
    No,
    /// The text decides.
    Undecided,
}

impl From<bool> for MatchState {
    fn from(holds: bool) -> Self {
        if holds { Self::Yes } else { Self::No }
    }
}

impl QueryCondition {
    /// Whether the condition holds, by what `leaf` says of its words, phrases, prefixes and
    /// filters. Leaves that cannot change the outcome are not asked for.
    pub fn evaluate<E>(
        &self,
        leaf: &mut impl FnMut(&Self) -> Result<MatchState, E>,
    ) -> Result<MatchState, E> {
        match self {
            Self::Word(_)
            | Self::Phrase(_)
            | Self::Prefix(_)
            | Self::Pattern(_)
            | Self::Filter(_) => leaf(self),
            Self::Not(inner) => Ok(match inner.evaluate(leaf)? {
                MatchState::Yes => MatchState::No,
                MatchState::No => MatchState::Yes,
                MatchState::Undecided => MatchState::Undecided,
            }),
            Self::All(list) => Self::decided(list, leaf, MatchState::No, MatchState::Yes),
            Self::Any(list) => Self::decided(list, leaf, MatchState::Yes, MatchState::No),
        }
    }

    /// `decisive` as soon as one member is, `Undecided` if one is, `otherwise` else.
    fn decided<E>(
        list: &[Self],
        leaf: &mut impl FnMut(&Self) -> Result<MatchState, E>,
        decisive: MatchState,
        otherwise: MatchState,
    ) -> Result<MatchState, E> {
        let mut outcome = otherwise;
        for member in list {
            // A trait object stops the type of the closure from growing with the depth.
            let mut leaf: &mut dyn FnMut(&Self) -> Result<MatchState, E> = leaf;
            match member.evaluate_dyn(&mut leaf)? {
                truth if truth == decisive => return Ok(decisive),
                MatchState::Undecided => outcome = MatchState::Undecided,
                _ => {}
            }
        }
        Ok(outcome)
    }

    fn evaluate_dyn<E>(
        &self,
        leaf: &mut &mut dyn FnMut(&Self) -> Result<MatchState, E>,
    ) -> Result<MatchState, E> {
        self.evaluate(leaf)
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

    /// Whether it asks for more than words: a field, what stands in quotes, an exclusion.
    pub(super) fn has_operators(&self) -> bool {
        match self {
            Self::All(list) | Self::Any(list) => list.iter().any(Self::has_operators),
            Self::Word(_) | Self::Prefix(_) => false,
            Self::Not(_) | Self::Phrase(_) | Self::Filter(_) | Self::Pattern(_) => true,
        }
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
    use super::{MatchState, QueryCondition};

    #[test]
    fn what_is_open_stays_open_only_where_it_decides() {
        use QueryCondition::{All, Any, Not, Phrase, Word};
        let no = || Word(0);
        let yes = || Word(1);
        for (condition, expected) in [
            (All(vec![yes(), Phrase(0)]), MatchState::Undecided),
            (All(vec![Phrase(0), no()]), MatchState::No),
            (Any(vec![Phrase(0), yes()]), MatchState::Yes),
            (Any(vec![no(), Phrase(0)]), MatchState::Undecided),
            (Not(Box::new(Phrase(0))), MatchState::Undecided),
            (Not(Box::new(All(vec![no(), Phrase(0)]))), MatchState::Yes),
            (All(Vec::new()), MatchState::Yes),
            (Any(Vec::new()), MatchState::No),
        ] {
            let found = condition.evaluate(&mut |leaf| -> Result<MatchState, ()> {
                Ok(match leaf {
                    QueryCondition::Word(number) => (*number == 1).into(),
                    _ => MatchState::Undecided,
                })
            });
            assert_eq!(found, Ok(expected), "{condition:?}");
        }
    }
}
