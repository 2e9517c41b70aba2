package db_test

import (
	"bytes"
	"database/sql"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
)

type (
	name  string
	raw   []byte
	kind  int32
	state bool
)

func TestParameterOrder(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		ctx := t.Context()
		const q = `SELECT CAST($2 AS TEXT), CAST($1 AS TEXT), CAST($2 AS TEXT), CAST($3 AS TEXT)`
		check := func(where string, r db.Row) {
			t.Helper()
			var a, b, c, e string
			if err := r.Scan(&a, &b, &c, &e); err != nil || a+b+c+e != "2123" {
				t.Errorf("%s: %q, %v; want 2 1 2 3", where, a+b+c+e, err)
			}
		}
		check("read", d.QueryRow(ctx, q, "1", "2", "3"))
		err := d.InTx(ctx, func(tx *db.Tx) error {
			check("transaction", tx.QueryRow(ctx, q, "1", "2", "3"))
			return nil
		})
		if err != nil {
			t.Errorf("InTx: %v", err)
		}
		if err := d.QueryRow(ctx, q, "1", "2").Scan(new(string)); err == nil {
			t.Error("a missing parameter was not noticed")
		}
	})
}

// What goes in comes out, of the same type and the same on both engines.
func TestValuesRoundTrip(t *testing.T) {
	t.Parallel()
	text, null := "x", (*string)(nil)
	id := uuid.MustParse("0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b")
	tests := []struct {
		column string
		in     any
		out    func() any // pointer to scan into
		want   string     // %v of what it points to
	}{
		{"note", "ü\n'\"; --", func() any { return new(string) }, "ü\n'\"; --"},
		{"note", "", func() any { return new(string) }, ""},
		{"note", name("n"), func() any { return new(name) }, "n"},
		{"note", &text, func() any { return new(*string) }, "*x"},
		{"note", null, func() any { return new(*string) }, "<nil>"},
		{"note", nil, func() any { return new(*name) }, "<nil>"},
		{"note", nil, func() any { return new(sql.NullString) }, "{ false}"},
		{"note", "v", func() any { return new(sql.NullString) }, "{v true}"},
		{"note", "v", func() any { return new([]byte) }, "[118]"},
		{"note", "v", func() any { return new(any) }, "v"},
		{"note", id, func() any { return new(uuid.UUID) }, id.String()},
		{"data", []byte{0, 255}, func() any { return new([]byte) }, "[0 255]"},
		{"data", []byte{}, func() any { return new([]byte) }, "[]"},
		{"data", raw{7}, func() any { return new(raw) }, "[7]"},
		{"data", nil, func() any { return new([]byte) }, "nil"},
		{"num", int64(math.MinInt64), func() any { return new(int64) }, "-9223372036854775808"},
		{"num", math.MaxInt64, func() any { return new(int) }, "9223372036854775807"},
		{"num", kind(-3), func() any { return new(kind) }, "-3"},
		{"num", uint16(9), func() any { return new(uint16) }, "9"},
		{"num", nil, func() any { return new(*int64) }, "<nil>"},
		{"num", 5, func() any { return new(*int64) }, "*5"},
		{"num", 5, func() any { return new(any) }, "5"},
		{"ok", true, func() any { return new(bool) }, "true"},
		{"ok", state(false), func() any { return new(state) }, "false"},
		{"price", 0.1, func() any { return new(float64) }, "0.1"},
		{"price", float64(3), func() any { return new(float64) }, "3"},
	}
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		ctx := t.Context()
		if _, err := d.Exec(ctx, `CREATE TABLE v (id BIGINT PRIMARY KEY, note TEXT, data BYTEA, num BIGINT, ok BOOLEAN, price DOUBLE PRECISION)`); err != nil {
			t.Fatalf("create: %v", err)
		}
		for i, tt := range tests {
			out, again := tt.out(), tt.out()
			what := fmt.Sprintf("%s %T %v", tt.column, tt.in, tt.in)
			err := d.InTx(ctx, func(tx *db.Tx) error {
				return tx.QueryRow(ctx, fmt.Sprintf(`INSERT INTO v(id, %s) VALUES ($1, $2) RETURNING %[1]s`, tt.column), i, tt.in).Scan(out)
			})
			if err != nil {
				t.Errorf("%s: insert: %v", what, err)
				continue
			}
			if err := d.QueryRow(ctx, fmt.Sprintf(`SELECT %s FROM v WHERE id = $1`, tt.column), i).Scan(again); err != nil {
				t.Errorf("%s: select: %v", what, err)
			}
			if a, b := show(out), show(again); a != tt.want || b != tt.want {
				t.Errorf("%s: got %s and %s, want %s", what, a, b, tt.want)
			}
		}
	})
}

// show prints what p points to, and marks pointers and nil bytes.
func show(p any) string {
	switch v := p.(type) {
	case **string:
		if *v != nil {
			return "*" + **v
		}
	case **int64:
		if *v != nil {
			return fmt.Sprint("*", **v)
		}
	case **name:
		if *v != nil {
			return "*" + string(**v)
		}
	case *[]byte:
		if *v == nil {
			return "nil"
		}
		return fmt.Sprint(*v)
	case *raw:
		return fmt.Sprint([]byte(*v))
	case *any:
		return fmt.Sprint(*v)
	case *string:
		return *v
	case *name:
		return string(*v)
	case *int64:
		return fmt.Sprint(*v)
	case *int:
		return fmt.Sprint(*v)
	case *kind:
		return fmt.Sprint(*v)
	case *uint16:
		return fmt.Sprint(*v)
	case *bool:
		return fmt.Sprint(*v)
	case *state:
		return fmt.Sprint(bool(*v))
	case *float64:
		return fmt.Sprint(*v)
	case *sql.NullString:
		return fmt.Sprint(*v)
	case *uuid.UUID:
		return v.String()
	}
	return "<nil>"
}

func TestBadValuesAreRefused(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		schema(t, d)
		ctx := t.Context()
		for _, s := range []string{"a\x00b", "\xff\xfe"} {
			_, err := d.Exec(ctx, `INSERT INTO item(id, name) VALUES (1, $1)`, s)
			wantCode(t, err, "TEXT_NOT_STORABLE")
		}
		for _, v := range []any{time.Now(), struct{}{}, map[string]int{}, uint64(math.MaxUint64)} {
			if _, err := d.Exec(ctx, `INSERT INTO item(id, name) VALUES ($1, 'a')`, v); err == nil {
				t.Errorf("%T was stored as a number", v)
			}
		}
		wantStored(t, d, "")
		if err := insert(ctx, d, 1); err != nil {
			t.Fatalf("insert: %v", err)
		}
		var text string
		for what, err := range map[string]error{
			"NULL into string":      d.QueryRow(ctx, `SELECT note FROM item`).Scan(&text),
			"text into number":      d.QueryRow(ctx, `SELECT name FROM item`).Scan(new(int64)),
			"too few destinations":  d.QueryRow(ctx, `SELECT id, name FROM item`).Scan(&text),
			"too many destinations": d.QueryRow(ctx, `SELECT name FROM item`).Scan(&text, &text),
			"value, not pointer":    d.QueryRow(ctx, `SELECT name FROM item`).Scan(text),
			"too large":             d.QueryRow(ctx, `SELECT id + 300 FROM item`).Scan(new(int8)),
		} {
			if err == nil {
				t.Errorf("%s: no error", what)
			}
		}
	})
}

func TestLargeValue(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		schema(t, d)
		big := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
		if _, err := d.Exec(t.Context(), `INSERT INTO item(id, name, note, data) VALUES (1, 'a', $1, $2)`, string(big), big); err != nil {
			t.Fatalf("insert: %v", err)
		}
		var note string
		var data []byte
		if err := d.QueryRow(t.Context(), `SELECT note, data FROM item`).Scan(&note, &data); err != nil {
			t.Fatalf("select: %v", err)
		}
		if note != string(big) || !bytes.Equal(data, big) {
			t.Error("a megabyte came back changed")
		}
	})
}

func TestUniqueAndForeignKeyErrors(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		schema(t, d)
		ctx := t.Context()
		if err := insert(ctx, d, 1); err != nil {
			t.Fatalf("insert: %v", err)
		}
		for what, tt := range map[string]struct {
			sql             string
			unique, foreign bool
		}{
			"primary key": {`INSERT INTO item(id, name) VALUES (1, 'x')`, true, false},
			"unique":      {`INSERT INTO item(id, name) VALUES (2, 'n1')`, true, false},
			"foreign key": {`INSERT INTO part(id, item) VALUES (1, 7)`, false, true},
			"not null":    {`INSERT INTO item(id) VALUES (3)`, false, false},
			"no table":    {`INSERT INTO nothing(id) VALUES (3)`, false, false},
		} {
			_, err := d.Exec(ctx, tt.sql)
			if err == nil || db.IsUnique(err) != tt.unique || db.IsForeignKey(err) != tt.foreign {
				t.Errorf("%s: %v; unique %v, foreign key %v", what, err, db.IsUnique(err), db.IsForeignKey(err))
			}
			// With RETURNING the foreign key is checked after the row came out.
			err = d.InTx(ctx, func(tx *db.Tx) error {
				return tx.QueryRow(ctx, strings.TrimSpace(tt.sql)+` RETURNING id`).Scan(new(int))
			})
			if err == nil || db.IsUnique(err) != tt.unique || db.IsForeignKey(err) != tt.foreign {
				t.Errorf("%s RETURNING: %v; unique %v, foreign key %v", what, err, db.IsUnique(err), db.IsForeignKey(err))
			}
		}
	})
}
