// Package fleet holds tests of several servers on one PostgreSQL, each a process of
// its own, as operators run them.
package fleet
