#!/usr/bin/env bash
# Looks for what the full test run needs besides Go: a PostgreSQL server, a
# Chromium, and a C compiler for the race detector. Installs what is missing
# with apt-get (as root or with passwordless sudo) or brew, and prints the
# names of what is still missing, one a line. Messages go to standard error.
#
#   build/need.sh          check, install, print what is missing
#   build/need.sh pgbin    print the folder of the PostgreSQL server programs
#
# HEARTH_TEST_INSTALL=no installs nothing.
set -euo pipefail

pgbin() {
	local dir
	if command -v initdb >/dev/null && command -v postgres >/dev/null; then
		dirname "$(command -v initdb)"
		return
	fi
	for dir in $(printf '%s\n' /usr/lib/postgresql/*/bin /usr/pgsql-*/bin /opt/homebrew/opt/postgresql@*/bin \
		/usr/local/opt/postgresql@*/bin | sort -rV); do
		if [[ -x $dir/initdb && -x $dir/postgres ]]; then
			printf '%s\n' "$dir"
			return
		fi
	done
	return 1
}

has_chromium() {
	local name
	[[ -n ${CHROME_PATH:-} && -x ${CHROME_PATH:-} ]] && return
	for name in chromium chromium-browser google-chrome google-chrome-stable \
		"/Applications/Google Chrome.app/Contents/MacOS/Google Chrome" /Applications/Chromium.app/Contents/MacOS/Chromium; do
		command -v "$name" >/dev/null && return
	done
	return 1
}

# has_quick_chromium: the browser without windows, which Debian has apart, does the
# same pages with two thirds of the work.
has_quick_chromium() { command -v chromium-headless-shell >/dev/null || command -v headless-shell >/dev/null; }

has_compiler() { command -v "${CC:-gcc}" >/dev/null || command -v clang >/dev/null; }

missing() {
	pgbin >/dev/null || echo postgresql
	has_chromium || echo chromium
	has_compiler || echo gcc
}

# with_apt runs apt-get as root. A server we only start in tests needs no cluster of
# its own, so the package is told not to make one.
with_apt() {
	local as_root=()
	if [[ $(id -u) != 0 ]]; then
		sudo -n true 2>/dev/null || return 1
		as_root=(sudo -n)
	fi
	local packages=("$@")
	packages=("${packages[@]/%gcc/gcc libc6-dev}")
	if [[ " $* " == *" postgresql "* && ! -e /etc/postgresql-common/createcluster.conf ]]; then
		${as_root[@]+"${as_root[@]}"} mkdir -p /etc/postgresql-common
		echo 'create_main_cluster = false' | ${as_root[@]+"${as_root[@]}"} tee /etc/postgresql-common/createcluster.conf >/dev/null
	fi
	${as_root[@]+"${as_root[@]}"} apt-get -qq -o Acquire::Retries=1 update >&2 || return 1
	# shellcheck disable=SC2068
	${as_root[@]+"${as_root[@]}"} env DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends install ${packages[@]} >&2
}

with_brew() {
	local name
	for name in "$@"; do
		case $name in
		postgresql) brew install --quiet postgresql@17 >&2 ;;
		chromium) brew install --quiet --cask chromium >&2 ;;
		gcc) echo "need: install the command line tools: xcode-select --install" >&2 ;;
		esac
	done
}

install_all() {
	[[ ${HEARTH_TEST_INSTALL:-yes} == no ]] && return
	echo "need: installing $*" >&2
	if command -v apt-get >/dev/null; then
		with_apt "$@" || echo "need: apt-get could not install $*" >&2
	elif command -v brew >/dev/null; then
		with_brew "$@" || echo "need: brew could not install $*" >&2
	else
		echo "need: no apt-get and no brew here; please install $*" >&2
	fi
}

if [[ ${1:-} == pgbin ]]; then
	pgbin
	exit
fi
if [[ ${HEARTH_TEST_INSTALL:-yes} != no ]] && command -v apt-get >/dev/null && ! has_quick_chromium; then
	with_apt chromium-headless-shell >&2 || echo "need: without chromium-headless-shell the pages take longer" >&2
fi
want=()
while read -r name; do want+=("$name"); done < <(missing)
if ((${#want[@]})); then
	install_all "${want[@]}"
fi
missing
