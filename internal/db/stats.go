package db

import (
	"sync/atomic"
	"time"
)

// Stats is what the store has done since it was opened, for metrics. Counters
// of the other engine are zero.
type Stats struct {
	Commits    int64         // transactions made durable; on SQLite one per batch
	Callers    int64         // InTx calls stored
	MaxBatch   int64         // most callers in one commit
	CommitTime time.Duration // total time in COMMIT, which is mostly fsync
	Failures   int64         // BEGIN or COMMIT that failed
	Retries    int64         // functions run again
	Takeovers  int64         // functions that ran past their limit
	Queued     int64         // callers waiting for the writer or for a connection now
	WALBytes   int64         // size of SQLite's write-ahead log
	FileBytes  int64         // size of the SQLite file
	Conns      int64         // PostgreSQL connections open
	ConnsBusy  int64         // PostgreSQL connections in use
}

// counters are the live numbers behind Stats.
type counters struct {
	commits, callers, largest, nanos    atomic.Int64
	failures, retries, takeovers, waits atomic.Int64
}

func (c *counters) commit(callers int, took time.Duration) {
	c.commits.Add(1)
	c.callers.Add(int64(callers))
	c.nanos.Add(int64(took))
	if n := int64(callers); n > c.largest.Load() {
		c.largest.Store(n)
	}
}

func (c *counters) stats() Stats {
	return Stats{
		Commits: c.commits.Load(), Callers: c.callers.Load(), MaxBatch: c.largest.Load(),
		CommitTime: time.Duration(c.nanos.Load()), Failures: c.failures.Load(), Retries: c.retries.Load(),
		Takeovers: c.takeovers.Load(), Queued: c.waits.Load(),
	}
}

func (l *lite) stats() Stats {
	s := l.w.counters.stats()
	s.Queued = int64(len(l.w.queue))
	s.WALBytes = fileSize(l.cfg.Path + "-wal")
	s.FileBytes = fileSize(l.cfg.Path)
	return s
}
