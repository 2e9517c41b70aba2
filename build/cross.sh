#!/usr/bin/env bash
# Compiles every package for the systems we do not run on, without cgo, and links
# the program itself: linking the test programs too would take as long again. Nobody
# runs what comes of it, so that the compiler need not optimise: a third less work.
#
#   build/cross.sh                  all of them
#   build/cross.sh windows/amd64    one
set -euo pipefail
cd "$(dirname "$0")/.."
targets=("$@")
((${#targets[@]})) || targets=(linux/arm64 darwin/arm64 windows/amd64)
for target in "${targets[@]}"; do
	printf '   %s\n' "$target"
	export CGO_ENABLED=0 GOOS=${target%/*} GOARCH=${target#*/}
	"${GO:-go}" list -export -gcflags='all=-N -l' -f '' ./... >/dev/null
	"${GO:-go}" build -gcflags='all=-N -l' -ldflags='-s -w' -o /dev/null ./cmd/hearth
done
