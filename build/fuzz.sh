#!/usr/bin/env bash
# Runs every fuzz target of the repository for FUZZTIME, one after the other.
set -euo pipefail
cd "$(dirname "$0")/.."
GO=${GO:-go}
targets=()
while read -r word rest; do
	case $word in
	Fuzz*) targets+=("$word") ;;
	ok)
		for target in ${targets[@]+"${targets[@]}"}; do
			printf '== %s %s\n' "${rest%%[[:space:]]*}" "$target"
			"$GO" test -run='^$' -fuzz="^$target\$" -fuzztime="${FUZZTIME:-10s}" "${rest%%[[:space:]]*}"
		done
		targets=()
		;;
	esac
done < <("$GO" test -list '^Fuzz' "${@:-./...}")
