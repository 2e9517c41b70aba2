// Package sampling holds sample designs: how many households a survey needs, which
// ones there are to choose from, and which of them were drawn.
//
// It promises that a draw can be proven. The frame (the list of all households) is
// frozen under a hash; the manager's part of the seed is committed before another
// party adds theirs; and the draw is a pure function of frame, plan and seed that
// anybody can run again, with this program or with twenty lines of their own. A
// frame is drawn once: another draw needs a reason, and shows all earlier ones.
// Where one party alone chose the seed, every record says so (soleSeed).
//
// A draw outlives its design and keeps to the version it was committed with. The
// parts of a draw that cannot be computed are fixed by entries of the audit log
// (entry.go).
//
// size.go, allocate.go, plan.go, rank.go, redraw.go and record.go are pure: no
// database, no HTTP, no clock. Estimates from the answers are not part of this
// package.
package sampling
