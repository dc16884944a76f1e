"""The regressor and its adjoint for many samples: compiled with Numba, and with NumPy."""
