//! The nearest of many, gathered in one pass.

/// The nearest so far. Holds up to twice as many as are asked for, so that it is cut seldom; all
/// that are as near as the last are kept, for the caller to decide between.
pub(super) struct NearestDocuments {
    limit: usize,
    threshold: f32,
    found: Vec<(f32, usize)>,
    room: usize,
}

impl NearestDocuments {
    /// For at least one.
    pub(super) fn new(limit: usize) -> Self {
        let limit = limit.max(1);
        Self {
            limit,
            threshold: f32::NEG_INFINITY,
            found: Vec::new(),
            room: 2 * limit,
        }
    }

    /// Whether something this near may be among the nearest.
    #[inline(always)]
    pub(super) fn is_candidate(&self, cosine: f32) -> bool {
        cosine >= self.threshold
    }

    #[cold]
    pub(super) fn add(&mut self, cosine: f32, place: usize) {
        self.found.push((cosine, place));
        if self.found.len() >= self.room {
            let at = self.limit - 1;
            let (_, (threshold, _), _) = self
                .found
                .select_nth_unstable_by(at, |a, b| b.0.total_cmp(&a.0));
            self.threshold = *threshold;
            let threshold = self.threshold;
            self.found.retain(|(cosine, _)| *cosine >= threshold);
            self.room = self.found.len() + self.limit;
        }
    }

    /// Those that may be among the nearest, in no order.
    pub(super) fn into_found(self) -> Vec<(f32, usize)> {
        self.found
    }
}
