//! Tables of the state machine, and pictures of the screen.
