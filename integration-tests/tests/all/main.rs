//! One test binary for the whole: real servers on port 0, real folders, real processes.
