// Package matrix asks the oracle about files that a real Matrix homeserver keeps. The
// homeserver is dendrite, which build/test.sh all compiles from the module in the
// folder homeserver. HEARTH_TEST_DENDRITE names the program; without it the tests are
// skipped.
package matrix
