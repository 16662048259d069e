//! What a former life may have posted without hearing of it.

use store::{ReadRows, StoreError, WriteTxn};

use super::rows::{COMMENTS, DUE, EntryOf, entry_of};

/// Marks every comment that waits as one that may have reached the forge already, so that it is
/// looked for before it is posted; says how many were not marked before. For the begin of a life:
/// the attempt under way when the former one ended left no trace. By the rows, not by the time: a
/// clock may have been set back in between.
///
/// # Errors
/// The store's.
pub fn doubt_comments(rows: &mut WriteTxn<'_>) -> Result<usize, StoreError> {
    let mut count = 0;
    for ((_, kind, key), _) in rows.range(&DUE, .., usize::MAX)? {
        let Some(EntryOf::Comment(key)) = entry_of(kind, &key) else {
            continue;
        };
        let row = rows.get(&COMMENTS, &key)?;
        let Some(mut row) = row.filter(|row| !row.uncertain) else {
            continue;
        };
        row.uncertain = true;
        // It stays due when it was: the index is as it is.
        rows.put(&COMMENTS, &key, &row)?;
        count += 1;
    }
    Ok(count)
}
