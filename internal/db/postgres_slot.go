package db

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
)

// slotClass is the first half of the advisory locks that number instances.
const slotClass = 0x48727468

// slot keeps this process's instance number different from that of all other
// processes on the same PostgreSQL, by an advisory lock on a connection of its
// own. The search starts at a random number, so that a relative of PostgreSQL
// without such locks still gives different numbers nearly always.
type slot struct {
	quit context.CancelFunc
	done sync.WaitGroup
}

func startSlot(ctx context.Context, cfg Config, cc *pgx.ConnConfig, n *nids) *slot {
	s := &slot{}
	conn := takeSlot(ctx, cfg, cc, n)
	run, quit := context.WithCancel(context.WithoutCancel(ctx))
	s.quit = quit
	s.done.Go(func() {
		for {
			if conn != nil {
				// Nothing is ever sent here: it returns when the connection ends.
				_, _ = conn.WaitForNotification(run)
				conn.Close(context.WithoutCancel(run))
			}
			select {
			case <-run.Done():
				return
			case <-time.After(time.Second):
			}
			conn = takeSlot(run, cfg, cc, n)
		}
	})
	return s
}

// takeSlot locks a free number. It returns nil when the server cannot be
// reached; the number in use then stays.
func takeSlot(ctx context.Context, cfg Config, cc *pgx.ConnConfig, n *nids) *pgx.Conn {
	cc = cc.Copy()
	// A wait here ends at once: there is no statement to stop first.
	cc.BuildContextWatcherHandler = func(c *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.DeadlineContextWatcherHandler{Conn: c.Conn()}
	}
	conn, err := pgx.ConnectConfig(ctx, cc)
	if err != nil {
		return nil
	}
	first := rand.IntN(maxInstance)
	for i := range maxInstance {
		no := (first+i)%maxInstance + 1
		var ok bool
		if err := conn.QueryRow(ctx, `SELECT pg_try_advisory_lock($1, $2)`, slotClass, no).Scan(&ok); err != nil {
			break
		}
		if ok {
			n.setInstance(no)
			return conn
		}
	}
	cfg.Log.Warn("no instance number could be locked; numbers of two processes may meet")
	conn.Close(ctx)
	return nil
}

func (s *slot) stop() {
	if s != nil {
		s.quit()
		s.done.Wait()
	}
}
