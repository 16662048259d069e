//! The web interface: its sources, embedded in the binaries.
