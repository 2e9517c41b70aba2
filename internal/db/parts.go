package db

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// Parts is a table of PostgreSQL that is partitioned by months or weeks of a time column,
// so that old data can be dropped without touching its rows. Before the months is the
// part past, after them the part rest, so that a month without a part refuses nothing.
// There is no default partition, because every query for the newest row would read all
// parts. On SQLite there are no parts, and all of this does nothing.
type Parts struct {
	DB    *DB
	Table string
	By    string           // the column; it is in the primary key
	Key   string           // columns of the primary key, "device, at": it becomes that if it is another
	Now   func() time.Time // by default that of DB
	// Months is the length of a part in months, one by default: 3 are quarters. Queries
	// without the column read every part, so a table that is kept for years should have
	// long ones.
	Months int
	// Weekly makes parts of weeks, from Monday on, for a table that is kept for
	// weeks.
	Weekly bool
	// Contract is the migration without which programs may still write by another primary
	// key: the table is partitioned once it was applied. 0 means none.
	Contract int
	// NIDs means that the column has nids, or what NIDAt returns; else
	// milliseconds.
	NIDs bool
	// Sequence is the sequence of the column's values, "" for none. It only counts: at
	// the beginning of each part it is advanced to that part, and so follows the time
	// from then on.
	Sequence string
	// Indexes are the indexes besides the primary key, the text after ON by name. One
	// that is unique without the column cannot stay unique: it is first rebuilt, without
	// blocking others, and what it guaranteed must be ensured in another way.
	Indexes map[string]string
	// Keep selects rows of dropped parts, before $1, which are kept in the part
	// past.
	Keep string
}

const (
	// partsAhead is how many parts exist in advance.
	partsAhead = 2
	week       = 7 * 24 * time.Hour
	// partsLock is the lock for making parts, by table.
	partsLock = 0x48725074
	// partsDump is the lock that changing parts takes exclusively, and dumps
	// share.
	partsDump = 0x48725075
	// partsTries is how often a lock on the table is asked for. Each time others wait behind
	// it, so it is a short time.
	partsTries, partsWait = 40, "300ms"

	partOf = `SELECT c.relname, coalesce(substring(pg_get_expr(c.relpartbound, c.oid) FROM 'FROM \(''(-?\d+)''\)'), ''),
		coalesce(substring(pg_get_expr(c.relpartbound, c.oid) FROM 'TO \(''(-?\d+)''\)'), '')
		FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = to_regclass($1)`
	indexIs = `SELECT (SELECT indisunique FROM pg_index WHERE indexrelid = to_regclass($1)),
		coalesce((SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass($2)), false)`
	moveAhead = `SELECT setval(to_regclass($1), $2::bigint) FROM pg_sequences WHERE schemaname = current_schema() AND sequencename = $1 AND coalesce(last_value, 0) < $2::bigint`
	keyIs     = `SELECT coalesce(string_agg(a.attname, ', ' ORDER BY k.n), '') FROM pg_index i, unnest(i.indkey) WITH ORDINALITY AS k(col, n), pg_attribute a
		WHERE i.indrelid = to_regclass($1) AND i.indisprimary AND a.attrelid = i.indrelid AND a.attnum = k.col`
	isApplied = `SELECT count(*) > 0 FROM schema_migrations WHERE version = $1`
	isParted  = `SELECT coalesce((SELECT relkind = 'p' FROM pg_class WHERE oid = to_regclass($1)), false)`
)

// part is one of the parts; from is 0 for the past, to is 0 for the rest.
type part struct {
	name     string
	from, to int64
}

// begin is the beginning of the part that is after parts later than that of at.
func (p Parts) begin(at time.Time, after int) time.Time {
	if p.Weekly {
		return at.UTC().Truncate(week).Add(time.Duration(after) * week)
	}
	at, wide := at.UTC(), max(1, p.Months)
	first := (int(at.Month())-1)/wide*wide + 1
	return time.Date(at.Year(), time.Month(first+after*wide), 1, 0, 0, 0, 0, time.UTC)
}

func (p Parts) now() time.Time {
	if p.Now != nil {
		return p.Now()
	}
	return p.DB.Now()
}

// soonest is where the rest may begin.
func (p Parts) soonest() time.Time { return p.begin(p.now(), partsAhead) }

// value is the value of the column at a moment.
func (p Parts) value(t time.Time) int64 {
	if p.NIDs {
		return NIDAt(t)
	}
	return t.UnixMilli()
}

// moment is the moment for a value of the column.
func (p Parts) moment(value int64) time.Time {
	if p.NIDs {
		return NIDTime(value)
	}
	return time.UnixMilli(value)
}

// Made reports whether the table is partitioned.
func (p Parts) Made(ctx context.Context) (made bool, err error) {
	if p.DB.dialect == SQLite {
		return false, nil
	}
	return made, p.DB.QueryRow(ctx, isParted, p.Table).Scan(&made)
}

// Make partitions the table if necessary, while others read and write it, and makes the
// months ahead. If another server is doing so, it returns at once.
func (p Parts) Make(ctx context.Context) error {
	return p.alone(ctx, func(c *pgx.Conn) error {
		var made bool
		if err := c.QueryRow(ctx, isParted, p.Table).Scan(&made); err != nil {
			return err
		}
		if !made {
			if may, err := p.may(ctx, c); err != nil || !may {
				return err
			}
			if err := p.turn(ctx, c); err != nil {
				return fmt.Errorf("turn %s into parts: %w", p.Table, err)
			}
		}
		return p.ahead(ctx, c)
	})
}

// may reports whether no program that works with the store needs the table as it was.
func (p Parts) may(ctx context.Context, c *pgx.Conn) (may bool, err error) {
	if p.Contract == 0 {
		return true, nil
	}
	return may, c.QueryRow(ctx, isApplied, p.Contract).Scan(&may)
}

// alone runs fn on a connection of its own, unless another server does.
func (p Parts) alone(ctx context.Context, fn func(*pgx.Conn) error) error {
	e, ok := p.DB.e.(*pg)
	if !ok {
		return nil
	}
	return e.session(ctx, partsWait, func(c *pgx.Conn) error {
		var mine bool
		if err := c.QueryRow(ctx, `SELECT pg_try_advisory_lock($1, hashtext($2))`, partsLock, p.Table).Scan(&mine); err != nil || !mine {
			return mapPg(ctx, err)
		}
		err := fn(c)
		// A server ends a session some time after it was closed: the next caller would
		// find the lock.
		_, left := c.Exec(context.WithoutCancel(ctx), `SELECT pg_advisory_unlock($1, hashtext($2))`, partsLock, p.Table)
		return mapPg(ctx, cmp.Or(err, left))
	})
}

// patiently runs fn in a transaction, again while it does not get its locks.
func patiently(ctx context.Context, c *pgx.Conn, fn func(pgx.Tx) error) error {
	for try := 1; ; try++ {
		err := pgx.BeginFunc(ctx, c, fn)
		if !IsLocked(err) && pgCode(err) != "40P01" || try == partsTries {
			return err
		}
		select { // let those through who waited behind us
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// swap is patiently for what takes indexes away or puts tables in another place: pg_dump
// must not be at it, which would look for them.
func swap(ctx context.Context, c *pgx.Conn, fn func(pgx.Tx) error) error {
	return patiently(ctx, c, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1, 0)`, partsDump); err != nil {
			return err
		}
		return fn(tx)
	})
}

// still runs fn while no table changes its parts.
func (e *pg) still(ctx context.Context, fn func() error) error {
	return e.session(ctx, "0", func(c *pgx.Conn) error {
		if _, err := c.Exec(ctx, `SELECT pg_advisory_lock_shared($1, 0)`, partsDump); err != nil {
			return mapPg(ctx, err)
		}
		return fn() // the lock goes with the session
	})
}

// fill puts the names of the table into statements, and numbers.
func (p Parts) fill(sql string, numbers ...any) string {
	r := strings.NewReplacer("{t}", pgx.Identifier{p.Table}.Sanitize(), "{past}", pgx.Identifier{p.Table + "_past"}.Sanitize(),
		"{rest}", pgx.Identifier{p.Table + "_rest"}.Sanitize(), "{by}", pgx.Identifier{p.By}.Sanitize(), "{key}", p.Key,
		"{pkey}", pgx.Identifier{p.Table + "_pkey"}.Sanitize(), "{pastkey}", pgx.Identifier{p.Table + "_past_pkey"}.Sanitize(),
		"{restkey}", pgx.Identifier{p.Table + "_rest_pkey"}.Sanitize())
	return fmt.Sprintf(r.Replace(sql), numbers...)
}

// several runs statements that are separated by semicolons.
func several(ctx context.Context, tx pgx.Tx, sql string) error {
	_, err := tx.Conn().PgConn().Exec(ctx, sql).ReadAll()
	return err
}

// ahead makes the rest begin some months from now: it becomes a month, and a new rest
// follows it. If it has rows because this was not done for a while, it becomes one
// part for all the months of these rows.
func (p Parts) ahead(ctx context.Context, c *pgx.Conn) error {
	if p.Sequence != "" {
		if _, err := c.Exec(ctx, moveAhead, p.Sequence, p.value(p.begin(p.now(), 0))); err != nil {
			return fmt.Errorf("move %s ahead: %w", p.Sequence, err)
		}
	}
	for {
		all, err := p.list(c.Query(ctx, partOf, p.Table))
		if err != nil {
			return err
		}
		i := indexOf(all, p.Table+"_rest")
		if i < 0 {
			return fmt.Errorf("%s has no part behind the others", p.Table)
		}
		from := p.moment(all[i].from)
		if !from.Before(p.soonest()) {
			return nil
		}
		var last *int64
		if err := c.QueryRow(ctx, p.fill(`SELECT max({by}) FROM {rest}`)).Scan(&last); err != nil {
			return err
		}
		if last == nil {
			err = swap(ctx, c, func(tx pgx.Tx) error { return p.behind(ctx, tx, from, p.begin(from, 1), true) })
		} else {
			to := p.begin(p.moment(*last), 1)
			if to.Before(p.soonest()) {
				to = p.soonest()
			}
			err = p.promise(ctx, c, "{rest}", p.value(to), func(tx pgx.Tx) error { return p.behind(ctx, tx, from, to, false) })
		}
		if err != nil && !errors.Is(err, errNotYet) {
			return fmt.Errorf("make parts of %s ahead: %w", p.Table, err)
		}
	}
}

// behind turns the rest into a part that ends at a moment, and makes a new rest
// behind it. If it must be empty and no longer is, it stays.
func (p Parts) behind(ctx context.Context, tx pgx.Tx, from, to time.Time, empty bool) error {
	if err := several(ctx, tx, p.fill(`ALTER TABLE {t} DETACH PARTITION {rest}`)); err != nil {
		return err
	}
	if empty {
		var rows bool
		if err := tx.QueryRow(ctx, p.fill(`SELECT EXISTS (SELECT 1 FROM {rest})`)).Scan(&rows); err != nil {
			return err
		} else if rows {
			return errNotYet
		}
	}
	layout := "200601"
	if p.Weekly {
		layout = "20060102"
	}
	name := p.Table + "_" + from.UTC().Format(layout)
	return several(ctx, tx, p.fill(`ALTER TABLE {rest} RENAME TO %[1]s; ALTER INDEX {restkey} RENAME TO %[2]s;
		ALTER TABLE {t} ATTACH PARTITION %[1]s FOR VALUES FROM (%[3]d) TO (%[4]d); ALTER TABLE %[1]s DROP CONSTRAINT IF EXISTS parts_promise;
		CREATE TABLE {rest} PARTITION OF {t} FOR VALUES FROM (%[4]d) TO (MAXVALUE)`,
		pgx.Identifier{name}.Sanitize(), pgx.Identifier{name + "_pkey"}.Sanitize(), p.value(from), p.value(to)))
}

func indexOf(all []part, name string) int {
	for i, q := range all {
		if q.name == name {
			return i
		}
	}
	return -1
}

// list reads the parts that partOf finds.
func (p Parts) list(rows pgx.Rows, err error) ([]part, error) {
	if err != nil {
		return nil, err
	}
	return readParts(&pgRows{ctx: context.Background(), Rows: rows}, nil)
}

func readParts(rows Rows, err error) ([]part, error) {
	return Collect(rows, err, "list parts", func(q *part, r Row) error {
		var from, to string
		if err := r.Scan(&q.name, &from, &to); err != nil {
			return err
		}
		if from != "" {
			if _, err := fmt.Sscan(from, &q.from); err != nil {
				return err
			}
		}
		if to != "" {
			_, err := fmt.Sscan(to, &q.to)
			return err
		}
		return nil
	})
}

// Until finds parts that have only rows from before a value: the end of the newest, 0
// when there is none, and the end of the part past, 0 when there are no parts. The past
// counts once it has rows to drop: it is rebuilt without them.
func (p Parts) Until(ctx context.Context, before int64) (end, past int64, err error) {
	if p.DB.dialect == SQLite {
		return 0, 0, nil
	}
	rows, err := p.DB.Query(ctx, partOf, p.Table)
	all, err := readParts(rows, err)
	for _, q := range all {
		counts := q.to != 0 && q.to <= before && q.to > end
		if q.name == p.Table+"_past" {
			past = q.to
			if counts {
				some := `SELECT EXISTS (SELECT 1 FROM {past})`
				if p.Keep != "" {
					some = `SELECT EXISTS (SELECT 1 FROM {past} OFFSET (SELECT count(*) FROM (` + p.kept(q.to) + `) AS kept))`
				}
				err = p.DB.QueryRow(ctx, p.fill(some)).Scan(&counts)
			}
		}
		if counts {
			end = q.to
		}
	}
	return end, past, err
}

// kept is Keep with a number in it.
func (p Parts) kept(end int64) string {
	return strings.ReplaceAll(p.Keep, "$1", strconv.FormatInt(end, 10))
}

// Expire drops the parts that have only rows from before a value, except the rows to
// keep, and reports whether there were any. Rows before single must be removed one by
// one: those from before the table was partitioned, or all if it is not.
func (p Parts) Expire(ctx context.Context, before int64) (dropped bool, single int64, err error) {
	end, past, err := p.Until(ctx, before)
	if err == nil && end != 0 {
		dropped, err = p.Drop(ctx, end, func(Querier) (bool, error) { return false, nil })
	}
	if past == 0 {
		return dropped, math.MaxInt64, err
	}
	return dropped, max(past, end), err
}

// errNotYet ends what must not be.
var errNotYet = errors.New("not yet")

// Drop removes the parts that end at or before a moment which Until returned, with all
// their rows, unless a query says otherwise while nobody writes to the table. It reports
// whether they were removed. Rows from before the moment that come later are accepted.
func (p Parts) Drop(ctx context.Context, end int64, unless func(q Querier) (bool, error)) (dropped bool, err error) {
	err = p.alone(ctx, func(c *pgx.Conn) error {
		return swap(ctx, c, func(tx pgx.Tx) error {
			if err := several(ctx, tx, p.fill(`LOCK TABLE {t} IN ACCESS EXCLUSIVE MODE`)); err != nil {
				return err
			}
			if no, err := unless(newTx(&pgSession{conn: tx.Conn(), ctx: ctx, wait: &pgx.Batch{}, begun: true})); err != nil {
				return err
			} else if no {
				return errNotYet
			}
			all, err := p.list(tx.Query(ctx, partOf, p.Table))
			if err != nil {
				return err
			}
			if p.Keep != "" {
				if err := several(ctx, tx, `CREATE TEMP TABLE parts_kept ON COMMIT DROP AS `+p.kept(end)); err != nil {
					return fmt.Errorf("keep rows of %s: %w", p.Table, err)
				}
			}
			for _, q := range all {
				if q.to != 0 && q.to <= end || q.name == p.Table+"_past" {
					if err := several(ctx, tx, "DROP TABLE "+pgx.Identifier{q.name}.Sanitize()); err != nil {
						return err
					}
				}
			}
			dropped = true
			again := `CREATE TABLE {past} PARTITION OF {t} FOR VALUES FROM (MINVALUE) TO (%d)`
			if p.Keep != "" {
				again += `; INSERT INTO {t} SELECT * FROM parts_kept`
			}
			return several(ctx, tx, p.fill(again, end))
		})
	})
	if errors.Is(err, errNotYet) {
		return false, nil
	}
	return dropped && err == nil, err
}
