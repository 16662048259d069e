//! What a leader writes down of a hand-over that it was asked for: only who follows it can tell
//! whoever asked whether it handed over or was lost.

use serde::{Deserialize, Serialize};
use store::{JsonRow, ReadRows as _, Store, StoreError, Table, WriteTxn};

/// By the epoch that the leader led under.
const NOTES: Table<u64, JsonRow<HandOverNote>> = Table::new("runner_hand_overs");
/// Nobody waits for longer than so many epochs.
const KEPT_EPOCHS: u64 = 100;

/// How far a leader's hand-over has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HandOverNote {
    /// It was asked for, and waits for jobs.
    Asked,
    /// The leader hands over, while so many jobs have a machine.
    Leaving {
        /// How many.
        jobs: usize,
    },
}

/// Notes it.
pub(crate) async fn put(store: &Store, epoch: u64, note: HandOverNote) -> Result<(), StoreError> {
    store
        .write(move |rows| {
            forget(rows, epoch.saturating_sub(KEPT_EPOCHS))?;
            rows.put(&NOTES, &epoch, &JsonRow::new(&note))
        })
        .await
}

fn forget(rows: &mut WriteTxn<'_>, before: u64) -> Result<(), StoreError> {
    let mut old = Vec::new();
    rows.for_each(&NOTES, ..before, |epoch, _| {
        old.push(epoch);
        std::ops::ControlFlow::Continue(())
    })?;
    for epoch in old {
        rows.delete(&NOTES, &epoch)?;
    }
    Ok(())
}

/// What the leader of an epoch has noted; nothing where it was not asked to hand over, or is of a
/// version that notes nothing.
pub(crate) async fn load_note(
    store: &Store,
    epoch: u64,
) -> Result<Option<HandOverNote>, StoreError> {
    let note = store.read(move |rows| rows.get(&NOTES, &epoch)).await?;
    Ok(note.and_then(|note| note.value()))
}

#[cfg(test)]
mod tests {
    use store::StoreOptions;

    use super::*;

    #[actix_rt::test]
    async fn i18_a_hand_over_is_noted_by_its_epoch_and_forgotten_in_time() {
        let store = Store::in_memory(&StoreOptions::new("test")).expect("memory");
        let asked = HandOverNote::Asked;
        put(&store, 7, asked).await.expect("memory");
        put(&store, 8, asked).await.expect("memory");
        let begun = HandOverNote::Leaving { jobs: 2 };
        put(&store, 8, begun).await.expect("memory");
        let load = async |epoch| load_note(&store, epoch).await.expect("memory");
        assert_eq!(
            (load(7).await, load(8).await, load(9).await),
            (Some(asked), Some(begun), None)
        );
        put(&store, 108, asked).await.expect("memory");
        assert_eq!((load(7).await, load(8).await), (None, Some(begun)));
    }
}
