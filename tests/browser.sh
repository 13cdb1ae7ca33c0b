#!/bin/sh
# Opens the reports, and the site if it is built, in headless Chromium and leaves screenshots in
# build/report. Chromium is the system's own; where there is none and this is Debian's root, it is
# installed, with a font for mathematics.
set -eu
cd "$(dirname "$0")/.."
if ! command -v chromium >/dev/null && ! command -v google-chrome >/dev/null; then
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends \
        chromium fonts-lmodern >/dev/null
fi
exec .venv/bin/python -m pytest -m browser tests/theorykit/report tests/docs "$@"
