"""What every other room stands on: arguments, folders, exponents. It imports nothing of ours."""
