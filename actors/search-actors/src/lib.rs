//! The search server's actors: index keepers, watchers, the search desk.
