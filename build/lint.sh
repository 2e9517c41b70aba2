#!/usr/bin/env bash
# The checks that need no database: format, vet, staticcheck, go.mod, and the
# rules of internal/archtest that only read source. Quick ones first.
#
#   build/lint.sh           these
#   build/lint.sh source    without internal/archtest, which build/test.sh runs whole
#                           beside the other tests
set -euo pipefail
cd "$(dirname "$0")/.."
GO=${GO:-go}
tool() { "$GO" tool -modfile=tools/go.mod "$@"; }
say() { printf '== %s\n' "$*"; }

say "format (gofumpt)"
# shellcheck disable=SC2046
unformatted=$(tool gofumpt -l $(build/gofiles.sh))
if [[ -n $unformatted ]]; then
	printf 'not formatted, run make fmt:\n%s\n' "$unformatted"
	exit 1
fi

say "go.mod"
"$GO" mod tidy -diff
(cd tools && "$GO" mod tidy -diff)

say "vet"
"$GO" vet ./...

say "staticcheck"
tool staticcheck ./...

if [[ ${1:-} == source ]]; then
	exit
fi
say "rules of the repository (internal/archtest)"
# -count=1: go test does not see which files the rules read.
"$GO" test -count=1 -short ./internal/archtest/... | { grep -v 'no test files' || true; }
