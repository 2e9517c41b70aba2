package db

import (
	"context"
	"errors"
	"fmt"
)

// Finding is the result of one check.
type Finding struct {
	Name   string // "integrity", "foreign keys", "schema", …
	OK     bool
	Detail string
}

// Report is the result of Check.
type Report struct {
	Dialect  Dialect
	Findings []Finding
}

// OK reports whether nothing is wrong.
func (r *Report) OK() bool {
	for _, f := range r.Findings {
		if !f.OK {
			return false
		}
	}
	return true
}

func (r *Report) add(name string, err error, detail string) {
	if err != nil {
		detail = err.Error()
	}
	r.Findings = append(r.Findings, Finding{Name: name, OK: err == nil, Detail: detail})
}

// Check looks for damage in the store while it is in use. It reads all of it.
// An error means that checking failed; damage is in the report.
func (d *DB) Check(ctx context.Context) (*Report, error) {
	r := &Report{Dialect: d.dialect}
	s, err := d.Schema(ctx)
	if err == nil && len(s.Pending) > 0 {
		err = fmt.Errorf("migrations are pending: %v", s.Pending)
	}
	r.add("schema", err, fmt.Sprintf("version %04d", s.Version))
	r.add("durability", nil, d.Durability())
	if d.dialect == Postgres {
		err = d.checkPostgres(ctx, r)
	} else {
		err = d.checkLite(ctx, r)
	}
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("check store: %w", err)
	}
	return r, nil
}

func (d *DB) checkLite(ctx context.Context, r *Report) error {
	c, err := openLiteConn(d.cfg.Path, busyPragma(d.cfg.Busy), "query_only=ON")
	if err != nil {
		return err
	}
	defer c.close()
	r.add("integrity", checkPages(ctx, c), "every page and index is whole")
	bad, err := brokenKeys(ctx, c)
	if err == nil && len(bad) > 0 {
		err = fmt.Errorf("%v", bad)
	}
	r.add("foreign keys", err, "all refer to rows that exist")
	st := d.Stats()
	if st.WALBytes > walWarn {
		err = fmt.Errorf("%d bytes: a reader has been open for very long", st.WALBytes)
	}
	r.add("write-ahead log", err, fmt.Sprintf("%d bytes", st.WALBytes))
	free, err := freeBytes(ctx, c)
	r.add("size", err, fmt.Sprintf("%d bytes, %d of them free: new rows take them, and hearth db compact gives them back", st.FileBytes, free))
	return nil
}

// walWarn is a log far beyond what checkpoints leave.
const walWarn = 1 << 30

func (d *DB) checkPostgres(ctx context.Context, r *Report) error {
	r.add("writing", Writable(ctx, d), "a row was stored")
	bad, err := texts(ctx, d, `SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE NOT i.indisvalid ORDER BY 1 LIMIT 10`)
	r.add("indexes", listed(bad, err, "not valid"), "all are valid")
	bad, err = texts(ctx, d, `SELECT conname FROM pg_constraint WHERE NOT convalidated AND conname <> $1 ORDER BY 1 LIMIT 10`, partsPromise)
	r.add("constraints", listed(bad, err, "not validated"), "all are validated")
	there, err := texts(ctx, d, `SELECT extname FROM pg_extension WHERE extname = 'amcheck'`)
	if err != nil {
		return err
	}
	if len(there) == 0 {
		r.add("integrity", nil, "not looked at: the extension amcheck is not installed")
		return nil
	}
	names, err := texts(ctx, d, `SELECT c.relname FROM pg_class c JOIN pg_am a ON a.oid = c.relam JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE c.relkind = 'i' AND a.amname = 'btree' AND n.nspname = current_schema() ORDER BY 1`)
	if err != nil {
		return err
	}
	var errs []error
	for _, name := range names {
		_, err := texts(ctx, d, `SELECT bt_index_check(to_regclass(quote_ident($1)))::text`, name)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		}
	}
	r.add("integrity", errors.Join(errs...), fmt.Sprintf("%d indexes are whole", len(names)))
	return nil
}

func listed(bad []string, err error, what string) error {
	if err == nil && len(bad) > 0 {
		err = fmt.Errorf("%s: %v", what, bad)
	}
	return err
}

func texts(ctx context.Context, q Querier, sql string, args ...any) ([]string, error) {
	rows, err := q.Query(ctx, sql, args...)
	return Collect(rows, err, "query catalog", Column[string])
}
