//! Configuration text to checked values: spans, suggestions, environment as a map, secrets.
