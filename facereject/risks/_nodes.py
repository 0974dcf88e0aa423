"""Constants of the interpolation in ``_pairs``, shared with its kernels."""

# Chebyshev nodes per crowded cell and the width of a cell on the score axis. Interpolating σ on an interval
# of half-width r converges like ρ^-N_NODES with ρ = π/r + sqrt((π/r)² + 1): 10.6^-12 ≈ 5e-13 here.
N_NODES = 12
CELL_WIDTH = 1.2
