package plugin

import (
	"context"
	"time"
)

// Schedules is a plugin that has something to do from time to time, whoever asks.
type Schedules interface {
	Schedules() []Work
}

// MinEvery is how often a Work may be done at most.
const MinEvery = time.Minute

// Work is done once in each interval, however many servers there are. Intervals
// are counted from 1970 in UTC; all that pass while no server runs, or while the
// work before goes on, are made up for by one run.
type Work struct {
	Name  string // lower-case words with hyphens between them: "fetch-prices"
	Every time.Duration
	// Run does it. Nobody has asked for it, so there is no user and nothing that is
	// kept of one. An error or a panic costs this run: it is logged and counted, and
	// the next interval comes. A server that dies in the middle has another one run
	// it again. ctx ends when the server stops or has lost the work to another one.
	Run func(ctx context.Context) error
}
