"""What every other room stands on: arguments, keys, folders, progress. It imports nothing of ours."""
