"""linpack: systems of linear equations of rising size, solved by HPL or by a vendor's program, residuals checked."""
