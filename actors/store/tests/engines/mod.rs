//! The same test over both engines.
#![allow(dead_code, reason = "not each test program uses all of it")]

use scripted_peers::postgres::{PostgresServer, Stop};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use store::{OpenError, Store, StoreOptions};

/// Where the stores of one test are: a folder, or a server.
pub(crate) struct Lab {
    folder: Arc<tempfile::TempDir>,
    name: String,
    server: Option<Arc<Mutex<PostgresServer>>>,
}

impl Lab {
    /// Stores in redb.
    pub(crate) fn redb() -> Self {
        Self {
            folder: Arc::new(tempfile::tempdir().unwrap()),
            name: "data".to_owned(),
            server: None,
        }
    }

    /// Stores in a PostgreSQL server of the test's own.
    pub(crate) fn postgres() -> Self {
        Self {
            server: Some(Arc::new(Mutex::new(PostgresServer::start()))),
            ..Self::redb()
        }
    }

    /// The same with another, empty folder.
    pub(crate) fn another(&self, number: u32) -> Self {
        Self {
            folder: Arc::clone(&self.folder),
            name: format!("data-{number}"),
            server: self.server.clone(),
        }
    }

    /// The folder of the store, if it is in one.
    pub(crate) fn folder(&self) -> PathBuf {
        self.folder.path().join(&self.name)
    }

    /// The address of the store, if it is in a server.
    pub(crate) fn url(&self) -> String {
        let server = self.server.as_ref().expect("the lab is one of PostgreSQL");
        server.lock().unwrap().url()
    }

    /// Whether the stores are in a server.
    pub(crate) fn is_postgres(&self) -> bool {
        self.server.is_some()
    }

    /// Has the server carry out statements.
    pub(crate) fn sql(&self, statements: &str) -> String {
        let server = self.server.as_ref().expect("the lab is one of PostgreSQL");
        server.lock().unwrap().sql(statements)
    }

    /// Opens the lab's store, the same each time.
    pub(crate) fn open(&self, options: &StoreOptions) -> Result<Store, OpenError> {
        match &self.server {
            Some(_) => Store::open_postgres(&self.url().parse()?, options),
            None => Store::open(&self.folder(), options),
        }
    }

    /// The lab's store, with the options that most tests want.
    pub(crate) fn store(&self) -> Store {
        self.open(&StoreOptions::new("test")).unwrap()
    }

    /// Restarts the server, if there is one.
    pub(crate) fn restart_server(&self, how: Stop) {
        if let Some(server) = &self.server {
            server.lock().unwrap().restart(how);
        }
    }
}

/// Makes a test of each engine from a function of a [`Lab`].
#[allow(unused_macros, reason = "not each test program has such")]
macro_rules! over_both_engines {
    ($($name:ident),+ $(,)?) => {
        mod in_redb {
            $(#[test] fn $name() { super::$name(&$crate::engines::Lab::redb()); })+
        }
        mod in_postgres {
            $(#[test] fn $name() { super::$name(&$crate::engines::Lab::postgres()); })+
        }
    };
}
#[allow(unused_imports, reason = "not each test program has such")]
pub(crate) use over_both_engines;

/// Runs a future to its end.
pub(crate) fn wait<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(work)
}
