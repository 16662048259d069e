//! Durable local state: the only user of redb; group commit on its own thread, and the other storage backends.
