package relationship

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
)

// Row is a relationship as it is stored.
type Row struct {
	NID          int64
	Src, Dst     int64 // Dst is 0 when the target is not held here
	SrcDID       string
	DstDID       string
	Role         string
	Mirror       bool // the target shows it too
	Since, Until sql.NullInt64
	Source       string
	AddedAt      int64 // ms
	AddedBy      string
	Unconfirmed  bool // the target is not held here, and nobody entitled has confirmed that it is what it should be
}

const (
	insertLink = `INSERT INTO relationships (nid, ws, src, src_did, dst, dst_did, role, mirror, since, until, source, added_at, added_by,
			unconfirmed, removed_at, removed_by, reason)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, NULL, '', '')
		ON CONFLICT (src, role, dst_did) WHERE removed_at IS NULL DO NOTHING`
	finishLink = `UPDATE relationships SET removed_at = $3, removed_by = $4, reason = $5
		WHERE nid = $1 AND ws = $2 AND removed_at IS NULL`
	confirmLink = `UPDATE relationships SET unconfirmed = 0 WHERE nid = $1 AND ws = $2 AND removed_at IS NULL AND unconfirmed <> 0`
)

// Insert stores a relationship of a workspace. It returns false when it exists
// already.
func Insert(ctx context.Context, tx *db.Tx, ws string, l *Row) (bool, error) {
	var mirror any
	if l.Mirror {
		mirror = l.Dst
	}
	n, err := tx.Exec(ctx, insertLink, l.NID, ws, l.Src, l.SrcDID, l.Dst, l.DstDID, l.Role, mirror, l.Since, l.Until, l.Source, l.AddedAt, l.AddedBy, db.Bit(l.Unconfirmed))
	return n > 0, db.Wrap("insert relationship", err)
}

// Removal says when, by whom and why a relationship ended.
type Removal struct {
	At     int64 // ms
	By     string
	Reason string
}

// Finish ends a relationship of a workspace. It returns false when it has ended
// already.
func Finish(ctx context.Context, tx *db.Tx, ws string, nid int64, r Removal) (bool, error) {
	n, err := tx.Exec(ctx, finishLink, nid, ws, r.At, r.By, r.Reason)
	return n > 0, db.Wrap("end relationship", err)
}

// The columns of a relationship, in the order scan reads them.
const (
	selectLink = `SELECT nid, src, dst, src_did, dst_did, role, mirror, since, until, source, added_at, added_by, unconfirmed
		FROM relationships WHERE nid = $1 AND ws = $2 AND removed_at IS NULL`
	selectUnconfirmed = `SELECT nid, src, dst, src_did, dst_did, role, mirror, since, until, source, added_at, added_by, unconfirmed
		FROM relationships WHERE src = $1 AND role = $2 AND removed_at IS NULL AND unconfirmed <> 0 ORDER BY dst_did LIMIT 1`
	selectOut = `SELECT nid, src, dst, src_did, dst_did, role, mirror, since, until, source, added_at, added_by, unconfirmed
		FROM relationships WHERE src = $1 AND removed_at IS NULL AND nid > $2 ORDER BY nid LIMIT $3`
	selectIn = `SELECT nid, src, dst, src_did, dst_did, role, mirror, since, until, source, added_at, added_by, unconfirmed
		FROM relationships WHERE dst = $1 AND removed_at IS NULL AND nid > $2 ORDER BY nid LIMIT $3`
	selectMirrored = `SELECT nid, src, dst, src_did, dst_did, role, mirror, since, until, source, added_at, added_by, unconfirmed
		FROM relationships WHERE mirror = $1 AND removed_at IS NULL AND nid > $2 ORDER BY nid LIMIT $3`
)

func scan(l *Row, row db.Row) error {
	var mirror sql.NullInt64
	var unconfirmed int64
	err := row.Scan(&l.NID, &l.Src, &l.Dst, &l.SrcDID, &l.DstDID, &l.Role, &mirror, &l.Since, &l.Until, &l.Source, &l.AddedAt, &l.AddedBy, &unconfirmed)
	l.Mirror, l.Unconfirmed = mirror.Valid, unconfirmed != 0
	return err
}

// one reads a relationship; nil when there is none.
func one(row db.Row) (*Row, error) {
	l := new(Row)
	if err := scan(l, row); errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("find relationship: %w", err)
	}
	return l, nil
}

// Find reads a current relationship of a workspace; nil when there is none.
func Find(ctx context.Context, q db.Querier, ws string, nid int64) (*Row, error) {
	return one(q.QueryRow(ctx, selectLink, nid, ws))
}

// Confirm notes that the target of a relationship of a workspace is what it
// should be. It returns false when the relationship has ended, or was confirmed
// already.
func Confirm(ctx context.Context, tx *db.Tx, ws string, nid int64) (bool, error) {
	n, err := tx.Exec(ctx, confirmLink, nid, ws)
	return n > 0, db.Wrap("confirm relationship", err)
}

// unconfirmed reads a current, unconfirmed relationship of a role from a twin;
// nil when there is none.
func unconfirmed(ctx context.Context, q db.Querier, nid int64, role string) (*Row, error) {
	return one(q.QueryRow(ctx, selectUnconfirmed, nid, role))
}

// Side selects which relationships of a twin to read.
type Side int

// The sides.
const (
	Out      Side = iota // from it
	In                   // to it
	Mirrored             // to it, and shown by it too
)

// List reads at most limit current relationships on a side of a twin past a
// number, oldest first.
func (s Side) List(ctx context.Context, q db.Querier, nid, after int64, limit int) ([]Row, error) {
	var rows db.Rows
	var err error
	switch s {
	case Out:
		rows, err = q.Query(ctx, selectOut, nid, after, limit)
	case In:
		rows, err = q.Query(ctx, selectIn, nid, after, limit)
	default:
		rows, err = q.Query(ctx, selectMirrored, nid, after, limit)
	}
	return db.Collect(rows, err, "list relationships", scan)
}

// A relationship holds from its since on and until its until, if it has them.
// The digits in a name are the parameter of the moment.
const (
	holds4  = ` AND (since IS NULL OR since <= $4) AND (until IS NULL OR until > $4)`
	holdsO3 = ` AND (o.since IS NULL OR o.since <= $3) AND (o.until IS NULL OR o.until > $3)`
	holdsO4 = ` AND (o.since IS NULL OR o.since <= $4) AND (o.until IS NULL OR o.until > $4)`
	holdsR4 = ` AND (r.since IS NULL OR r.since <= $4) AND (r.until IS NULL OR r.until > $4)`
)

// Holds reports whether a relationship with these times holds at a moment. A
// zero time means none.
func Holds(since, until, now time.Time) bool {
	return !since.After(now) && (until.IsZero() || until.After(now))
}

const (
	countOut    = `SELECT count(*) FROM (SELECT 1 FROM relationships WHERE src = $1 AND role = $2 AND removed_at IS NULL` + meets45 + ` ORDER BY dst_did LIMIT $3) AS t`
	countOutNow = `SELECT count(*) FROM (SELECT 1 FROM relationships WHERE src = $1 AND role = $2 AND removed_at IS NULL AND unconfirmed = 0` + holds4 + ` ORDER BY dst_did LIMIT $3) AS t`
	// Incoming relationships of the domain model: few of a twin's are not ones
	// it needs.
	countIn    = `SELECT count(*) FROM (SELECT 1 FROM relationships WHERE mirror = $1 AND role = $2 AND removed_at IS NULL` + meets45 + ` LIMIT $3) AS t`
	countInNow = `SELECT count(*) FROM (SELECT 1 FROM relationships WHERE mirror = $1 AND role = $2 AND removed_at IS NULL` + holds4 + ` LIMIT $3) AS t`
	// In the order of the index by source and role.
	selectOtherGroup = `SELECT r.dst FROM relationships r JOIN entities g ON g.nid = r.dst
		WHERE r.src = $1 AND r.role = 'contains' AND r.removed_at IS NULL AND r.dst <> $2 AND g.domain_type = 'group' AND g.status = 'active'
		ORDER BY r.dst_did LIMIT 1`
	selectParents = `SELECT src FROM relationships WHERE mirror = $1 AND role = $2 AND removed_at IS NULL LIMIT $3`
)

// meets45 requires that a relationship holds at some moment from $4 on and
// before $5.
const meets45 = ` AND (until IS NULL OR until > $4) AND (since IS NULL OR since < $5)`

// Count says what to count at a twin, up to Most: with Now, confirmed
// relationships that hold at that moment; without it, those that hold at any
// moment of Within, confirmed or not.
type Count struct {
	Role   string
	Most   int
	Now    int64 // ms
	Within Span  // empty means always
}

// Span is a time from one moment to another, the end excluded, in ms.
type Span struct{ From, To int64 }

func (s Span) ends() (from, to int64) {
	if s == (Span{}) {
		return math.MinInt64, math.MaxInt64
	}
	return s.From, s.To
}

// Out counts the current relationships from a twin.
func (c Count) Out(ctx context.Context, q db.Querier, nid int64) (n int, err error) {
	if c.Now == 0 {
		from, to := c.Within.ends()
		err = q.QueryRow(ctx, countOut, nid, c.Role, c.Most, from, to).Scan(&n)
	} else {
		err = q.QueryRow(ctx, countOutNow, nid, c.Role, c.Most, c.Now).Scan(&n)
	}
	return n, db.Wrap("count relationships", err)
}

// In counts the current relationships of the domain model to a twin.
func (c Count) In(ctx context.Context, q db.Querier, nid int64) (n int, err error) {
	if c.Now == 0 {
		from, to := c.Within.ends()
		err = q.QueryRow(ctx, countIn, nid, c.Role, c.Most, from, to).Scan(&n)
	} else {
		err = q.QueryRow(ctx, countInNow, nid, c.Role, c.Most, c.Now).Scan(&n)
	}
	return n, db.Wrap("count relationships", err)
}

// HasOtherGroup reports whether an organisation contains an active group other
// than the given one.
func HasOtherGroup(ctx context.Context, q db.Querier, org, group int64) (bool, error) {
	return db.Exists(q.QueryRow(ctx, selectOtherGroup, org, group), "look for groups")
}

// Parents reads the sources of the relationships of a role of the domain model
// that lead to a twin, at most limit.
func Parents(ctx context.Context, q db.Querier, nid int64, role string, limit int) ([]int64, error) {
	return scanNIDs(q.Query(ctx, selectParents, nid, role, limit))
}

// scanNIDs reads the numbers of twins from the rows of a query and passes on
// its error.
func scanNIDs(rows db.Rows, err error) ([]int64, error) {
	return db.Collect(rows, err, "list parents", db.Column[int64])
}

const prefix = "rel_"

// ID makes the id of a relationship.
func ID(nid int64) string { return prefix + strconv.FormatInt(nid, 10) }

// ParseID reads the number of a relationship, 0 when the text is not the id of
// one.
func ParseID(id string) int64 {
	digits, ok := strings.CutPrefix(id, prefix)
	n, err := strconv.ParseInt(digits, 10, 64)
	if !ok || err != nil || n <= 0 || ID(n) != id {
		return 0
	}
	return n
}

// Millis converts a time for a column, NULL when there is none.
func Millis(t time.Time) sql.NullInt64 {
	return sql.NullInt64{Int64: t.UnixMilli(), Valid: !t.IsZero()}
}

// Moment reads a time from a column.
func Moment(n sql.NullInt64) time.Time {
	if !n.Valid {
		return time.Time{}
	}
	return time.UnixMilli(n.Int64).UTC()
}
