//! Products of matrices, in blocks that stay in registers and in the nearest cache.

use super::{Work, vectorised};

/// Rows and columns of the block of the result that is kept in registers.
const ROWS: usize = 6;
const COLUMNS: usize = 16;

/// Length of the stretch of inner products done at a time: a panel of it stays in the cache.
const DEPTH: usize = 384;

/// Whether products may be fused with sums: faster, but other bits where a machine has no such
/// instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FusedMultiplyAdd {
    /// Never: the same bits on every machine.
    Never,
    /// Where the machine can.
    WherePossible,
}

/// A right-hand matrix, rearranged once so that products read it in order.
#[derive(Debug, Clone, Default)]
pub(crate) struct PackedMatrix {
    panels: Vec<f32>,
    inner: usize,
    columns: usize,
}

impl PackedMatrix {
    /// Packs the matrix that has `columns` columns, each `inner` long, from its transpose: a column
    /// after the other.
    pub(crate) fn from_columns(matrix: &[f32], inner: usize, columns: usize) -> Self {
        let mut packed = Self::default();
        packed.fill(inner, columns, |row, column| matrix[column * inner + row]);
        packed
    }

    /// Packs the columns again into the room there is.
    pub(crate) fn refill_columns(&mut self, matrix: &[f32], inner: usize, columns: usize) {
        self.fill(inner, columns, |row, column| matrix[column * inner + row]);
    }

    /// Packs a matrix given row by row into the room there is.
    pub(crate) fn refill_rows(&mut self, matrix: &[f32], inner: usize, columns: usize) {
        self.fill(inner, columns, |row, column| matrix[row * columns + column]);
    }

    #[inline(always)]
    fn fill(&mut self, inner: usize, columns: usize, at: impl Fn(usize, usize) -> f32) {
        (self.inner, self.columns) = (inner, columns);
        let panels = columns.div_ceil(COLUMNS);
        self.panels.clear();
        self.panels.reserve_exact(panels * inner * COLUMNS);
        for panel in 0..panels {
            for row in 0..inner {
                for column in panel * COLUMNS..(panel + 1) * COLUMNS {
                    self.panels.push(if column < columns {
                        at(row, column)
                    } else {
                        0.0
                    });
                }
            }
        }
    }

    /// Columns of the matrix.
    pub(crate) const fn columns(&self) -> usize {
        self.columns
    }
}

/// `result = left · right`, all row by row.
pub(crate) fn multiply(
    left: &[f32],
    right: &PackedMatrix,
    result: &mut [f32],
    fused: FusedMultiplyAdd,
) {
    debug_assert_eq!(left.len() / right.inner, result.len() / right.columns);
    if fused == FusedMultiplyAdd::WherePossible && can_fuse() {
        vectorised(Blocks::<true> {
            left,
            right,
            result,
        });
    } else {
        vectorised(Blocks::<false> {
            left,
            right,
            result,
        });
    }
}

fn can_fuse() -> bool {
    #[cfg(target_arch = "x86_64")]
    let can = std::arch::is_x86_feature_detected!("fma");
    #[cfg(not(target_arch = "x86_64"))]
    let can = cfg!(target_arch = "aarch64");
    can
}

struct Blocks<'m, const FUSED: bool> {
    left: &'m [f32],
    right: &'m PackedMatrix,
    result: &'m mut [f32],
}

impl<const FUSED: bool> Work for Blocks<'_, FUSED> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        blocks::<FUSED>(self.left, self.right, self.result);
    }
}

#[inline(always)]
fn blocks<const FUSED: bool>(left: &[f32], right: &PackedMatrix, result: &mut [f32]) {
    let (inner, columns) = (right.inner, right.columns);
    let rows = left.len() / inner;
    let mut panel_of_left = [[0.0; ROWS]; DEPTH];
    result[..rows * columns].fill(0.0);
    for depth in (0..inner).step_by(DEPTH) {
        let stretch = DEPTH.min(inner - depth);
        for row in (0..rows).step_by(ROWS) {
            let height = ROWS.min(rows - row);
            pack_left(
                &mut panel_of_left,
                left,
                inner,
                row..row + height,
                depth..depth + stretch,
            );
            for column in (0..columns).step_by(COLUMNS) {
                let panel = column / COLUMNS * inner + depth;
                let panel = &right.panels[panel * COLUMNS..(panel + stretch) * COLUMNS];
                let sums = block::<FUSED>(&panel_of_left[..stretch], panel.as_chunks().0);
                let width = COLUMNS.min(columns - column);
                for (line, sums) in sums.iter().enumerate().take(height) {
                    let start = (row + line) * columns + column;
                    for (value, sum) in result[start..start + width].iter_mut().zip(sums) {
                        *value += sum;
                    }
                }
            }
        }
    }
}

#[inline(always)]
fn pack_left(
    panel: &mut [[f32; ROWS]; DEPTH],
    left: &[f32],
    inner: usize,
    rows: std::ops::Range<usize>,
    depths: std::ops::Range<usize>,
) {
    for (line, row) in rows.clone().enumerate() {
        let values = &left[row * inner + depths.start..row * inner + depths.end];
        for (place, value) in panel.iter_mut().zip(values) {
            place[line] = *value;
        }
    }
    for line in rows.len()..ROWS {
        panel.iter_mut().for_each(|place| place[line] = 0.0);
    }
}

/// The sums of one block of the result.
#[inline(always)]
fn block<const FUSED: bool>(
    left: &[[f32; ROWS]],
    right: &[[f32; COLUMNS]],
) -> [[f32; COLUMNS]; ROWS] {
    let mut sums = [[0.0f32; COLUMNS]; ROWS];
    for (left, right) in left.iter().zip(right) {
        for line in 0..ROWS {
            for column in 0..COLUMNS {
                sums[line][column] = if FUSED {
                    left[line].mul_add(right[column], sums[line][column])
                } else {
                    sums[line][column] + left[line] * right[column]
                };
            }
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{FusedMultiplyAdd, PackedMatrix, multiply};

    fn values(count: usize, seed: usize) -> Vec<f32> {
        (0..count)
            .map(|at| ((at * 31 + seed * 17) % 13) as f32 - 6.0)
            .collect()
    }

    proptest! {
        #[test]
        fn products_are_those_of_the_definition(rows in 1usize..20, inner in 1usize..40, deep in any::<bool>(), columns in 1usize..40) {
            let inner = if deep { inner + 380 } else { inner };
            let (left, right) = (values(rows * inner, 1), values(inner * columns, 2));
            let mut packed = PackedMatrix::default();
            packed.refill_rows(&right, inner, columns);
            let mut transposed = vec![0.0; inner * columns];
            for row in 0..inner {
                for column in 0..columns {
                    transposed[column * inner + row] = right[row * columns + column];
                }
            }
            for fused in [FusedMultiplyAdd::Never, FusedMultiplyAdd::WherePossible] {
                for packed in [&packed, &PackedMatrix::from_columns(&transposed, inner, columns)] {
                    let mut result = vec![f32::NAN; rows * columns];
                    multiply(&left, packed, &mut result, fused);
                    for row in 0..rows {
                        for column in 0..columns {
                            let exact: f32 = (0..inner).map(|at| left[row * inner + at] * right[at * columns + column]).sum();
                            prop_assert_eq!(result[row * columns + column], exact);
                        }
                    }
                }
            }
        }
    }
}
