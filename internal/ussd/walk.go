package ussd

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"slices"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// How a call ends.
const (
	endingEnded   = "ended"   // by a closing screen
	endingHungUp  = "hung_up" // the gateway said so
	endingExpired = "expired" // the caller stopped typing
)

// walked is a past call as it is stored: one row, written when it ends.
type walked struct {
	id, session, phone, gateway, code string
	pack, lang, node, ending          string
	started, ended                    int64 // ms
	steps                             []byte
}

const (
	walkColumns = `id, session_id, phone, gateway, code, pack, lang, node, ending, started_at, ended_at, steps`
	// If a call continues after its end was reported, and ends again, the last
	// end counts.
	insertWalkSQLite = `INSERT INTO ussd_walks (` + walkColumns + `) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
		ON CONFLICT (id) DO UPDATE SET lang = excluded.lang, node = excluded.node, ending = excluded.ending, ended_at = excluded.ended_at, steps = excluded.steps`
	// The same whether the table is in parts, whose key has the begin, or not: an id is of one
	// begin.
	insertWalkPostgres = `WITH again AS (UPDATE ussd_walks SET lang = $7, node = $8, ending = $9, ended_at = $11, steps = $12 WHERE id = $1 AND started_at = $10 RETURNING 1)
		INSERT INTO ussd_walks (` + walkColumns + `) SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12 WHERE NOT EXISTS (SELECT 1 FROM again) ON CONFLICT DO NOTHING`
	insertWalkOnce       = `INSERT INTO ussd_walks (` + walkColumns + `) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) ON CONFLICT DO NOTHING`
	selectWalk           = `SELECT ` + walkColumns + ` FROM ussd_walks WHERE id = $1 AND ended_at > $2`
	listWalks            = `SELECT ` + walkColumns + ` FROM ussd_walks WHERE (ended_at, id) < ($1, $2) AND ended_at >= $3 ORDER BY ended_at DESC, id DESC LIMIT $4`
	listWalksOf          = `SELECT ` + walkColumns + ` FROM ussd_walks WHERE phone = $5 AND (ended_at, id) < ($1, $2) AND ended_at >= $3 ORDER BY ended_at DESC, id DESC LIMIT $4`
	deleteWalksOf        = `DELETE FROM ussd_walks WHERE phone = $1`
	expireOldWalksSQLite = `DELETE FROM ussd_walks WHERE id IN (SELECT id FROM ussd_walks WHERE ended_at <= $1 ORDER BY ended_at LIMIT $2)`
	// All that began before $3 are in one table.
	expireOldWalksPostgres = `DELETE FROM ussd_walks WHERE started_at < $3
		AND ctid = ANY (ARRAY(SELECT ctid FROM ussd_walks WHERE ended_at <= $1 AND started_at < $3 ORDER BY ended_at LIMIT $2))`
	// A call from before the end of a week may still continue then.
	goingOn = `SELECT * FROM ussd_walks WHERE ended_at >= $1 AND started_at < $1`
)

// Parts describes the partition of past calls on PostgreSQL: by the week in which they
// began.
func Parts(d *db.DB) db.Parts {
	return db.Parts{
		DB: d, Table: "ussd_walks", By: "started_at", Key: "id, started_at", Weekly: true, Contract: walksContract, Keep: goingOn,
		Indexes: map[string]string{"ussd_walks_age": "(ended_at, id)", "ussd_walks_phone": "(phone, ended_at, id)"},
	}
}

// walksContract is the migration from which on no program takes the id alone for the key.
const walksContract = 112

// walkOf makes the row for a call that ends now.
func walkOf(m *marker, k *key, r *record, ending string, now int64) *walked {
	sum := m.sum(k, 'c', r.started, "") // the same for the same call, and no other's
	return &walked{
		id: hex.EncodeToString(sum[:16]), session: k.session, phone: k.phone, gateway: k.gateway, code: r.code,
		pack: r.state.Pack + " " + r.state.Version, lang: r.state.Lang, node: r.state.Node, ending: ending,
		started: r.started / 1000, ended: now, steps: withoutIDs(r.trail),
	}
}

// customerForm is what may be a customer id.
var customerForm = regexp.MustCompile(`^[Cc][A-Za-z0-9]{8,19}$`)

// withoutIDs removes customer ids from a trail. Phones are shared, and a stored
// call is removed when the owner of the number is erased, so it must not name
// another customer.
func withoutIDs(trail []byte) []byte {
	all := stops(trail)
	if !slices.ContainsFunc(all, func(s stop) bool { return customerForm.MatchString(s.typed) }) {
		return trail
	}
	out := []byte{trail[0] & timed}
	for _, s := range all {
		if customerForm.MatchString(s.typed) {
			s.typed = mask + "customerId"
		}
		out = appendStop(out, s)
	}
	return out
}

// put stores a call, and replaces an earlier row about it.
func (w *walked) put(ctx context.Context, tx *db.Tx) error {
	if tx.Dialect() == db.Postgres {
		return db.Wrap("keep call", tx.Send(ctx, insertWalkPostgres, w.values()...))
	}
	return db.Wrap("keep call", tx.Send(ctx, insertWalkSQLite, w.values()...))
}

// putOnce stores a call unless its end was reported before.
func (w *walked) putOnce(ctx context.Context, tx *db.Tx) error {
	err := tx.Send(ctx, insertWalkOnce, w.values()...)
	return db.Wrap("keep call", err)
}

func (w *walked) values() []any {
	steps := w.steps
	if steps == nil {
		steps = []byte{}
	}
	return []any{w.id, w.session, w.phone, w.gateway, w.code, w.pack, w.lang, w.node, w.ending, w.started, w.ended, steps}
}

func (w *walked) scan(row db.Row) error {
	return row.Scan(&w.id, &w.session, &w.phone, &w.gateway, &w.code, &w.pack, &w.lang, &w.node, &w.ending, &w.started, &w.ended, &w.steps)
}

// findWalk reads a call that has ended since a moment. The fault is CALL_NOT_FOUND.
func findWalk(ctx context.Context, q db.Querier, id string, since int64) (*walked, error) {
	w := &walked{}
	err := w.scan(q.QueryRow(ctx, selectWalk, id, since))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fault.New(fault.NotFound, "CALL_NOT_FOUND", "No call that is over has this id. Calls are kept for 30 days.")
	}
	return w, db.Wrap("find call", err)
}

// walkPlace is where a list of calls continues, the newest first.
type walkPlace struct {
	Ended int64  `json:"e"`
	ID    string `json:"i"`
}

// walkFilter chooses calls.
type walkFilter struct {
	phone string // "" is any
	since int64  // ms
}

func listOfWalks(ctx context.Context, q db.Querier, f walkFilter, after walkPlace, limit int) ([]walked, error) {
	var rows db.Rows
	var err error
	if f.phone == "" {
		rows, err = q.Query(ctx, listWalks, after.Ended, after.ID, f.since, limit)
	} else {
		rows, err = q.Query(ctx, listWalksOf, after.Ended, after.ID, f.since, limit, f.phone)
	}
	return db.Collect(rows, err, "list calls", func(w *walked, row db.Row) error { return w.scan(row) })
}

func removeWalks(ctx context.Context, tx *db.Tx, phone string) (int64, error) {
	n, err := tx.Exec(ctx, deleteWalksOf, phone)
	return n, db.Wrap("remove calls", err)
}

// expireWalks removes calls that ended before a moment: whole weeks, and single ones from
// before calls were kept by weeks. Meanwhile nobody reads older ones.
func expireWalks(ctx context.Context, d *db.DB, before int64, limit int) (int64, error) {
	_, single, err := Parts(d).Expire(ctx, before)
	if err != nil {
		return 0, fmt.Errorf("drop parts of calls: %w", err)
	}
	var n int64
	if d.Dialect() == db.SQLite {
		n, err = d.Exec(ctx, expireOldWalksSQLite, before, limit)
	} else {
		n, err = d.Exec(ctx, expireOldWalksPostgres, before, limit, single)
	}
	return n, db.Wrap("expire calls", err)
}

// hungUp keeps the walk of a call that the gateway reports as over. A session that
// cannot be read, or has not begun, has none; one that has ended was stored then.
func (s *Service) hungUp(ctx context.Context, tx *db.Tx, r *row, now int64) error {
	k := readKey(r.id)
	rec, err := readRecord(r.state, &k, s.box)
	if err != nil || rec.begins() || rec.state.Done || r.expires <= now {
		return nil
	}
	return walkOf(s.marks, &k, rec, endingHungUp, now).put(ctx, tx)
}
