//go:build race

package ussd_test

// raced tells that the race detector watches.
const raced = true
