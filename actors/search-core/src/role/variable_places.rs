//! Where a role file holds variables: decoded values and their positions, compared.
//!
//! Variables are put in because the operator wrote them where they stand. A text that came over the
//! API may keep them there. It may neither add one nor move one to a place that is shown, or that
//! is sent somewhere else.

use config_core::WrittenValue;

/// What stands for a secret that is set. Sent back, it keeps the secret as it is.
pub const REDACTED: &str = "***";

/// A role file as it is written: what stands beside the roles, and the roles with their key paths.
struct RoleFileParts<'w> {
    beside: Vec<(&'w str, &'w WrittenValue)>,
    roles: Vec<(String, &'w [(String, WrittenValue)])>,
    /// Elements of `roles` that are no role.
    odd: Vec<(String, &'w WrittenValue)>,
}

impl<'w> RoleFileParts<'w> {
    fn new(file: &'w WrittenValue) -> Self {
        let mut parts = Self {
            beside: Vec::new(),
            roles: Vec::new(),
            odd: Vec::new(),
        };
        let WrittenValue::Table(entries) = file else {
            parts.odd.push((String::new(), file));
            return parts;
        };
        if !entries
            .iter()
            .any(|(key, _)| key == "roles" || key == "default_role")
        {
            parts.roles.push((String::new(), entries));
            return parts;
        }
        for (key, value) in entries {
            match value {
                WrittenValue::List(roles) if key == "roles" => parts.add_roles(roles),
                _ => parts.beside.push((key, value)),
            }
        }
        parts
    }

    fn add_roles(&mut self, roles: &'w [WrittenValue]) {
        for (index, role) in roles.iter().enumerate() {
            let path = format!("roles[{index}]");
            match role {
                WrittenValue::Table(entries) => self.roles.push((path, entries)),
                other => self.odd.push((path, other)),
            }
        }
    }
}

/// Compares what a caller sends with what the operator's file holds.
pub(super) struct VariablePlaces<'w> {
    stored: &'w WrittenValue,
    /// Whether `***` stands for a stored text: before the stored secrets are put back.
    redacted: bool,
}

impl<'w> VariablePlaces<'w> {
    /// Of a text in which `***` stands for stored secrets.
    pub(super) fn before_secrets(stored: &'w WrittenValue) -> Self {
        Self {
            stored,
            redacted: true,
        }
    }

    /// Of a text that is saved as it is.
    pub(super) fn from_whole(stored: &'w WrittenValue) -> Self {
        Self {
            stored,
            redacted: false,
        }
    }

    /// The key path of the first value that may hold a variable the stored file does not hold
    /// there.
    ///
    /// A role is the same one by its name. A haystack with a variable has to stay as it is as a
    /// whole: what its variable is sent to stands beside it.
    pub(super) fn first_foreign(&self, submitted: &WrittenValue) -> Option<String> {
        let (stored, submitted) = (
            RoleFileParts::new(self.stored),
            RoleFileParts::new(submitted),
        );
        let odd = submitted
            .odd
            .iter()
            .find(|(_, one)| one.may_hold_variable());
        if let Some((path, _)) = odd {
            return Some(path.clone());
        }
        let beside = submitted.beside.iter().find(|(key, value)| {
            let known = stored.beside.iter().filter(|(known, _)| known == key);
            !known.into_iter().any(|(_, known)| covers(known, value)) && value.may_hold_variable()
        });
        if let Some((key, _)) = beside {
            return Some((*key).to_owned());
        }
        let mut roles = submitted.roles.iter();
        roles.find_map(|(path, role)| self.in_role(path, role, &stored))
    }

    fn in_role(
        &self,
        path: &str,
        role: &[(String, WrittenValue)],
        stored: &RoleFileParts<'_>,
    ) -> Option<String> {
        let name = value_of(role, "name");
        let known = stored
            .roles
            .iter()
            .map(|(_, known)| *known)
            .find(|known| name.is_some() && value_of(known, "name") == name)
            .unwrap_or_default();
        let dot = if path.is_empty() { "" } else { "." };
        // A role that nobody knows is told of by its name, not by what it took along.
        if known.is_empty() && name.is_some_and(WrittenValue::may_hold_variable) {
            return Some(format!("{path}{dot}name"));
        }
        for (key, value) in role.iter().filter(|(_, value)| value.may_hold_variable()) {
            let path = format!("{path}{dot}{key}");
            let known = value_of(known, key);
            let foreign = match (key.as_str(), value, known) {
                ("haystacks", WrittenValue::List(haystacks), Some(WrittenValue::List(known))) => {
                    self.in_haystacks(&path, haystacks, known)
                }
                (_, value, Some(known)) if key != "haystacks" && covers(known, value) => None,
                _ => Some(path),
            };
            if foreign.is_some() {
                return foreign;
            }
        }
        None
    }

    fn in_haystacks(
        &self,
        path: &str,
        haystacks: &[WrittenValue],
        known: &[WrittenValue],
    ) -> Option<String> {
        let foreign = haystacks.iter().position(|haystack| {
            haystack.may_hold_variable() && !known.iter().any(|known| self.is_same(known, haystack))
        });
        foreign.map(|index| format!("{path}[{index}]"))
    }

    fn is_same(&self, stored: &WrittenValue, submitted: &WrittenValue) -> bool {
        match (stored, submitted) {
            (WrittenValue::Text(_), WrittenValue::Text(text))
                if self.redacted && text == REDACTED =>
            {
                true
            }
            (WrittenValue::Table(stored), WrittenValue::Table(submitted)) => {
                let same = |((key, value), (other, submitted)): (
                    &(String, WrittenValue),
                    &(String, WrittenValue),
                )| key == other && self.is_same(value, submitted);
                stored.len() == submitted.len() && stored.iter().zip(submitted).all(same)
            }
            (WrittenValue::List(stored), WrittenValue::List(submitted)) => {
                let mut pairs = stored.iter().zip(submitted);
                stored.len() == submitted.len()
                    && pairs.all(|(stored, submitted)| self.is_same(stored, submitted))
            }
            (stored, submitted) => stored == submitted,
        }
    }
}

fn value_of<'w>(entries: &'w [(String, WrittenValue)], key: &str) -> Option<&'w WrittenValue> {
    let entry = entries.iter().find(|(name, _)| name == key);
    entry.map(|(_, value)| value)
}

/// Whether each text of `submitted` that may hold a variable stands at the same place of `stored`.
fn covers(stored: &WrittenValue, submitted: &WrittenValue) -> bool {
    if !submitted.may_hold_variable() {
        return true;
    }
    match (stored, submitted) {
        (WrittenValue::Table(stored), WrittenValue::Table(submitted)) => {
            submitted.iter().all(|(key, value)| {
                !value.may_hold_variable()
                    || value_of(stored, key).is_some_and(|known| covers(known, value))
            })
        }
        (WrittenValue::List(stored), WrittenValue::List(submitted)) => {
            submitted.iter().enumerate().all(|(index, value)| {
                !value.may_hold_variable()
                    || stored.get(index).is_some_and(|known| covers(known, value))
            })
        }
        (stored, submitted) => stored == submitted,
    }
}
