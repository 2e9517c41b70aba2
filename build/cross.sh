#!/usr/bin/env bash
# Compiles every package for the systems we do not run on, without cgo.
set -euo pipefail
cd "$(dirname "$0")/.."
for target in linux/arm64 darwin/arm64 windows/amd64; do
	printf '   %s\n' "$target"
	CGO_ENABLED=0 GOOS=${target%/*} GOARCH=${target#*/} "${GO:-go}" build ./...
done
