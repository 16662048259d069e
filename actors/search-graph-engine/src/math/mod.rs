//! Tight loops over rows of numbers, run with the vector instructions the machine has.
//!
//! Sums are kept in a fixed number of lanes, and products are not fused with sums unless a caller
//! asks for it: the same input gives the same bits on every machine.

mod gemm;
mod multiplier;
mod random;
mod rows;

pub(crate) use gemm::{FusedMultiplyAdd, PackedMatrix, multiply};
pub(crate) use multiplier::Multiplier;
pub(crate) use pulp::NullaryFnOnce as Work;
pub(crate) use random::Random;
pub(crate) use rows::{
    Bytes, VectorRow, WIDTH, add_bytes, add_scaled, dot, exp, norm, quantise, quantised_dot,
};

/// Runs `work` compiled for the widest vectors this machine has. Work is a struct whose `call` is
/// `#[inline(always)]`: a closure would be compiled once for all machines.
#[inline]
pub(crate) fn vectorised<W: Work>(work: W) -> W::Output {
    pulp::Arch::new().dispatch(work)
}
