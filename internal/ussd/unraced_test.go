//go:build !race

package ussd_test

// raced says that the race detector watches.
const raced = false
