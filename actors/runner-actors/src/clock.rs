//! The time of records.

pub(crate) use supervision::unix_ms as now_ms;
