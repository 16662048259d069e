//! A row of bytes that very many others are multiplied with.

#[cfg(target_arch = "x86_64")]
use pulp::{i16x16, x86::V3};

use super::rows::{Bytes, quantised_dot};

/// Numbers that are multiplied at once.
#[cfg(target_arch = "x86_64")]
const AT_ONCE: usize = 16;

/// A row, and its numbers as wide as they are multiplied where the machine can do so: compilers
/// widen them again for each row else, which takes twice the time.
pub(crate) struct Multiplier {
    bytes: Bytes,
    #[cfg(target_arch = "x86_64")]
    wide: Option<(V3, [i16x16; super::WIDTH / AT_ONCE])>,
}

impl Multiplier {
    pub(crate) fn new(bytes: &Bytes) -> Self {
        Self {
            bytes: *bytes,
            #[cfg(target_arch = "x86_64")]
            wide: V3::try_new().map(|simd| (simd, widened(bytes))),
        }
    }

    /// What [`quantised_dot`] gives. To be called in [`vectorised`](super::vectorised) work.
    #[inline(always)]
    pub(crate) fn dot(&self, row: &Bytes) -> i32 {
        #[cfg(target_arch = "x86_64")]
        if let Some((simd, wide)) = &self.wide {
            return wide_dot(*simd, wide, row);
        }
        quantised_dot(row, &self.bytes)
    }
}

#[cfg(target_arch = "x86_64")]
fn widened(bytes: &Bytes) -> [i16x16; super::WIDTH / AT_ONCE] {
    let (pieces, _) = bytes.as_chunks::<AT_ONCE>();
    std::array::from_fn(|at| pulp::cast(pieces[at].map(i16::from)))
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn wide_dot(simd: V3, wide: &[i16x16], row: &Bytes) -> i32 {
    let (pieces, _) = row.as_chunks::<AT_ONCE>();
    let mut lanes = [0_i32; AT_ONCE / 2];
    for (piece, wide) in pieces.iter().zip(wide) {
        let piece = simd.convert_i8x16_to_i16x16(pulp::cast(*piece));
        let pairs = simd.multiply_wrapping_add_adjacent_i16x16(piece, *wide);
        let pairs: [i32; AT_ONCE / 2] = pulp::cast(pairs);
        for (lane, pair) in lanes.iter_mut().zip(pairs) {
            *lane += pair;
        }
    }
    lanes.iter().sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Multiplier, quantised_dot};
    use crate::math::{Bytes, WIDTH, Work, vectorised};

    struct Product<'p>(&'p Multiplier, &'p Bytes);

    impl Work for Product<'_> {
        type Output = i32;

        #[inline(always)]
        fn call(self) -> i32 {
            self.0.dot(self.1)
        }
    }

    proptest! {
        #[test]
        fn i16_products_of_many_are_those_of_two(
            rows in prop::collection::vec(any::<i8>(), 2 * WIDTH),
        ) {
            let (row, other) = rows.split_at(WIDTH);
            let row: Bytes = row.try_into().expect("a row");
            let other: Bytes = other.try_into().expect("a row");
            let multiplier = Multiplier::new(&other);
            prop_assert_eq!(multiplier.dot(&row), quantised_dot(&row, &other));
            prop_assert_eq!(vectorised(Product(&multiplier, &row)), quantised_dot(&row, &other));
        }
    }

    #[test]
    fn i16_the_largest_products_are_right() {
        for (a, b) in [(127, 127), (-128, 127), (-128, -128), (0, -128)] {
            let expected = i32::from(a) * i32::from(b) * WIDTH as i32;
            assert_eq!(Multiplier::new(&[a; WIDTH]).dot(&[b; WIDTH]), expected);
        }
    }
}
