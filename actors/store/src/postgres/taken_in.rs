//! What other processes took in, for commands over a whole store.

use super::connecting::connector;
use super::connection::Connection;
use super::url::PostgresUrl;
use super::{intake, layout};
use crate::error::OpenError;
use crate::options::Options;

/// What other processes took in for the holder of a store.
pub(crate) struct TakenInEntries {
    connection: Connection,
    place: String,
}

impl TakenInEntries {
    /// Connects.
    pub(crate) fn open(url: &PostgresUrl, options: &Options) -> Result<Self, OpenError> {
        let (connector, place) = connector(url, options)?;
        let connected = connector.connect();
        let connection = connected.map_err(|fault| layout::refused(&place, fault))?;
        Ok(Self { connection, place })
    }

    /// The number of the newest one that is there; 0 where there is none.
    pub(crate) fn newest(&mut self) -> Result<u64, OpenError> {
        let newest = intake::newest(&mut self.connection);
        newest.map_err(|fault| layout::refused(&self.place, fault))
    }

    /// Reads all of each.
    pub(crate) fn read(&mut self) -> Result<(), OpenError> {
        let read = intake::read(&mut self.connection);
        read.map_err(|fault| layout::refused(&self.place, fault))
    }

    /// How many of those up to a number the holder has yet to decide.
    pub(crate) fn undecided(&mut self, up_to: u64) -> Result<u64, OpenError> {
        let count = intake::undecided(&mut self.connection, up_to);
        count.map_err(|fault| layout::refused(&self.place, fault))
    }
}
