//! Latent semantic analysis: finds the directions in which the documents of a corpus differ most, by subspace
//! iteration.
//!
//! Any orthonormal basis of the leading right singular subspace serves, since cosines inside it do not depend on the
//! basis. So singular vectors are not separated and not scaled (Halko, Martinsson and Tropp 2011, algorithm 4.4).

/// A document as a sparse row: (term, weight).
pub type Sparse = Vec<(u32, f32)>;

/// Passes over the corpus after the first.
const PASSES: usize = 4;

/// The subspace, one row of `rank` numbers for each term.
pub struct Space {
    pub rank: usize,
    pub rows: Vec<f32>,
}

/// The leading subspace of these rows. The work is `PASSES * rank` times the number of weights, plus `rank` squared
/// times the number of terms. Equal corpora give equal subspaces.
pub fn train(documents: &[Sparse], terms: usize, rank: usize) -> Space {
    let rank = rank.min(terms).min(documents.len());
    let mut basis: Vec<f32> = (0..terms * rank).map(noise).collect();
    orthonormalize(&mut basis, rank);
    for _ in 0..PASSES {
        let mut next = vec![0.0; basis.len()];
        for document in documents {
            let folded = fold(&basis, rank, document);
            for (term, weight) in document {
                if let Some(row) = row_mut(&mut next, rank, *term) {
                    row.iter_mut().zip(&folded).for_each(|(to, part)| *to += weight * part);
                }
            }
        }
        basis = next;
        orthonormalize(&mut basis, rank);
    }
    Space { rank, rows: basis }
}

impl Space {
    /// The position of a document in the subspace, as a vector of length 1; zeros when none of its terms is in the
    /// subspace.
    pub fn place(&self, document: &[(u32, f32)]) -> Vec<f32> {
        let mut folded = fold(&self.rows, self.rank, document);
        let length = folded.iter().map(|part| part * part).sum::<f32>().sqrt();
        if length > 1e-6 {
            folded.iter_mut().for_each(|part| *part /= length);
        } else {
            folded.iter_mut().for_each(|part| *part = 0.0);
        }
        folded
    }
}

fn fold(basis: &[f32], rank: usize, document: &[(u32, f32)]) -> Vec<f32> {
    let mut folded = vec![0.0; rank];
    for (term, weight) in document {
        let start = *term as usize * rank;
        if let Some(row) = basis.get(start..start + rank) {
            folded.iter_mut().zip(row).for_each(|(to, part)| *to += weight * part);
        }
    }
    folded
}

fn row_mut(rows: &mut [f32], rank: usize, term: u32) -> Option<&mut [f32]> {
    let start = term as usize * rank;
    rows.get_mut(start..start + rank)
}

/// A pseudorandom number between -1 and 1 that depends only on `at`.
fn noise(at: usize) -> f32 {
    let mut x = (at as u64).wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((x ^ (x >> 31)) >> 40) as f32 / (1u64 << 23) as f32 - 1.0
}

/// Makes the columns orthonormal by modified Gram-Schmidt. A column that depends on earlier ones becomes zero.
fn orthonormalize(rows: &mut [f32], rank: usize) {
    if rank == 0 {
        return;
    }
    for column in 0..rank {
        let mut products = vec![0.0f32; column + 1];
        // Two passes are enough (Giraud and others 2005).
        for _ in 0..2 {
            products.iter_mut().for_each(|product| *product = 0.0);
            for row in rows.chunks_exact(rank) {
                let own = row.get(column).copied().unwrap_or_default();
                products.iter_mut().zip(row).for_each(|(product, part)| *product += own * part);
            }
            for row in rows.chunks_exact_mut(rank) {
                let (before, rest) = row.split_at_mut(column);
                if let Some(own) = rest.first_mut() {
                    *own -= products.iter().zip(before.iter()).map(|(product, part)| product * part).sum::<f32>();
                }
            }
        }
        let own = |row: &[f32]| row.get(column).copied().unwrap_or_default();
        let length = rows.chunks_exact(rank).map(|row| own(row) * own(row)).sum::<f32>().sqrt();
        let scale = if length > 1e-6 { 1.0 / length } else { 0.0 };
        rows.chunks_exact_mut(rank).filter_map(|row| row.get_mut(column)).for_each(|own| *own *= scale);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_occur_in_like_company_are_near_each_other() {
        // Terms 0 and 1 never occur together, but both occur with 2 and 3; terms 4 and 5 occur only with each other.
        let documents: Vec<Sparse> = [[0, 2, 3], [1, 2, 3], [0, 2, 3], [1, 2, 3], [4, 5, 5], [4, 5, 4]]
            .iter()
            .map(|terms| terms.iter().map(|term| (*term, 1.0)).collect())
            .collect();
        let space = train(&documents, 6, 2);
        let cosine = |a: u32, b: u32| -> f32 {
            let (a, b) = (space.place(&[(a, 1.0)]), space.place(&[(b, 1.0)]));
            a.iter().zip(&b).map(|(a, b)| a * b).sum()
        };
        assert!(cosine(0, 1) > 0.9 && cosine(0, 4).abs() < 0.1, "{} {}", cosine(0, 1), cosine(0, 4));
        assert_eq!(train(&documents, 6, 2).rows, space.rows, "the same corpus gives the same space");
    }

    #[test]
    fn odd_corpora_are_no_trouble() {
        for documents in [vec![], vec![vec![]], vec![vec![(0, 0.0)]], vec![vec![(99, 1.0)], vec![(0, 1.0)]]] {
            let space = train(&documents, 3, 64);
            assert!(space.place(&[(0, 1.0), (7, 1.0)]).iter().all(|part| part.is_finite()));
        }
    }
}
