//! Two rows laid against each other so that what is the same in both meets.

/// Longer rows are not laid against each other but told one after the other: the table would be
/// too large.
const CELLS: usize = 16 << 20;

/// Where an item stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    /// Only on the left, at this place.
    Left(usize),
    /// Only on the right.
    Right(usize),
    /// On both, at these places.
    Both(usize, usize),
}

/// Lays two rows against each other: as much as possible meets, and both keep their order.
pub(super) fn align<T: PartialEq>(left: &[T], right: &[T]) -> Vec<Side> {
    let begin = left.iter().zip(right).take_while(|(a, b)| a == b).count();
    let rest = left.len().min(right.len()) - begin;
    let end = left.iter().rev().zip(right.iter().rev()).take(rest).take_while(|(a, b)| a == b);
    let end = end.count();
    let (a, b) = (left.len() - begin - end, right.len() - begin - end);
    let mut out: Vec<Side> = (0..begin).map(|i| Side::Both(i, i)).collect();
    let left_middle = left.get(begin..begin + a).unwrap_or(&[]);
    let right_middle = right.get(begin..begin + b).unwrap_or(&[]);
    middle(left_middle, right_middle, begin, &mut out);
    out.extend((0..end).map(|i| Side::Both(begin + a + i, begin + b + i)));
    out
}

/// What lies between what both begin and end with.
fn middle<T: PartialEq>(left: &[T], right: &[T], from: usize, out: &mut Vec<Side>) {
    let (rows, columns) = (left.len(), right.len());
    if rows.saturating_mul(columns) > CELLS {
        out.extend((0..rows).map(|i| Side::Left(from + i)));
        out.extend((0..columns).map(|j| Side::Right(from + j)));
        return;
    }
    // `most[i][j]`: how many can meet of what is left from there on.
    let width = columns + 1;
    let mut most = vec![0u32; (rows + 1) * width];
    let get = |most: &[u32], i: usize, j: usize| most.get(i * width + j).copied().unwrap_or(0);
    for (i, a) in left.iter().enumerate().rev() {
        for (j, b) in right.iter().enumerate().rev() {
            let best = match a == b {
                true => get(&most, i + 1, j + 1) + 1,
                false => get(&most, i + 1, j).max(get(&most, i, j + 1)),
            };
            if let Some(cell) = most.get_mut(i * width + j) {
                *cell = best;
            }
        }
    }
    let (mut i, mut j) = (0, 0);
    while i < rows || j < columns {
        if i < rows && j < columns && left.get(i) == right.get(j) {
            out.push(Side::Both(from + i, from + j));
            (i, j) = (i + 1, j + 1);
        } else if j == columns || (i < rows && get(&most, i + 1, j) >= get(&most, i, j + 1)) {
            out.push(Side::Left(from + i));
            i += 1;
        } else {
            out.push(Side::Right(from + j));
            j += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(left: &str, right: &str) -> String {
        let (left, right): (Vec<char>, Vec<char>) =
            (left.chars().collect(), right.chars().collect());
        let name = |side: &Side| match side {
            Side::Left(at) => format!("-{}", left[*at]),
            Side::Right(at) => format!("+{}", right[*at]),
            Side::Both(a, b) => {
                assert_eq!(left[*a], right[*b]);
                left[*a].to_string()
            }
        };
        align(&left, &right).iter().map(name).collect()
    }

    #[test]
    fn what_is_the_same_meets() {
        assert_eq!(told("", ""), "");
        assert_eq!(told("abc", "abc"), "abc");
        assert_eq!(told("abc", ""), "-a-b-c");
        assert_eq!(told("abcd", "axcyd"), "a-b+xc+yd");
        assert_eq!(told("aa", "a"), "a-a");
        assert_eq!(told("xab", "aby"), "-xab+y");
    }
}
