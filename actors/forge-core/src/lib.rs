//! Forge facts without I/O: signatures, typed events, ids, the mention grammar.
