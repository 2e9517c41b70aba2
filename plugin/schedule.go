package plugin

import (
	"context"
	"time"
)

// Schedules is a plugin with work to do from time to time, independent of any
// user.
type Schedules interface {
	Schedules() []Work
}

// MinEvery is the shortest interval of a Work.
const MinEvery = time.Minute

// Work is done once in each interval, however many servers there are. Intervals
// are counted from 1970 in UTC; one run makes up for all that pass while no
// server runs, or while the previous work is still running.
type Work struct {
	Name  string // lower-case words with hyphens between them: "fetch-prices"
	Every time.Duration
	// Run does the work. It has no user, and cannot reach what is kept of users. An
	// error or a panic costs this run: it is logged and counted, and the next
	// interval comes. When a server dies in the middle, another one runs it again.
	// ctx ends when the server stops or has lost the work to another one.
	Run func(ctx context.Context) error
}
