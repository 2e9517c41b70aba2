package answer

import (
	"cmp"
	"context"
	"slices"

	"github.com/hearth-dmrv/hearth/internal/db"
)

// One text for each number of rows, so that a statement is a constant. On SQLite a
// statement of several rows that could fail keeps a journal of its own; one that
// ignores errors does not, and the only possible error here is that a row exists
// already. PostgreSQL takes rows by their columns; checking whether each exists
// costs it as much again as storing it.
const (
	insert1SQLite = `INSERT OR IGNORE INTO answers (nid, qid, code, num, item) VALUES ($1, $2, $3, $4, $5)`

	rows4 = ` INTO answers (nid, qid, code, num, item) VALUES ($1, $2, $3, $4, $5), ($1, $6, $7, $8, $9), ($1, $10, $11, $12, $13), ($1, $14, $15, $16, $17)`

	rows16 = rows4 + `, ($1, $18, $19, $20, $21), ($1, $22, $23, $24, $25), ($1, $26, $27, $28, $29), ($1, $30, $31, $32, $33),
		($1, $34, $35, $36, $37), ($1, $38, $39, $40, $41), ($1, $42, $43, $44, $45), ($1, $46, $47, $48, $49),
		($1, $50, $51, $52, $53), ($1, $54, $55, $56, $57), ($1, $58, $59, $60, $61), ($1, $62, $63, $64, $65)`

	insert4SQLite  = `INSERT OR IGNORE` + rows4
	insert16SQLite = `INSERT OR IGNORE` + rows16

	insertNewPostgres = `INSERT INTO answers (nid, qid, code, num, item)
		SELECT $1, r.* FROM unnest($2::bigint[], $3::text[], $4::double precision[], $5::bigint[]) AS r`
	insertPostgres = insertNewPostgres + ` ON CONFLICT (qid, code, num, nid, item) DO NOTHING`

	// Measurements that were paired with an answer are removed with it; package
	// crossref stores them.
	removePairs = `DELETE FROM cross_pairs WHERE response = $1`
	remove      = `DELETE FROM answers WHERE qid = $1 AND code = $2 AND num = $3 AND nid = $4 AND item = $5`

	selectOne   = `SELECT DISTINCT nid FROM answers WHERE qid = $1 AND code = $2 AND num = $3 AND nid < $4 ORDER BY nid DESC LIMIT $5`
	selectRange = `SELECT nid FROM answers WHERE qid = $1 AND code = $2 AND num >= $3 AND num <= $4 LIMIT $5`
)

// Ready holds the arguments of the statements that store the rows of one
// response.
type Ready [][]any

// Prepare does all work for the rows of a response that needs no transaction.
func Prepare(d db.Dialect, nid int64, rows []Row) Ready {
	rows = distinct(rows)
	if d == db.Postgres {
		return byColumns(nid, rows)
	}
	var out Ready
	for len(rows) > 0 {
		n := 1
		switch {
		case len(rows) >= 16:
			n = 16
		case len(rows) >= 4:
			n = 4
		}
		args := append(make([]any, 0, 1+4*n), nid)
		for _, r := range rows[:n] {
			args = append(args, r.QID, r.Code, r.Num, r.Item)
		}
		out, rows = append(out, args), rows[n:]
	}
	return out
}

// distinct has each row once.
func distinct(rows []Row) []Row {
	rows = slices.Clone(rows)
	slices.SortFunc(rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(a.QID, b.QID), cmp.Compare(a.Code, b.Code), cmp.Compare(a.Num, b.Num), cmp.Compare(a.Item, b.Item))
	})
	return slices.Compact(rows)
}

func byColumns(nid int64, rows []Row) Ready {
	if len(rows) == 0 {
		return nil
	}
	n := len(rows)
	qids, codes, nums, items := make([]int64, n), make([]string, n), make([]float64, n), make([]int64, n)
	for i, r := range rows {
		qids[i], codes[i], nums[i], items[i] = r.QID, r.Code, r.Num, r.Item
	}
	return Ready{{nid, qids, codes, nums, items}}
}

// AddNew stores the rows of a response that had none.
func AddNew(ctx context.Context, tx *db.Tx, ready Ready) error { return add(ctx, tx, ready, true) }

// Add stores rows; some may exist already.
func Add(ctx context.Context, tx *db.Tx, ready Ready) error { return add(ctx, tx, ready, false) }

func add(ctx context.Context, tx *db.Tx, ready Ready, fresh bool) error {
	lite := tx.Dialect() == db.SQLite
	for _, args := range ready {
		var err error
		switch n := len(args) / 4; {
		case !lite && fresh:
			err = tx.Send(ctx, insertNewPostgres, args...)
		case !lite:
			err = tx.Send(ctx, insertPostgres, args...)
		case n == 1:
			err = tx.Send(ctx, insert1SQLite, args...)
		case n == 4:
			err = tx.Send(ctx, insert4SQLite, args...)
		default:
			err = tx.Send(ctx, insert16SQLite, args...)
		}
		if err != nil {
			return db.Wrap("store answers", err)
		}
	}
	return nil
}

// Drop removes all rows that the answers of a response have made, and what was
// paired with them.
func Drop(ctx context.Context, tx *db.Tx, survey, nid int64, answers []byte) error {
	rows, err := Any(survey, answers)
	if err != nil {
		return err
	}
	for _, r := range rows {
		if err := tx.Send(ctx, remove, r.QID, r.Code, r.Num, nid, r.Item); err != nil {
			return db.Wrap("remove answers", err)
		}
	}
	err = tx.Send(ctx, removePairs, nid)
	return db.Wrap("remove pairs", err)
}

// Found are responses with a matching row, newest first and each once.
type Found struct {
	NIDs []int64
	More bool // there may be others, all of them older
}

// Find lists at most limit responses before a given one that have a row in one of
// the spans. It returns false when a range holds more rows than that, because they
// are in another order.
func Find(ctx context.Context, q db.Querier, spans []Span, before int64, limit int) (f Found, ok bool, err error) {
	for _, s := range spans {
		var rows db.Rows
		if s.One() {
			rows, err = q.Query(ctx, selectOne, s.QID, s.Code, s.Low, before, limit+1)
		} else {
			rows, err = q.Query(ctx, selectRange, s.QID, s.Code, s.Low, s.High, limit+1)
		}
		some, err := db.Collect(rows, err, "find answers", db.Column[int64])
		if err != nil {
			return f, false, err
		}
		if len(some) > limit && !s.One() {
			return f, false, nil
		}
		f.NIDs = append(f.NIDs, some...)
	}
	f.NIDs = slices.DeleteFunc(f.NIDs, func(nid int64) bool { return nid >= before })
	return f.first(limit), true, nil
}

// Join merges two lists of at most limit responses.
func (f Found) Join(g Found, limit int) Found {
	least := int64(0) // older ones may be missing
	for _, l := range []Found{f, g} {
		if n := len(l.NIDs); l.More && n > 0 {
			least = max(least, l.NIDs[n-1])
		}
	}
	all := slices.Concat(f.NIDs, g.NIDs)
	all = slices.DeleteFunc(all, func(nid int64) bool { return nid < least })
	out := Found{NIDs: all}.first(limit)
	out.More = out.More || f.More || g.More
	return out
}

// first sorts and cuts a list.
func (f Found) first(limit int) Found {
	slices.SortFunc(f.NIDs, func(a, b int64) int { return cmp.Compare(b, a) })
	if f.NIDs = slices.Compact(f.NIDs); len(f.NIDs) > limit {
		f.NIDs, f.More = f.NIDs[:limit], true
	}
	return f
}

const selectQuestion = `SELECT nid, code, num, item FROM answers WHERE qid = $1 LIMIT $2`

// Given is a row and its response.
type Given struct {
	NID int64
	Row
}

// Each passes the rows of a question in the responses of all rounds to a
// function, at most limit of them.
func Each(ctx context.Context, q db.Querier, qid int64, limit int, visit func(*Given) error) error {
	g := Given{Row: Row{QID: qid}}
	rows, err := q.Query(ctx, selectQuestion, qid, limit)
	return db.Each(rows, err, "read answers", func(row db.Row) error {
		if err := row.Scan(&g.NID, &g.Code, &g.Num, &g.Item); err != nil {
			return err
		}
		return visit(&g)
	})
}
