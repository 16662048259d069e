//! What a search server shows beside its own: the parts of the platform that have their door here.

use std::fmt;
use std::sync::Arc;

use edge_web::{ApplicationParts, GuardedPath, Routes, SignIn};

/// The door to further parts of the platform.
#[derive(Clone)]
pub struct FrontDoor {
    /// All that this address shows.
    pub parts: ApplicationParts,
    /// How people sign in, to all of it.
    pub sign_in: SignIn,
    /// What only those get at who have signed in, or show the same token.
    pub guarded: Vec<GuardedPath>,
    /// Adds the routes of the further parts, once for each worker.
    pub routes: Arc<dyn Fn(Routes) -> Routes + Send + Sync>,
}

impl fmt::Debug for FrontDoor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FrontDoor")
            .field("parts", &self.parts)
            .finish_non_exhaustive()
    }
}
