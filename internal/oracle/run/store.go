package run

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/oracle/chat"
)

// errGone says that the row of a run was removed with its session.
var errGone = fmt.Errorf("%w: its session is gone", ErrLost)

// holder names a run and the instance that has it. Every write to a run names
// both, so an instance that was taken for dead can no longer change anything.
type holder struct {
	nid   int64
	owner string
}

// runRow is a run as stored.
type runRow struct {
	nid       int64
	id        string
	user      string
	sessionID string
	requestID string
	status    Status
	begun     chat.Begun
	lastSeq   int64
	ended     bool
}

const (
	lockUserPostgres = `SELECT sessions FROM chat_users WHERE user_did = $1 FOR UPDATE`
	countLiveText    = `SELECT count(*) FROM oracle_runs WHERE user_did = $1 AND ended_at IS NULL
		AND session <> (SELECT nid FROM chat_sessions WHERE user_did = $1 AND id = $2)`
	insertRunText = `INSERT INTO oracle_runs(nid, id, user_did, session, turn, request_id, owner, status, abort, idem, hash, last_seq, end_seq, created_at, swept, workspace)
		VALUES ($1, $2, $3, $4, $5, $6, $7, 'running', '', $8, $9, 0, 0, $10, 0, $11) ON CONFLICT (session, idem) WHERE idem IS NOT NULL DO NOTHING`
	findKeyText = `SELECT r.id, r.request_id, r.hash FROM chat_sessions s JOIN oracle_runs r ON r.session = s.nid
		WHERE s.user_did = $1 AND s.id = $2 AND r.idem = $3`

	// The session is asked for too: what belongs to a deleted one is missing.
	findRunText = `SELECT r.nid, r.id, s.id, r.request_id, r.status, r.session, r.turn, r.last_seq, r.ended_at
		FROM oracle_runs r JOIN chat_sessions s ON s.nid = r.session WHERE r.id = $2 AND r.user_did = $1`
	findCurrentText = `SELECT r.id, r.status, r.request_id, s.id, r.turn FROM chat_sessions s JOIN oracle_runs r ON r.id = s.run
		WHERE s.user_did = $1 AND s.id = $2 AND r.status IN ('running', 'recovering')`

	// FOR SHARE makes an instance that takes the run over wait for this row,
	// and this row wait for it.
	insertFramesSQLite = `INSERT INTO oracle_frames(run, seq, upto, data)
		SELECT nid, $3, $4, $5 FROM oracle_runs WHERE nid = $1 AND owner = $2 AND erased = 0`
	insertFramesPostgres = `INSERT INTO oracle_frames(run, seq, upto, data)
		SELECT nid, $3::bigint, $4::bigint, $5::text FROM oracle_runs WHERE nid = $1 AND owner = $2 AND erased = 0 FOR SHARE`
	insertLastText = `INSERT INTO oracle_frames(run, seq, upto, data) VALUES ($1, $2, $3, $4)`
	listFramesText = `SELECT seq, upto, octet_length(data), substr(data, 1, $4) FROM oracle_frames WHERE run = $1
		AND seq >= coalesce((SELECT max(seq) FROM oracle_frames WHERE run = $1 AND seq <= $2), 0) AND upto >= $2 ORDER BY seq LIMIT $3`
	framePieceText = `SELECT substr(data, $3, $4) FROM oracle_frames WHERE run = $1 AND seq = $2`
	endRunText     = `UPDATE oracle_runs SET status = $3, last_seq = $4, end_seq = $5, usage = $6, ended_at = $7, owner = ''
		WHERE nid = $1 AND owner = $2 RETURNING erased`
	endBareText = `UPDATE oracle_runs SET end_seq = last_seq WHERE nid = $1`
	statusText  = `SELECT status FROM oracle_runs WHERE nid = $1`

	takeOverText  = `UPDATE oracle_runs SET owner = $3, status = 'recovering' WHERE nid = $1 AND owner = $2`
	nextOwnerText = `SELECT owner FROM oracle_runs WHERE owner <> '' AND owner > $1 ORDER BY owner LIMIT 1`
	listLostText  = `SELECT r.nid, r.id, r.user_did, r.request_id, r.session, r.turn, coalesce(s.id, '')
		FROM oracle_runs r LEFT JOIN chat_sessions s ON s.nid = r.session
		WHERE r.owner = $1 AND r.owner <> '' AND r.nid > $2 ORDER BY r.nid LIMIT $3`
	putBeatText     = `INSERT INTO oracle_instances(id, beat_at) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET beat_at = excluded.beat_at`
	findBeatText    = `SELECT beat_at FROM oracle_instances WHERE id = $1`
	removeBeatsText = `DELETE FROM oracle_instances WHERE beat_at < $1`

	requestAbortText = `UPDATE oracle_runs SET abort = $2 WHERE id = $1 AND status IN ('running', 'recovering')`
	listOrdersText   = `SELECT id, abort FROM oracle_runs WHERE owner = $1 AND owner <> '' AND abort <> ''`
	listLiveOfText   = `SELECT id FROM oracle_runs WHERE session = $1 AND status IN ('running', 'recovering')`

	shrinkFramesText = `DELETE FROM oracle_frames WHERE run = $1 AND seq IN (SELECT seq FROM oracle_frames WHERE run = $1 ORDER BY seq LIMIT $2)`
	// Taken from its instance first: a frame that is being stored is waited for,
	// and no other follows.
	disownText    = `UPDATE oracle_runs SET owner = '', status = 'deleted', ended_at = coalesce(ended_at, 0) WHERE nid = (SELECT nid FROM oracle_runs WHERE session = $1 ORDER BY nid LIMIT 1) RETURNING nid`
	removeRunText = `DELETE FROM oracle_runs WHERE nid = $1`

	listUnsweptText = `SELECT nid, end_seq FROM oracle_runs WHERE swept = 0 AND ended_at IS NOT NULL AND ended_at <= $1 ORDER BY swept, ended_at LIMIT $2`
	sweepFramesText = `DELETE FROM oracle_frames WHERE run = $1 AND seq IN
		(SELECT seq FROM oracle_frames WHERE run = $1 AND seq < $2 ORDER BY seq LIMIT $3)`
	markSweptText    = `UPDATE oracle_runs SET swept = 1 WHERE nid = $1`
	oldRunsText      = `SELECT nid FROM oracle_runs WHERE swept = 1 AND ended_at IS NOT NULL AND ended_at <= $1 ORDER BY swept, ended_at LIMIT $2`
	expireFramesText = `DELETE FROM oracle_frames WHERE run IN (` + oldRunsText + `)`
	expireRunsText   = `DELETE FROM oracle_runs WHERE nid IN (` + oldRunsText + `)`
)

// lockUser has the runs of one user begin one after the other. SQLite does so
// anyway.
func lockUser(ctx context.Context, tx *db.Tx, user string) error {
	var n int64
	err := tx.QueryRow(ctx, lockUserPostgres, user).Scan(&n)
	if errors.Is(err, sql.ErrNoRows) {
		return nil // nor has it a session
	}
	return db.Wrap("lock user", err)
}

// countLive counts the runs of a user that are at work, but for those of a
// session.
func countLive(ctx context.Context, q db.Querier, user, but string) (int, error) {
	var n int
	err := q.QueryRow(ctx, countLiveText, user, but).Scan(&n)
	return n, db.Wrap("count runs", err)
}

// newRow is the row of a run that begins.
type newRow struct {
	run   *Run
	begun chat.Begun
	owner string
	key   string
	hash  []byte
	now   int64
}

// insertRun stores a run. It reports false when its key is taken.
func insertRun(ctx context.Context, tx *db.Tx, n newRow) (bool, error) {
	var key *string
	if n.key != "" {
		key = &n.key
	}
	count, err := tx.Exec(ctx, insertRunText, n.run.nid, n.run.id, n.run.user, n.begun.Session, n.begun.Turn, n.run.requestID, n.owner, key, n.hash, n.now, chat.TalkerOf(n.run.user).In())
	return count > 0, db.Wrap("insert run", err)
}

func findKey(ctx context.Context, q db.Querier, s Start) (*Started, []byte, error) {
	old := &Started{Joined: true}
	var hash []byte
	err := q.QueryRow(ctx, findKeyText, s.User, s.Session, s.Key).Scan(&old.RunID, &old.RequestID, &hash)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil, nil
	} else if err != nil {
		return nil, nil, fmt.Errorf("find run by key: %w", err)
	}
	return old, hash, nil
}

func findRun(ctx context.Context, q db.Querier, user, id string) (*runRow, error) {
	r := &runRow{}
	var ended *int64
	err := q.QueryRow(ctx, findRunText, user, id).Scan(&r.nid, &r.id, &r.sessionID, &r.requestID, &r.status, &r.begun.Session, &r.begun.Turn, &r.lastSeq, &ended)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, NotFound()
	}
	r.ended = ended != nil
	return r, db.Wrap("find run", err)
}

func findCurrent(ctx context.Context, q db.Querier, user, session string) (*Info, error) {
	i := &Info{}
	err := q.QueryRow(ctx, findCurrentText, user, session).Scan(&i.RunID, &i.Status, &i.RequestID, &i.Session, &i.Turn)
	return db.Found(i, err, "find run of session")
}

// insertFrames stores a row of frames of a run, unless it is lost.
func insertFrames(ctx context.Context, tx *db.Tx, h holder, r row) (err error) {
	var n int64
	if tx.Dialect() == db.Postgres {
		n, err = tx.Exec(ctx, insertFramesPostgres, h.nid, h.owner, r.seq, r.upto, r.data)
	} else {
		n, err = tx.Exec(ctx, insertFramesSQLite, h.nid, h.owner, r.seq, r.upto, r.data)
	}
	if err == nil && n == 0 {
		return ErrLost
	}
	return db.Wrap("insert frames", err)
}

// insertLast stores frames of a run that the same transaction ends.
func insertLast(ctx context.Context, tx *db.Tx, nid int64, r row) error {
	_, err := tx.Exec(ctx, insertLastText, nid, r.seq, r.upto, r.data)
	return db.Wrap("insert frames", err)
}

// listFrames gives the rows with frames after a number, as many as a reader
// may hold, but one at least. More says that others may follow.
func listFrames(ctx context.Context, q db.Querier, nid, after int64) (out []storedRow, more bool, err error) {
	rows, err := q.Query(ctx, listFramesText, nid, min(after, 1<<60)+1, aheadRows, pieceChars)
	size := 0
	err = db.Each(rows, err, "read frames", func(row db.Row) error {
		var r storedRow
		if err := row.Scan(&r.seq, &r.upto, &r.size, &r.data); err != nil {
			return err
		}
		if size += r.size; size > aheadBytes && len(out) > 0 {
			more = true
			return db.ErrStop
		}
		out = append(out, r)
		return nil
	})
	return out, more || len(out) == aheadRows, err
}

// framePiece reads characters of a row, after those that were read.
func framePiece(ctx context.Context, q db.Querier, p piece) (data []byte, err error) {
	err = q.QueryRow(ctx, framePieceText, p.nid, p.seq, p.chars+1, p.size).Scan(&data)
	return data, db.Wrap("read frames", err)
}

// endRun ends a run, unless it is lost or gone. It reports whether its turn was
// blanked meanwhile.
func endRun(ctx context.Context, tx *db.Tx, h holder, e ending) (erased bool, err error) {
	var mark int64
	err = tx.QueryRow(ctx, endRunText, h.nid, h.owner, e.status, e.lastSeq, e.endSeq, e.account.encode(), e.now).Scan(&mark)
	switch {
	case err == nil && mark != 0:
		_, err = tx.Exec(ctx, endBareText, h.nid)
		return true, db.Wrap("end run", err)
	case !errors.Is(err, sql.ErrNoRows):
		return false, db.Wrap("end run", err)
	}
	var status Status
	err = tx.QueryRow(ctx, statusText, h.nid).Scan(&status)
	switch {
	case err == nil && status == deleted, errors.Is(err, sql.ErrNoRows):
		return false, errGone
	case err != nil:
		return false, db.Wrap("end run", err)
	}
	return false, ErrLost
}

// takeOver gives a run of a dead instance to another one.
func takeOver(ctx context.Context, tx *db.Tx, h holder, to string) (bool, error) {
	n, err := tx.Exec(ctx, takeOverText, h.nid, h.owner, to)
	return n > 0, db.Wrap("take run over", err)
}

// nextOwner is the next instance, by its id, that has runs at work.
func nextOwner(ctx context.Context, q db.Querier, after string) (string, error) {
	var owner string
	err := q.QueryRow(ctx, nextOwnerText, after).Scan(&owner)
	return db.Found(owner, err, "find instance")
}

// listLost lists runs at work of an instance.
func listLost(ctx context.Context, q db.Querier, owner string, after int64, limit int) ([]*runRow, error) {
	rows, err := q.Query(ctx, listLostText, owner, after, limit)
	return db.Collect(rows, err, "list runs", func(to **runRow, row db.Row) error {
		r := &runRow{}
		*to = r
		return row.Scan(&r.nid, &r.id, &r.user, &r.requestID, &r.begun.Session, &r.begun.Turn, &r.sessionID)
	})
}

func putBeat(ctx context.Context, q db.Querier, id string, at int64) error {
	_, err := q.Exec(ctx, putBeatText, id, at)
	return db.Wrap("beat", err)
}

// findBeat is when an instance beat last, 0 when never.
func findBeat(ctx context.Context, q db.Querier, id string) (int64, error) {
	var at int64
	err := q.QueryRow(ctx, findBeatText, id).Scan(&at)
	return db.Found(at, err, "find beat")
}

func removeBeats(ctx context.Context, q db.Querier, before int64) error {
	_, err := q.Exec(ctx, removeBeatsText, before)
	return db.Wrap("remove beats", err)
}

func requestAbort(ctx context.Context, tx *db.Tx, id, why string) (bool, error) {
	n, err := tx.Exec(ctx, requestAbortText, id, why)
	return n > 0, db.Wrap("ask to stop run", err)
}

// listOrders gives the runs of an instance that are to be stopped, and why.
func listOrders(ctx context.Context, q db.Querier, owner string) (map[string]string, error) {
	rows, err := q.Query(ctx, listOrdersText, owner)
	return db.Map(rows, err, "list runs to stop", func(id, why *string, row db.Row) error {
		return row.Scan(id, why)
	})
}

func listLiveOf(ctx context.Context, q db.Querier, session int64) ([]string, error) {
	rows, err := q.Query(ctx, listLiveOfText, session)
	return db.Collect(rows, err, "list runs of session", db.Column[string])
}

// shrink removes runs of a deleted session and their frames, at most limit
// rows.
func shrink(ctx context.Context, tx *db.Tx, session int64, limit int) (int64, error) {
	removed := int64(0)
	for removed < int64(limit) {
		var nid int64
		err := tx.QueryRow(ctx, disownText, session).Scan(&nid)
		if errors.Is(err, sql.ErrNoRows) {
			break
		} else if err != nil {
			return 0, fmt.Errorf("find run to remove: %w", err)
		}
		left := int64(limit) - removed
		n, err := tx.Exec(ctx, shrinkFramesText, nid, left)
		if err != nil {
			return 0, fmt.Errorf("remove frames: %w", err)
		}
		if removed += n; n == left {
			break
		}
		if _, err := tx.Exec(ctx, removeRunText, nid); err != nil {
			return 0, fmt.Errorf("remove run: %w", err)
		}
		removed++
	}
	return removed, nil
}

// unswept is a run whose frames may go.
type unswept struct{ nid, endSeq int64 }

func listUnswept(ctx context.Context, tx *db.Tx, before int64, limit int) ([]unswept, error) {
	rows, err := tx.Query(ctx, listUnsweptText, before, limit)
	return db.Collect(rows, err, "list old runs", func(u *unswept, row db.Row) error {
		return row.Scan(&u.nid, &u.endSeq)
	})
}

// expireFrames removes old frames, at most limit rows.
func expireFrames(ctx context.Context, tx *db.Tx, before int64, limit int) (removed int, err error) {
	old, err := listUnswept(ctx, tx, before, min(limit, 20))
	if err != nil {
		return 0, err
	}
	for _, u := range old {
		left := limit - removed
		if left <= 0 {
			return removed, nil
		}
		n, err := tx.Exec(ctx, sweepFramesText, u.nid, u.endSeq, left)
		if err != nil {
			return 0, fmt.Errorf("remove frames: %w", err)
		}
		if removed += int(n); n == int64(left) {
			return removed, nil // there may be more
		}
		if _, err := tx.Exec(ctx, markSweptText, u.nid); err != nil {
			return 0, fmt.Errorf("note removed frames: %w", err)
		}
		removed++
	}
	return removed, nil
}

func expireRuns(ctx context.Context, tx *db.Tx, before int64, limit int) (int64, error) {
	if _, err := tx.Exec(ctx, expireFramesText, before, limit); err != nil {
		return 0, fmt.Errorf("remove frames: %w", err)
	}
	n, err := tx.Exec(ctx, expireRunsText, before, limit)
	return n, db.Wrap("remove runs", err)
}
