package db

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/hearth-dmrv/hearth/internal/fault"
)

// standbyUnknown is said when this user may not see what standbys confirm.
const standbyUnknown = -1

// standbySQL counts the standbys that confirm commits: none when the server has no
// synchronous replication, or had to give it up. Users without the right to see them
// learn only that there are standbys.
const standbySQL = `SELECT CASE WHEN count(*) > 0 AND count(sync_state) = 0 THEN -1
	ELSE count(*) FILTER (WHERE sync_state IN ('sync', 'quorum') AND state = 'streaming') END::bigint FROM pg_stat_replication`

// standbys is what is known about the standbys of a PostgreSQL.
type standbys struct {
	must bool // writes without one are refused
	n    atomic.Int64
}

// Standbys is how many standbys confirm each commit before it is answered, as of a
// second ago: -1 when this database user may not know. On SQLite it is 0.
func Standbys(d *DB) int {
	if e, ok := d.e.(*pg); ok {
		return int(e.standbys.n.Load())
	}
	return 0
}

// StandbyRequired reports whether writing requests are refused while no standby
// confirms commits.
func StandbyRequired(d *DB) bool {
	e, ok := d.e.(*pg)
	return ok && e.standbys.must
}

// lookForStandbys asks what standbys there are. Relatives of PostgreSQL do not say.
func (e *pg) lookForStandbys(ctx context.Context) {
	var n int64
	if e.queryRow(ctx, standbySQL, nil).Scan(&n) != nil {
		n = standbyUnknown
	}
	if before := e.standbys.n.Swap(n); (before > 0) != (n > 0) && e.standbys.must {
		e.cfg.Log.Warn("standbys changed", "count", n)
	}
}

// guards reports whether a standby must confirm what a lane stores: whatever a
// client is told is stored. Heartbeats, leases and jobs do not need it.
func (s *standbys) guards(l Lane) bool { return s.must && (l == Request || l == Handset) }

// refuses is the fault of a write that no standby would confirm.
func (s *standbys) refuses(l Lane) error {
	if s.guards(l) && s.n.Load() <= 0 {
		return errNoStandby(nil)
	}
	return nil
}

func errNoStandby(cause error) error {
	return fault.New(fault.Unavailable, "STANDBY_MISSING", "The database has no standby that confirms writes, and this server is told to store nothing without. Reading works.").
		After(2 * time.Second).Wrap(cause)
}

// errUnconfirmed is said of a commit that is on the disk of the primary alone.
var errUnconfirmed = errors.New("committed without a standby")

// commitAsking commits and, in the same message, checks whether a standby still exists,
// because a wait for one that the server gave up looks like success, and reads the
// position in the log. What was stored without a standby may be lost, so its outcome is
// unknown.
func (e *pg) commitAsking(s *pgSession, guarded bool, w *Written) error {
	var standby, at question
	var asks []*question
	if guarded {
		standby.sql = standbySQL
		asks = append(asks, &standby)
	}
	if w != nil {
		at.sql = position
		asks = append(asks, &at)
	}
	if err := s.commit(asks...); err != nil {
		return err
	}
	if at.answer != "" {
		w.note(Position(at.answer))
	}
	if !guarded || !s.begun || standby.answer > "0" { // "-1" is less
		return nil
	}
	e.standbys.n.Store(0)
	return errNoStandby(fmt.Errorf("%w: %w", errUnknown, errUnconfirmed))
}
