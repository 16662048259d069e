//! The fields that events are read from; of a body's tree, only these are kept.

/// The field of this name, if events are read from it. A body has hundreds of names, most of them
/// none of these: their length and first letter rule nearly all of them out.
pub(super) fn known_field(name: &str) -> Option<&'static str> {
    let same_length = FIELDS.get(name.len())?;
    let first = name.as_bytes().first();
    let is_it = |field: &&&str| field.as_bytes().first() == first && **field == name;
    same_length.iter().find(is_it).copied()
}

/// By length. Whoever asks for another field has to add it here: [`super::JsonNode::field`] says so
/// in every test.
const FIELDS: [&[&str]; 19] = [
    &[],
    &[],
    &["id"],
    &["ref", "sha", "zen"],
    &[
        "base", "body", "from", "head", "hook", "name", "repo", "user",
    ],
    &[
        "added", "after", "draft", "issue", "login", "state", "title",
    ],
    &[
        "action", "before", "forced", "merged", "number", "pusher", "review", "sender",
    ],
    &[
        "changes", "comment", "commits", "compare", "hook_id", "is_pull", "message", "orchctl",
        "release", "removed",
    ],
    &[
        "base_ref", "head_ref", "head_sha", "html_url", "modified", "ref_type", "tag_name",
    ],
    &["clone_url", "full_name"],
    &["created_at", "repository"],
    &["compare_url", "head_commit", "merge_group"],
    &["pull_request"],
    &["total_commits"],
    &["default_branch"],
    &[],
    &[],
    &[],
    &["author_association"],
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_is_found_and_nothing_else() {
        for (length, fields) in FIELDS.iter().enumerate() {
            for field in *fields {
                assert_eq!(field.len(), length, "{field} stands in the wrong row");
                assert_eq!(known_field(field), Some(*field));
            }
        }
        assert_eq!(FIELDS.concat().len(), 55);
        for other in ["", "x", "ids", "repositorx", "a name longer than all"] {
            assert_eq!(known_field(other), None);
        }
    }
}
