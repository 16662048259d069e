//! What every HTTP edge of the platform shares: errors, request ids, limits, signed bodies, guards, health, metrics.
