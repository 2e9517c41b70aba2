//go:build !race

package estimate_test

// raced says that the race detector watches.
const raced = false
