"""The base of every other package: arguments, keys, folders, progress. It imports none of them."""
