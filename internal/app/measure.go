package app

import (
	"errors"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/ops"
)

// measureStore shows what the store does.
func (a *App) measureStore() error {
	stat := func(read func(db.Stats) float64) func() float64 {
		return func() float64 { return read(a.DB.Stats()) }
	}
	m := a.metrics
	return errors.Join(
		m.Counter("hearth_store_commits_total", "Durable commits; on SQLite one for a whole batch.", stat(func(s db.Stats) float64 { return float64(s.Commits) })),
		m.Counter("hearth_store_transactions_total", "Transactions stored.", stat(func(s db.Stats) float64 { return float64(s.Callers) })),
		m.Counter("hearth_store_commit_seconds_total", "Time spent in COMMIT, mostly fsync.", stat(func(s db.Stats) float64 { return s.CommitTime.Seconds() })),
		m.Counter("hearth_store_failures_total", "BEGIN or COMMIT that failed.", stat(func(s db.Stats) float64 { return float64(s.Failures) })),
		m.Counter("hearth_store_takeovers_total", "Transactions that ran past their limit.", stat(func(s db.Stats) float64 { return float64(s.Takeovers) })),
		m.Gauge("hearth_store_batch_max", "Most transactions in one commit so far.", stat(func(s db.Stats) float64 { return float64(s.MaxBatch) })),
		m.Gauge("hearth_store_queue", "Transactions waiting for the writer or a connection.", stat(func(s db.Stats) float64 { return float64(s.Queued) })),
		m.Counter("hearth_store_retries_total", "Transactions run again.", stat(func(s db.Stats) float64 { return float64(s.Retries) })),
		m.Gauge("hearth_store_connections", "Open PostgreSQL connections.", stat(func(s db.Stats) float64 { return float64(s.Conns) })),
		m.Gauge("hearth_store_connections_busy", "PostgreSQL connections in use.", stat(func(s db.Stats) float64 { return float64(s.ConnsBusy) })),
		m.Gauge("hearth_store_wal_bytes", "Size of the write-ahead log of SQLite.", stat(func(s db.Stats) float64 { return float64(s.WALBytes) })),
		m.Gauge("hearth_store_file_bytes", "Size of the SQLite file.", stat(func(s db.Stats) float64 { return float64(s.FileBytes) })),
		m.Gauge("hearth_clock_skew_seconds", "How far the clock of this server is ahead of the database's.", func() float64 { return a.DB.Skew().Seconds() }),
		m.Gauge("hearth_store_standbys", "Standbys that confirm each commit of PostgreSQL; -1: the user of the database may not know.", func() float64 { return float64(db.Standbys(a.DB)) }),
		m.Counter("hearth_store_replica_reads_total", "Reads that a replica of PostgreSQL answered.", func() float64 { n, _ := db.ReplicaReads(a.DB); return float64(n) }),
		m.Counter("hearth_store_replica_missed_total", "Reads that the primary answered because no replica had their position in time.", func() float64 { _, n := db.ReplicaReads(a.DB); return float64(n) }),
		m.Gauge("hearth_event_streams", "Open event streams.", func() float64 { return float64(a.Events.Streams()) }),
		m.Trace(a.tracer),
	)
}

// measure shows what the listeners do.
func (f *front) measure(to *ops.Metrics) error {
	if to == nil {
		return nil
	}
	return errors.Join(
		to.Gauge("hearth_http_requests_in_flight", "Requests being answered now, streams not counted.", func() float64 { return float64(f.edge.shed.InFlight()) }),
		to.Gauge("hearth_http_requests_waiting", "Requests waiting for a place.", func() float64 { return float64(f.edge.shed.Waiting()) }),
		to.Counter("hearth_http_requests_shed_total", "Requests refused because the server was busy.", func() float64 { return float64(f.edge.shed.Refused()) }),
		to.Gauge("hearth_connections", "Open connections.", func() float64 {
			n := 0
			for _, l := range f.open {
				n += l.socket.Open()
			}
			return float64(n)
		}),
		to.Counter("hearth_connections_refused_total", "Connections closed for being over a limit.", func() float64 {
			var n int64
			for _, l := range f.open {
				n += l.socket.Refused()
			}
			return float64(n)
		}),
	)
}
