//! Rows of 128 numbers: sums, products, and their form in bytes.

/// Numbers in a concept vector.
pub(crate) const WIDTH: usize = 128;

/// A concept vector, or a row of a table of parameters.
pub(crate) type VectorRow = [f32; WIDTH];

/// Sums are kept in this many lanes, whatever the machine has.
const LANES: usize = 16;

/// Sum of the products.
#[inline(always)]
pub(crate) fn dot(a: &[f32], b: &[f32]) -> f32 {
    let (a, a_rest) = a.as_chunks::<LANES>();
    let (b, b_rest) = b.as_chunks::<LANES>();
    let mut lanes = [0.0; LANES];
    for (a, b) in a.iter().zip(b) {
        for lane in 0..LANES {
            lanes[lane] += a[lane] * b[lane];
        }
    }
    let rest: f32 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    total(lanes) + rest
}

#[inline(always)]
fn total(mut lanes: [f32; LANES]) -> f32 {
    let mut half = LANES / 2;
    while half > 0 {
        for lane in 0..half {
            lanes[lane] += lanes[lane + half];
        }
        half /= 2;
    }
    lanes[0]
}

/// Adds `factor` times `row` to `sum`.
#[inline(always)]
pub(crate) fn add_scaled(sum: &mut [f32], factor: f32, row: &[f32]) {
    for (sum, value) in sum.iter_mut().zip(row) {
        *sum += factor * value;
    }
}

/// Length of a row.
#[inline(always)]
pub(crate) fn norm(row: &[f32]) -> f32 {
    dot(row, row).sqrt()
}

/// `e` to the power of `x`, for `x` of at most 80, to about seven digits; made of sums and products
/// alone, so that it is the same everywhere.
#[inline(always)]
pub(crate) fn exp(x: f32) -> f32 {
    const ROUND: f32 = 12_582_912.0; // 1.5 · 2^23: adding it rounds to a whole number
    let x = x.max(-80.0);
    let power = (x * std::f32::consts::LOG2_E + ROUND) - ROUND;
    let rest = (x - power * 0.693_359_4) + power * 2.121_944_4e-4;
    let series = ((((1.987_569_1e-4 * rest + 1.398_199_9e-3) * rest + 8.333_452e-3) * rest
        + 4.166_579_6e-2)
        * rest
        + 1.666_666_5e-1)
        * rest
        + 0.5;
    let fraction = series * rest * rest + rest + 1.0;
    let bits = ((power as i32) + 127) << 23;
    fraction * f32::from_bits(bits as u32)
}

/// A row in bytes.
pub(crate) type Bytes = [i8; WIDTH];

/// A row in bytes and the factor that gives back its numbers.
pub(crate) fn quantise(row: &VectorRow) -> (Bytes, f32) {
    let largest = row
        .iter()
        .fold(0.0f32, |largest, value| largest.max(value.abs()));
    if largest == 0.0 || !largest.is_finite() {
        return ([0; WIDTH], 0.0);
    }
    let factor = 127.0 / largest;
    let mut bytes = [0; WIDTH];
    for (byte, value) in bytes.iter_mut().zip(row) {
        *byte = (value * factor).round() as i8;
    }
    (bytes, largest / 127.0)
}

/// Adds `factor` times a row in bytes to `sum`.
#[inline(always)]
pub(crate) fn add_bytes(sum: &mut VectorRow, factor: f32, bytes: &Bytes) {
    for (sum, byte) in sum.iter_mut().zip(bytes) {
        *sum += factor * f32::from(*byte);
    }
}

/// Sum of the products of two rows of bytes.
#[inline(always)]
pub(crate) fn quantised_dot(a: &Bytes, b: &Bytes) -> i32 {
    let mut sum = 0;
    for (a, b) in a.iter().zip(b) {
        sum += i32::from(i16::from(*a) * i16::from(*b));
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::{WIDTH, dot, exp, quantise, quantised_dot};

    #[test]
    fn powers_are_right_to_six_digits() {
        for step in -800..=800 {
            let x = step as f32 * 0.1;
            let (ours, exact) = (f64::from(exp(x)), f64::from(x).exp());
            assert!(
                (ours / exact - 1.0).abs() < 1e-6 + 1e-7 * f64::from(x.abs()),
                "{x}: {ours} {exact}"
            );
        }
        assert!(exp(-1e9) < 1e-30);
    }

    #[test]
    fn bytes_give_back_the_products_of_rows_nearly() {
        let row = |seed: usize| std::array::from_fn(|at| ((at * seed) % 23) as f32 / 23.0 - 0.4);
        let (a, b): ([f32; WIDTH], [f32; WIDTH]) = (row(7), row(11));
        let ((a_bytes, a_scale), (b_bytes, b_scale)) = (quantise(&a), quantise(&b));
        let product = quantised_dot(&a_bytes, &b_bytes) as f32 * a_scale * b_scale;
        assert!((product - dot(&a, &b)).abs() < 0.05);
        assert_eq!(quantise(&[0.0; WIDTH]), ([0; WIDTH], 0.0));
        assert_eq!(quantise(&[f32::NAN; WIDTH]).1, 0.0);
    }
}
