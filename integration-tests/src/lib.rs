//! Tests of the whole against real parts.
