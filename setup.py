"""Where the packages lie: three source folders, one import name.

A top-level module called `kernels` would overwrite another project's.
"""

from setuptools import find_packages, setup

FOLDERS = {
    "theorykit": "theorykit",
    "theorykit.kernels": "kernels",
    "theorykit.proofs_numeric": "proofs_numeric",
}

setup(
    package_dir=FOLDERS,
    packages=[
        ".".join([name, *inside])
        for name, folder in FOLDERS.items()
        for inside in [[], *([p] for p in find_packages(folder))]
    ],
    package_data={"": ["py.typed", "data/*.csv", "programs/*.crasp", "templates/*"]},
)
