#!/usr/bin/env bash
# Print the distribution's Chromium, which tests of the viewer drive. Where there is none, try to install it; where that
# is not allowed either, say so: those tests are then left out.
set -uo pipefail
for name in chromium chromium-browser google-chrome; do
    if command -v "$name"; then exit 0; fi
done
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    # Another package manager may hold the lock, and a mirror may be out of reach.
    timeout 300 apt-get install --yes --no-install-recommends chromium >/dev/null 2>&1 && command -v chromium && exit 0
fi
echo >&2 "find_chromium: no Chromium here; the tests of the viewer's page are left out (apt-get install chromium)"
exit 1
