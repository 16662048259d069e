//! The steps of a comment: about to be sent, not there, there.

use std::time::Duration;

use store::{ReadRows, StoreError, WriteTxn};

use super::decide::next_check;
use super::enqueue::put_comment;
use super::rows::{COMMENTS, CommentKey};

/// A comment is about to be sent: whatever happens from here on, it may have reached the forge.
/// `false`: it is not to be sent any more.
///
/// # Errors
/// The store's.
pub fn sending_comment(rows: &mut WriteTxn<'_>, key: &CommentKey) -> Result<bool, StoreError> {
    let Some(mut row) = rows
        .get(&COMMENTS, key)?
        .filter(|row| row.comment.is_none())
    else {
        return Ok(false);
    };
    row.uncertain = true;
    row.sent = row.sent.saturating_add(1);
    row.looks = 0;
    // It stays due when it was: the index is as it is.
    rows.put(&COMMENTS, key, &row)?;
    Ok(true)
}

/// The forge does not have a comment that may have reached it: it is looked for once more after
/// `settle`.
///
/// # Errors
/// The store's.
pub fn absent_comment(
    rows: &mut WriteTxn<'_>,
    key: &CommentKey,
    settle: Duration,
    now: u64,
) -> Result<(), StoreError> {
    let Some(before) = rows.get(&COMMENTS, key)? else {
        return Ok(());
    };
    if before.comment.is_some() {
        return Ok(());
    }
    let mut row = before.clone();
    row.looks = row.looks.saturating_add(1);
    row.progress.due_at = Some(now.saturating_add(millis(settle)));
    put_comment(rows, key, Some(&before), &row)
}

/// The forge has a comment, under this id. One that was sent more than once is looked at again
/// after `settle`, and much later: an attempt that was held up somewhere makes a second one.
///
/// # Errors
/// The store's.
pub fn posted_comment(
    rows: &mut WriteTxn<'_>,
    key: &CommentKey,
    comment: u64,
    settle: Duration,
    now: u64,
) -> Result<(), StoreError> {
    let Some(before) = rows.get(&COMMENTS, key)? else {
        return Ok(());
    };
    let mut row = before.clone();
    row.checks = match before.comment {
        Some(_) => before.checks.saturating_add(1),
        None => 0,
    };
    row.comment = Some(comment);
    row.uncertain = false;
    row.progress.posted(now);
    if let Some(delay) = next_check(row.sent, row.checks, settle) {
        row.progress.due_at = Some(now.saturating_add(millis(delay)));
    }
    put_comment(rows, key, Some(&before), &row)
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
