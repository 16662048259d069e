//! One post, and the comparison with what the forge has.

use forge_core::{CommentId, IssueNumber, Marker, RepoName};
use http_clients::forge::{ForgeClient, ForgeComment, ForgeError, ForgeRefusal, PostedStatus};
use http_clients::http::HttpClient;
use jiff::Timestamp;
use store::{Store, StoreError};

use super::accounts::Accounts;
use crate::outbox::{
    AttemptFailure, CommentKey, CommentStep, OwedStatus, PostTask, sending_comment, step,
};

/// How far a forge's clock may be behind ours, in ms.
const CLOCK_SKEW_MS: u64 = 600_000;

/// What came of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PostOutcome {
    /// The forge took a status.
    Status,
    /// The forge has the comment, under this id, and no other of our own like it.
    Comment(u64),
    /// The forge does not have the comment yet.
    Absent,
}

impl From<ForgeError> for AttemptFailure {
    fn from(error: ForgeError) -> Self {
        Self {
            error,
            sending: false,
        }
    }
}

/// Makes one attempt.
pub(super) async fn post(
    http: &HttpClient,
    store: &Store,
    accounts: &dyn Accounts,
    work: &PostTask,
) -> Result<PostOutcome, AttemptFailure> {
    let account = work.account();
    let Some(forge) = accounts.client(http, account) else {
        let error = ForgeError::Permanent {
            kind: ForgeRefusal::Unauthorised,
            reason: format!("there is no account {account}; configure its token"),
        };
        return Err(error.into());
    };
    match work {
        PostTask::Status {
            repo, sha, status, ..
        } => {
            confirm(store).await?;
            forge.post_status(repo, sha, status).await?;
            Ok(PostOutcome::Status)
        }
        PostTask::Comment {
            key,
            repo,
            issue,
            body,
            delivery,
            attempt,
            ..
        } => {
            let comment = Comment {
                forge: &forge,
                repo,
                issue: *issue,
                body,
                since: attempt.since.saturating_sub(CLOCK_SKEW_MS),
            };
            match step(*delivery) {
                CommentStep::Send => comment.send(store, key).await,
                CommentStep::Look { then_send } => match comment.find().await? {
                    Some(id) => Ok(PostOutcome::Comment(id)),
                    None if then_send => comment.send(store, key).await,
                    None => Ok(PostOutcome::Absent),
                },
                CommentStep::Check => {
                    let found = comment.find().await?;
                    // One that somebody has deleted was there.
                    Ok(PostOutcome::Comment(
                        found.or(delivery.taken).unwrap_or_default(),
                    ))
                }
            }
        }
    }
}

/// Sees to it that the store is this process's still. One that was held up while another took over
/// says nothing any more: its word would stand behind its successor's.
async fn confirm(store: &Store) -> Result<(), ForgeError> {
    let confirmed = store.write(|rows| {
        rows.confirm();
        Ok::<_, StoreError>(())
    });
    confirmed.await.map_err(|error| not_sent(&error))
}

fn not_sent(error: &StoreError) -> ForgeError {
    ForgeError::Transient {
        reason: format!("not sent, since the store cannot note it: {error}"),
        after: None,
        sent: false,
    }
}

/// A comment that is to stand at an issue once.
struct Comment<'a> {
    forge: &'a ForgeClient,
    repo: &'a RepoName,
    issue: IssueNumber,
    body: &'a str,
    /// It was not written before, in ms.
    since: u64,
}

impl Comment<'_> {
    /// Sends it, once the store knows that it may be there from now on.
    async fn send(&self, store: &Store, key: &CommentKey) -> Result<PostOutcome, AttemptFailure> {
        let of = key.clone();
        let noted = store.write(move |rows| sending_comment(rows, &of)).await;
        if !noted.map_err(|error| not_sent(&error))? {
            return Ok(PostOutcome::Absent);
        }
        let sent = self.forge.post_comment(self.repo, self.issue, self.body);
        match sent.await {
            Ok(comment) => Ok(PostOutcome::Comment(comment.id.get())),
            Err(error) => Err(AttemptFailure {
                error,
                sending: true,
            }),
        }
    }

    /// The id of the one that the forge has; further ones of our own are removed, and the oldest
    /// stays.
    async fn find(&self) -> Result<Option<u64>, ForgeError> {
        let own = match self.forge.whoami().await {
            Ok(login) => Some(login),
            // A token that may not ask for its own name: what is there is not removed.
            Err(error) if !error.is_temporary() => None,
            Err(error) => return Err(error),
        };
        let since = i64::try_from(self.since).ok();
        let since = since.and_then(|since| Timestamp::from_millisecond(since).ok());
        let comments = self
            .forge
            .issue_comments(self.repo, self.issue, since)
            .await?;
        if comments.more {
            return Err(ForgeError::Transient {
                reason: format!("issue {} has too many comments to look through", self.issue),
                after: None,
                sent: false,
            });
        }
        let is_own = |found: &&ForgeComment| {
            is_same(&found.body, self.body) && (own.is_none() || found.author == own)
        };
        let mut ids: Vec<CommentId> = comments
            .items
            .iter()
            .filter(is_own)
            .map(|found| found.id)
            .collect();
        ids.sort_by_key(|id| id.get());
        let Some((first, doubles)) = ids.split_first() else {
            return Ok(None);
        };
        for double in doubles.iter().filter(|_| own.is_some()) {
            self.forge.delete_comment(self.repo, *double).await?;
            tracing::info!(
                event = "forge.post.double_removed", repo = %self.repo, issue = %self.issue,
                comment = double.get(), kept = first.get(), "a second comment of our own was removed"
            );
        }
        Ok(Some(first.get()))
    }
}

/// Whether a comment is the one that was to be posted: the same run's mark and the same words, but
/// for line ends and spaces, which forges change.
fn is_same(found: &str, wanted: &str) -> bool {
    Marker::find(found) == Marker::find(wanted)
        && found.split_whitespace().eq(wanted.split_whitespace())
}

/// Whether the forge lacks a status that it took. A terminal state where we still say `pending` is
/// left: the agent itself, or a person, has said more than we know.
pub(super) fn missing(obligation: &OwedStatus, have: &[PostedStatus]) -> bool {
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
    use forge_core::{CommitSha, CommitState, CommitStatus, Forge};
    use http_clients::http::HttpOptions;
    use store::StoreOptions;

    use crate::outbox::Attempt;

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
            let obligation = OwedStatus {
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

    /// One forge.
    struct Forges(url::Url);

    impl Accounts for Forges {
        fn client(&self, http: &HttpClient, _: &str) -> Option<ForgeClient> {
            let url = self.0.clone();
            Some(ForgeClient::new(http.clone(), Forge::Gitea, url, None))
        }
    }

    #[actix_rt::test]
    async fn i18_a_process_without_the_store_sends_no_status() {
        let forge = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        forge.set_nonblocking(true).unwrap();
        let url = format!("http://{}", forge.local_addr().unwrap());
        let forges = Forges(url.parse().unwrap());
        let (repo, sha): (RepoName, CommitSha) =
            ("a/b".parse().unwrap(), "1".repeat(40).parse().unwrap());
        let work = PostTask::Status {
            key: ("a/b".to_owned(), sha.to_string(), "orch/build".to_owned()),
            account: "bot".to_owned(),
            repo,
            sha,
            status: CommitStatus {
                context: "orch/build".parse().unwrap(),
                state: CommitState::Pending,
                description: String::new(),
                target_url: None,
            },
            version: 1,
            attempt: Attempt {
                number: 1,
                since: 0,
            },
        };
        let store = Store::in_memory(&StoreOptions::new("test")).unwrap();
        store.close();
        let http = HttpClient::new(HttpOptions::default());
        let refused = post(&http, &store, &forges, &work).await.unwrap_err();
        assert!(
            matches!(refused.error, ForgeError::Transient { sent: false, .. }),
            "{refused:?}"
        );
        let nobody = forge.accept().unwrap_err().kind();
        assert_eq!(nobody, std::io::ErrorKind::WouldBlock);
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
