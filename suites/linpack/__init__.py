"""linpack: systems of linear equations of rising size, solved by HPL or a vendor's program, residuals checked."""
