//! What a standby asks of the store it may come to have.

use store::{Leadership, SharedStore, StandbyCounts, Store};

/// A store that was taken, and the epoch it is had under.
#[derive(Debug)]
pub struct AcquiredStore {
    /// The store.
    pub store: Store,
    /// The epoch.
    pub epoch: u64,
}

/// Who has the store, and how it is taken. Every call blocks, for some seconds at most.
pub trait Election: Send + Sync + 'static {
    /// Who has it.
    ///
    /// # Errors
    /// Why that is not known.
    fn leadership(&self) -> Result<Leadership, String>;

    /// Ends the session of the holder.
    ///
    /// # Errors
    /// Why not.
    fn end_holder(&self) -> Result<(), String>;

    /// How many other processes stand beside it.
    ///
    /// # Errors
    /// Why that is not known.
    fn standby_counts(&self) -> Result<StandbyCounts, String>;

    /// Has all processes beside it read their settings again.
    ///
    /// # Errors
    /// Why not.
    fn broadcast_settings_reload(&self) -> Result<(), String>;

    /// Takes it, if nobody's session has it and `may_take` says so.
    ///
    /// # Errors
    /// Why not.
    fn try_take(
        &self,
        may_take: &dyn Fn(&Leadership) -> bool,
    ) -> Result<Option<AcquiredStore>, String>;
}

impl Election for SharedStore {
    fn leadership(&self) -> Result<Leadership, String> {
        Self::leadership(self).map_err(|error| error.to_string())
    }

    fn end_holder(&self) -> Result<(), String> {
        Self::end_holder(self).map_err(|error| error.to_string())
    }

    fn standby_counts(&self) -> Result<StandbyCounts, String> {
        Self::standby_counts(self).map_err(|error| error.to_string())
    }

    fn broadcast_settings_reload(&self) -> Result<(), String> {
        Self::broadcast_settings_reload(self).map_err(|error| error.to_string())
    }

    fn try_take(
        &self,
        may_take: &dyn Fn(&Leadership) -> bool,
    ) -> Result<Option<AcquiredStore>, String> {
        let taken = Self::try_take(self, may_take).map_err(|error| error.to_string())?;
        Ok(taken.map(|(store, epoch)| AcquiredStore { store, epoch }))
    }
}
