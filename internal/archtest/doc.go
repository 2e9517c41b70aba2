// Package archtest holds the rules of this repository as tests: which packages
// may import which, what every package must say about itself, what code may not
// do (init, changing globals, nested transactions, built SQL), the limits on
// the size of functions and types and on the length of import chains, that
// pages name packages that exist, and that no statement scans a table that
// grows. Every rule has a test that shows it fails on a bad sample. The package
// has no code of its own.
package archtest
