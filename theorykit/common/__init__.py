"""What every other room stands on: arguments, keys, folders, progress; nothing of ours is below."""
