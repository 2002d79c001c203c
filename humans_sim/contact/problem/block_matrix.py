# SPDX-License-Identifier: Apache-2.0
"""Sparse matrices of contacts: a block of three rows and columns for each pair.

In a heap each contact meets few others, so that nearly all blocks of W are zero, and
the equations of Newton's method are solved by a sparse factorisation (SuperLU).
"""

from __future__ import annotations

import numpy as np
import scipy.sparse
from scipy.sparse.linalg import splu

from humans_sim.contact.problem.block_kernels import equations, times

_PIVOT = 0.1
"""Share of the largest entry of its column with which the diagonal is the pivot."""


class BlockMatrix:
    """A sparse matrix of k x k blocks, each 3 x 3; all diagonal blocks are stored.

    Args:
        blocks: (m, 3, 3), row by row.
        rows: block row of each (m,), ascending.
        columns: block column of each (m,), ascending within a row.
        count: k.

    Attributes:
        fields: (blocks, starts of the rows, columns), as kernels take it.
    """

    def __init__(
        self, blocks: np.ndarray, rows: np.ndarray, columns: np.ndarray, count: int
    ) -> None:
        """Keep the blocks."""
        self.blocks, self.rows, self.columns, self.count = blocks, rows, columns, count
        starts = np.searchsorted(rows, np.arange(count + 1))
        self.fields = (blocks, starts, columns)

    @classmethod
    def of_dense(cls, matrix: np.ndarray) -> BlockMatrix:
        """The blocks of a matrix that are not zero, and the diagonal ones."""
        k = len(matrix) // 3
        blocks = matrix.reshape(k, 3, k, 3).transpose(0, 2, 1, 3)
        used = (matrix != 0.0).reshape(k, 3, k, 3).any(axis=(1, 3))
        np.fill_diagonal(used, True)
        rows, columns = np.nonzero(used)
        return cls(np.ascontiguousarray(blocks[used]), rows, columns, k)

    @property
    def density(self) -> float:
        """Share of the blocks that are stored."""
        return len(self.rows) / self.count**2

    def times(self, vectors: np.ndarray) -> np.ndarray:
        """The product with vectors (k, 3), as (k, 3)."""
        return times(self.fields, vectors)

    def plus(self, shift: float) -> BlockMatrix:
        """The sum with a multiple of the identity."""
        blocks = self.blocks.copy()
        blocks[self.rows == self.columns] += shift * np.eye(3)
        return BlockMatrix(blocks, self.rows, self.columns, self.count)

    def solve(
        self,
        left: np.ndarray,
        diagonal: np.ndarray,
        right: np.ndarray,
        keep: np.ndarray,
    ) -> np.ndarray:
        """Solve (L A + D) x = r, with blocks of L and D on the diagonal alone.

        Args:
            left: L (k, 3, 3).
            diagonal: D (k, 3, 3).
            right: r (k, 3).
            keep: contacts whose equations are taken (k,); x of the others is zero.

        Raises:
            RuntimeError: the matrix is singular.
        """
        x = np.zeros((self.count, 3))
        n = 3 * int(keep.sum())
        if n == 0:
            return x
        # The rows of a matrix are the columns of its transpose: no conversion.
        transpose = scipy.sparse.csc_matrix(
            equations(self.fields, left, diagonal, keep), shape=(n, n)
        )
        factors = splu(
            transpose,
            permc_spec="MMD_AT_PLUS_A",
            diag_pivot_thresh=_PIVOT,
            options={"SymmetricMode": True},
        )
        x[keep] = factors.solve(right[keep].ravel(), trans="T").reshape(-1, 3)
        return x
