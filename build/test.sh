#!/usr/bin/env bash
# The whole check, as CI runs it: lint, cross-builds, then all tests on SQLite and
# on a real PostgreSQL, the built binary end to end, and /docs in a real browser.
# Packages that start goroutines are tested under the
# race detector. Says loudly what it had to skip, and how long it took. With CI=true
# nothing may be skipped.
#
#   build/test.sh        this
#   build/test.sh all    everything under the race detector, every rule on both databases,
#                        and attachments of a real Matrix homeserver
set -euo pipefail
cd "$(dirname "$0")/.."
export GO=${GO:-go}
step="the beginning"
say() {
	step=$1
	printf '\n=== %s  (%ds)\n' "$1" "$SECONDS"
}
skipped=()
made=$(mktemp -d) # goes at the end
finish() {
	local status=$? took
	times >"$made/times" # a subshell would tell of itself
	took=$(awk -F '[ms ]+' -v s=$SECONDS 'NR == 2 { printf "%d min %02d s with %d s of CPU", s / 60, s % 60, 60 * $1 + $2 + 60 * $3 + $4 }' "$made/times")
	rm -rf "$made"
	printf '\n'
	for name in ${skipped[@]+"${skipped[@]}"}; do
		printf '!!! SKIPPED: %s\n' "$name"
	done
	if ((status)); then
		printf 'FAILED in %s after %s\n' "$step" "$took"
	else
		printf 'All clean in %s\n' "$took"
	fi
}
trap finish EXIT
trap 'exit 143' INT TERM # what was broken off is not clean

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
# Compilers and linkers live for seconds: they need not collect their memory as often
# as a server does.
export GOGC=${GOGC:-400}

say "lint"
build/lint.sh source

say "cross-builds"
# darwin/arm64 and what lint reads for linux/amd64 have every file of linux/arm64: that
# is for "all".
if [[ ${1:-} == all ]]; then build/cross.sh; else build/cross.sh darwin/arm64 windows/amd64; fi

# The program, once for all tests that start it.
"$GO" build -ldflags='-s -w' -o "$made/program/" ./cmd/hearth
export HEARTH_TEST_PROGRAM=$made/program/hearth

# homeserver builds the homeserver that test/matrix asks, from a module of its own.
homeserver() {
	if (cd test/matrix/homeserver && "$GO" build -o "$made/dendrite" github.com/element-hq/dendrite/cmd/dendrite); then
		export HEARTH_TEST_DENDRITE=$made/dendrite
		return
	fi
	skipped+=("attachments of a real Matrix homeserver: dendrite could not be built from test/matrix/homeserver")
	[[ ${HEARTH_TEST_REQUIRE:-} != all ]]
}

say "tests"
# The slow ones first, so that no core is idle at the end. A name that is gone
# fails the run; a package named twice is tested once.
first=(./test/{console,e2e} ./internal/archtest ./test/{hostile,bench,clients} ./internal/{app,db,cli,entity/bulk,entity,ussd,ussd/account} ./internal/{entity/search,event,entity/graph,auth})
every=$("$GO" list ./...) # lint has vetted them
slow=$("$GO" list "${first[@]}")
# Which of them the race detector watches: those that start goroutines. Others only
# guard what these share, and the program as a whole, internal/app, takes five times as
# long under it: that is for "all".
starts='^[[:space:]]*go [a-z(]|\.Go\('
raced=$(grep -rlE --include='*.go' --exclude='*_test.go' "$starts" internal client | xargs -n1 dirname | sort -u | grep -v '^internal/app$' | sed "s|^|$("$GO" list -m)/|")
# Large packages in which one place starts goroutines: those of their tests run under
# the detector whose names say that two things happen at once, and all without it.
partly=$("$GO" list ./internal/{cli,entity/bulk,survey/export,ussd,ussd/dialog})
at_once='Killed|Cancelled|While|Interrupt|Lines|Chat|Copies|Parallel|AtOnce|Much|InFlight|Instances|Blocked|Late|Hangs|Walks'
most=12m # of one package
if [[ ${1:-} == all ]]; then
	most=60m
	raced=$(grep -v '/internal/archtest' <<<"$every") # it reads source, in one goroutine
	partly=
	export HEARTH_TEST_DATABASES=all
	say "10,000 walks through menus"
	# Under the detector they would take an hour. -count=1: every run walks other ways, a
	# cached one walks none.
	"$GO" test -count=1 -run 'TestRandomWalks/sqlite' ./internal/ussd
	say "tests"
	homeserver
fi
if ((!${#race[@]})); then
	raced=
	partly=
fi
# SQLite and its C library, machine-made from C, are left out of the race
# detector: their memory is not Go's, so it would find nothing there and take half
# of the time. Our code is watched; a connection that two goroutines use shows in
# internal/db/sqlite.
for from_c in sqlite/lib libc memory; do
	race+=("-gcflags=modernc.org/$from_c=-race=false -d=checkptr=0")
done
# At the end of every test program the detector waits a second for reports that
# are being written. They are short.
export GORACE="atexit_sleep_ms=50 ${GORACE:-}"
# One PostgreSQL for many test programs instead of one each.
cluster=()
if bin=$(build/need.sh pgbin); then
	cluster=("$GO" run ./build/withpg)
fi
# A program for each core, and beside them, as tests also wait for a browser or a
# database, half as many under the detector.
programs=$(getconf _NPROCESSORS_ONLN)
beside=$(((programs + 1) / 2))
if [[ ${1:-} == all ]]; then # nothing runs without it
	beside=$((programs + 1))
fi
# among prints those of a list that are in a second one, or with -v are not.
among() { grep -Fx "${@:3}" <(printf '%s\n' $1) -f <(printf '%s\n' $2 | grep . || echo none) || true; }
# An eighth of what the machine has, in MiB.
memory=$(awk '/^MemTotal/ { print int($2 / 8192) }' /proc/meminfo 2>/dev/null || true)
if ((${memory:-0} < 1500)); then memory=1500; fi
# run tests packages, some at once, with the flags after them; none are no failure. Test programs hardly
# collect their memory, which took a quarter of their time, as long
# as they stay under that; a server that one of them starts decides for itself.
run() {
	local at_a_time=$1 list=$2
	shift 2
	if [[ -n ${list//[[:space:]]/} ]]; then
		# shellcheck disable=SC2086
		${cluster[@]+"${cluster[@]}"} env CGO_ENABLED="$cgo" GOGC=1600 GOMEMLIMIT="${memory}MiB" "$GO" test -exec "'$PWD/build/cpu.sh'" -p "$at_a_time" "$@" -vet=off -shuffle=on -timeout="$most" -json $list
	fi
}
watched=$(among "$raced" "$partly" -v)
with_detector() {
	local bad=0
	cgo=1 run "$beside" "$(among "$slow" "$watched") $(among "$every" "$watched")" "${race[@]}" || bad=1
	cgo=1 run "$beside" "$partly" "${race[@]}" -run "$at_once" || bad=1
	return $bad
}
# Both at once, and what is said beside is shown afterwards. The pipe carries nothing: a
# program that runs with & would not hear an interrupt, nor what it starts.
tests() {
	local bad=0
	with_detector >"$made/beside" |
		cgo=0 run "$programs" "$(among "$slow" "$watched" -v) $(among "$every" "$watched" -v)" || bad=1
	cat "$made/beside"
	return $bad
}
tests | "$GO" run ./build/report
