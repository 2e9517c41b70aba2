#!/usr/bin/env bash
# The whole check, as CI runs it: lint, cross-builds, then all tests under the
# race detector on SQLite and on a real PostgreSQL, the built binary end to
# end, and /docs in a real browser. Says loudly what it had to skip, and how
# long it took. With CI=true nothing may be skipped.
set -euo pipefail
cd "$(dirname "$0")/.."
export GO=${GO:-go}
step="the beginning"
say() {
	step=$1
	printf '\n=== %s  (%ds)\n' "$1" "$SECONDS"
}
skipped=()
finish() {
	local status=$?
	printf '\n'
	for name in ${skipped[@]+"${skipped[@]}"}; do
		printf '!!! SKIPPED: %s\n' "$name"
	done
	if ((status)); then
		printf 'FAILED in %s after %d min %02d s\n' "$step" $((SECONDS / 60)) $((SECONDS % 60))
	else
		printf 'All clean in %d min %02d s\n' $((SECONDS / 60)) $((SECONDS % 60))
	fi
}
trap finish EXIT

if [[ ${CI:-} == true ]]; then
	export HEARTH_TEST_REQUIRE=${HEARTH_TEST_REQUIRE:-all}
fi

say "what is needed"
race=(-race)
while read -r name; do
	case $name in
	postgresql) skipped+=("every test on PostgreSQL: no server programs found and none could be installed") ;;
	chromium) skipped+=("/docs in a browser: no Chromium found and none could be installed") ;;
	gcc)
		skipped+=("the race detector: no C compiler found and none could be installed")
		race=()
		;;
	esac
done < <(build/need.sh)
if [[ ${HEARTH_TEST_REQUIRE:-} == all ]] && ((${#skipped[@]})); then
	echo "HEARTH_TEST_REQUIRE=all: nothing may be missing"
	exit 1
fi
if bin=$(build/need.sh pgbin); then
	export PATH="$PATH:$bin"
fi

# Without the folder of the clone in what is compiled, the build cache of one
# clone serves the next.
GOFLAGS="$("$GO" env GOFLAGS) -trimpath"
export GOFLAGS
# Without cgo, as the program itself is built: what lint has compiled then
# serves the tests that build it.
export CGO_ENABLED=0

say "lint"
build/lint.sh full

say "cross-builds"
build/cross.sh

say "10,000 walks through menus"
# -count=1: every run walks other ways, a cached one walks none.
"$GO" test -count=1 -run 'TestRandomWalks/sqlite' ./internal/ussd

say "tests"
# The slow ones first, so that no core is idle at the end. A name that is gone
# fails the run; a package named twice is tested once.
slow=(./internal/{app,db,cli,entity/bulk,entity,ussd,ussd/account} ./test/{bench,hostile,e2e,clients} ./internal/{entity/search,event,entity/graph,auth})
# SQLite itself, machine-made from C, is left out of the race detector: its
# memory is not Go's, so it would find nothing there and take half of the time.
# Our code, the driver and its C library are watched.
cgo=0
if ((${#race[@]})); then
	race+=(-gcflags=modernc.org/sqlite/lib=-race=false)
	cgo=1
	# At the end of every test program the detector waits a second for reports
	# that are being written. They are short.
	export GORACE="atexit_sleep_ms=50 ${GORACE:-}"
fi
# One PostgreSQL for all test programs instead of one each.
cluster=()
if bin=$(build/need.sh pgbin); then
	cluster=("$GO" run ./internal/db/dbtest/withpg)
fi
# All but what lint has just run; and lint has vetted them.
rest=$("$GO" list ./... | grep -v '/internal/archtest\(/\|$\)')
# shellcheck disable=SC2086
${cluster[@]+"${cluster[@]}"} env CGO_ENABLED=$cgo "$GO" test ${race[@]+"${race[@]}"} -vet=off -shuffle=on -timeout=12m -json "${slow[@]}" $rest |
	"$GO" run ./build/report
