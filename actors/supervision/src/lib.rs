//! Supervision of actors: child specs, restart policy, supervisors, child references, ticks.
