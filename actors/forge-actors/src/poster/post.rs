//! One post, and the comparison with what the forge has.

use forge_core::{IssueNumber, Marker, RepoName};
use jiff::Timestamp;
use outbound::forge::{ForgeClient, ForgeError, PostedStatus, Refusal};
use outbound::http::HttpClient;

use super::options::Accounts;
use crate::outbox::{Obligation, Work};

/// How far a forge's clock may be behind ours, in ms.
const SKEW: u64 = 600_000;

/// What the forge has taken.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Posted {
    /// The id of a comment.
    pub(super) comment: Option<u64>,
}

/// Makes one attempt.
pub(super) async fn post(
    http: &HttpClient,
    accounts: &dyn Accounts,
    work: &Work,
) -> Result<Posted, ForgeError> {
    let account = work.account();
    let Some(forge) = accounts.client(http, account) else {
        return Err(ForgeError::Permanent {
            kind: Refusal::Unauthorised,
            reason: format!("there is no account {account}; configure its token"),
        });
    };
    match work {
        Work::Status {
            repo, sha, status, ..
        } => {
            forge.post_status(repo, sha, status).await?;
            Ok(Posted::default())
        }
        Work::Comment {
            repo,
            issue,
            body,
            uncertain,
            attempt,
            ..
        } => {
            if *uncertain {
                let since = attempt.since.saturating_sub(SKEW);
                if let Some(comment) = find(&forge, repo, *issue, body, since).await? {
                    return Ok(Posted {
                        comment: Some(comment),
                    });
                }
            }
            let comment = forge.post_comment(repo, *issue, body).await?;
            Ok(Posted {
                comment: Some(comment.id.get()),
            })
        }
    }
}

/// The id of the comment that an earlier attempt left, if it did.
async fn find(
    forge: &ForgeClient,
    repo: &RepoName,
    issue: IssueNumber,
    body: &str,
    since: u64,
) -> Result<Option<u64>, ForgeError> {
    let since = i64::try_from(since).ok();
    let since = since.and_then(|since| Timestamp::from_millisecond(since).ok());
    let comments = forge.issue_comments(repo, issue, since).await?;
    let same = comments
        .items
        .iter()
        .find(|found| is_same(&found.body, body));
    Ok(same.map(|found| found.id.get()))
}

/// Whether a comment is the one that was to be posted: the same run's mark and the same words, but
/// for line ends and spaces, which forges change.
fn is_same(found: &str, wanted: &str) -> bool {
    Marker::find(found) == Marker::find(wanted)
        && found.split_whitespace().eq(wanted.split_whitespace())
}

/// Whether the forge lacks a status that it took. A terminal state where we still say `pending` is
/// left: the agent itself, or a person, has said more than we know.
pub(super) fn missing(obligation: &Obligation, have: &[PostedStatus]) -> bool {
    if !obligation.posted {
        return false;
    }
    let wanted = &obligation.status;
    let found = have
        .iter()
        .find(|status| status.context == wanted.context.as_str());
    match found {
        None => true,
        Some(found) if found.state == Some(wanted.state) => false,
        Some(_) => wanted.state.is_terminal(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forge_core::{CommitState, CommitStatus};

    #[test]
    fn f14_what_the_forge_lacks_is_found() {
        use CommitState::{Error, Failure, Pending, Success};
        let have = |state| {
            vec![PostedStatus {
                context: "orch/build".into(),
                state,
                description: String::new(),
                target_url: None,
            }]
        };
        let table = [
            (Pending, true, vec![], true),
            (Pending, false, vec![], false),
            (Success, true, vec![], true),
            (Pending, true, have(Some(Pending)), false),
            (Success, true, have(Some(Success)), false),
            (Success, true, have(Some(Pending)), true),
            (Failure, true, have(Some(Success)), true),
            (Error, true, have(None), true),
            (Pending, true, have(Some(Success)), false),
        ];
        for (state, posted, have, expected) in table {
            let obligation = Obligation {
                account: "a".into(),
                owner: "r".parse().unwrap(),
                status: CommitStatus {
                    context: "orch/build".parse().unwrap(),
                    state,
                    description: String::new(),
                    target_url: None,
                },
                version: 1,
                posted,
            };
            assert_eq!(
                missing(&obligation, &have),
                expected,
                "{state} {posted} {have:?}"
            );
        }
    }

    #[test]
    fn a_comment_is_known_by_its_mark_and_words() {
        let marker = |run: &str| Marker {
            run: run.parse().unwrap(),
            depth: 1,
        };
        let text = marker("r1").attach("all\nis well");
        assert!(is_same(&text.replace('\n', "\r\n"), &text));
        assert!(!is_same(&marker("r2").attach("all\nis well"), &text));
        assert!(!is_same(&marker("r1").attach("all is lost"), &text));
        assert!(!is_same("all is well", &text));
    }
}
