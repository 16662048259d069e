//! What somebody says to a run that waits: rows of their own, since a run's record is written by
//! the run alone.

use runner_core::protection::ProtectionVerdict;
use serde::{Deserialize, Serialize};
use store::{JsonRow, ReadRows, StoreError, Table, WriteTxn};
use utoipa::ToSchema;

const REVIEWS: Table<String, JsonRow<RunReviews>> = Table::new("runner_reviews");

/// An approval or its opposite.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Review {
    /// What was said.
    pub verdict: ProtectionVerdict,
    /// By whom, as they named themselves: whoever has the API token may.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// When, in milliseconds since the Unix epoch.
    pub at: u64,
}

/// All that was said to one run.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct RunReviews {
    /// Somebody ended it while it waited: why.
    #[serde(default)]
    pub(crate) cancelled: Option<String>,
    /// To the run as a whole: a pull request from a fork.
    #[serde(default)]
    pub(crate) run: Option<Review>,
    /// To its environments.
    #[serde(default)]
    pub(crate) environments: Vec<(String, Review)>,
}

impl RunReviews {
    pub(crate) fn of_environment(&self, name: &str) -> Option<&Review> {
        let mut all = self.environments.iter();
        let found = all.find(|(known, _)| known.to_lowercase() == name.to_lowercase());
        found.map(|(_, review)| review)
    }
}

/// What was said to a run.
pub(crate) fn get(rows: &mut impl ReadRows, run: &str) -> Result<RunReviews, StoreError> {
    let row = rows.get(&REVIEWS, &run.to_owned())?;
    Ok(row.and_then(JsonRow::value).unwrap_or_default())
}

/// Stores what was said to a run.
pub(crate) fn put(
    rows: &mut WriteTxn<'_>,
    run: &String,
    reviews: &RunReviews,
) -> Result<(), StoreError> {
    rows.put(&REVIEWS, run, &JsonRow::new(reviews))
}

/// Forgets what was said to a run.
pub(crate) fn forget(rows: &mut WriteTxn<'_>, run: &String) -> Result<(), StoreError> {
    rows.delete(&REVIEWS, run)?;
    Ok(())
}
