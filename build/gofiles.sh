#!/usr/bin/env bash
# Lists the Go files that are ours to format.
set -euo pipefail
cd "$(dirname "$0")/.."
find . -name '*.go' -not -path './.*/*' -not -path './bin/*' -not -path '*/testdata/*' | sort
