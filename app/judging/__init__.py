"""May a number be believed: findings while it is measured, and the verdict once it is."""
