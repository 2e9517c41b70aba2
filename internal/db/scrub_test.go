package db_test

import (
	"context"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

const mark = "CANARY"

// diary is a store with rows that are written, moved and removed as the rows
// of twins are: wide rows, their earlier versions, and a narrow index.
type diary struct {
	d    *db.DB
	r    *rand.Rand
	rows int
	mine []int // rows that carry the mark
}

func newDiary(t *testing.T, d *db.DB, seed int64) *diary {
	t.Helper()
	for _, q := range []string{
		`CREATE TABLE page (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, body TEXT NOT NULL)`,
		`CREATE TABLE page_history (id BIGINT NOT NULL, revision BIGINT NOT NULL, body TEXT NOT NULL, PRIMARY KEY (id, revision))`,
		`CREATE TABLE page_words (kind BIGINT NOT NULL, val TEXT NOT NULL, id BIGINT NOT NULL, PRIMARY KEY (kind, val, id))`,
		`CREATE INDEX page_words_id ON page_words (id)`,
	} {
		if _, err := d.Exec(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	return &diary{d: d, r: rand.New(rand.NewSource(seed))}
}

func (y *diary) word(n int) string {
	b := make([]byte, y.r.Intn(n))
	for i := range b {
		b[i] = byte('a' + y.r.Intn(26))
	}
	return string(b)
}

// tx runs statements in one transaction; each is a text and its arguments.
func (y *diary) tx(t *testing.T, statements ...[]any) {
	t.Helper()
	err := y.d.InTx(t.Context(), func(tx *db.Tx) error {
		for _, s := range statements {
			if _, err := tx.Exec(t.Context(), s[0].(string), s[1:]...); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (y *diary) text(id int) string {
	if slices.Contains(y.mine, id) {
		return fmt.Sprintf("%s%d", mark, id)
	}
	return y.word(12)
}

func (y *diary) words(id int) []any {
	return []any{`INSERT INTO page_words(kind, val, id) VALUES ($1, $2, $4), ($1 + 1, $3, $4)`, 1, y.word(4) + y.text(id), y.word(3) + y.text(id) + y.word(9), id}
}

// write adds n rows, every tenth with the mark, and changes some.
func (y *diary) write(t *testing.T, n int) {
	t.Helper()
	for range n {
		y.rows++
		if y.r.Intn(10) == 0 {
			y.mine = append(y.mine, y.rows)
		}
		body := y.word(2000) + y.text(y.rows) + y.word(2000)
		y.tx(t, []any{`INSERT INTO page(id, key, body) VALUES ($1, $2, $3)`, y.rows, fmt.Sprint(y.word(9), y.rows), body}, y.words(y.rows))
		id := 1 + y.r.Intn(y.rows)
		y.tx(t,
			[]any{`INSERT INTO page_history(id, revision, body) SELECT id, $2, body FROM page WHERE id = $1`, id, y.rows},
			[]any{`UPDATE page SET body = $2 WHERE id = $1`, id, y.word(3000) + y.text(id)},
			[]any{`DELETE FROM page_words WHERE id = $1`, id}, y.words(id))
	}
}

// erase takes the mark out of every row.
func (y *diary) erase(t *testing.T) {
	t.Helper()
	for _, id := range y.mine {
		y.tx(t, []any{`UPDATE page SET body = '' WHERE id = $1`, id}, []any{`UPDATE page_history SET body = '' WHERE id = $1`, id},
			[]any{`DELETE FROM page_words WHERE id = $1`, id})
	}
}

// marks counts the marks in all files of the store, as they are on disk.
func (y *diary) marks(t *testing.T) int {
	t.Helper()
	n := 0
	files, err := filepath.Glob(filepath.Join(filepath.Dir(y.d.Path()), "*"))
	if err != nil || len(files) < 3 {
		t.Fatalf("files = %v, %v, want the store and its logs", files, err)
	}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		n += strings.Count(string(data), mark)
	}
	return n
}

// TestScrub: SQLite by itself leaves some of what it deleted; after Scrub there
// is nothing of it.
func TestScrub(t *testing.T) {
	t.Parallel()
	for seed := range int64(3) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			y := newDiary(t, dbtest.SQLite(t), seed)
			y.write(t, 1000)
			if n := y.marks(t); n < len(y.mine) {
				t.Fatalf("%d marks on disk for %d rows: the test would show nothing", n, len(y.mine))
			}
			y.erase(t)
			for range 2 {
				if err := y.d.Scrub(t.Context()); err != nil {
					t.Fatal(err)
				}
				if n := y.marks(t); n != 0 {
					t.Errorf("%d marks of %d rows are left", n, len(y.mine))
				}
			}
			if r, err := y.d.Check(t.Context()); err != nil || !r.OK() {
				t.Errorf("Check() = %+v, %v, want a whole store", r, err)
			}
		})
	}
}

// TestScrubAmongOthers: readers and writers go on, and nothing is damaged.
func TestScrubAmongOthers(t *testing.T) {
	t.Parallel()
	y := newDiary(t, dbtest.SQLite(t), 7)
	y.write(t, 300)
	y.erase(t)
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for i := range 3 {
		wg.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				if i == 0 {
					if _, err := y.d.Exec(t.Context(), `INSERT INTO page(id, key, body) VALUES ($1, $2, $3)`, 10_000+n, fmt.Sprint("other ", n), strings.Repeat("x", 700)); err != nil {
						t.Errorf("write: %v", err)
					}
					continue
				}
				var got int
				if err := y.d.QueryRow(t.Context(), `SELECT count(*) FROM page`).Scan(&got); err != nil || got < 300 {
					t.Errorf("read %d rows, %v", got, err)
				}
			}
		})
	}
	for range 5 {
		if err := y.d.Scrub(t.Context()); err != nil && fault.CodeOf(err) != "STORE_UNAVAILABLE" {
			t.Errorf("Scrub() = %v", err)
		}
	}
	stop()
	wg.Wait()
	if err := y.d.Scrub(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := y.marks(t); n != 0 {
		t.Errorf("%d marks are left", n)
	}
	if r, err := y.d.Check(t.Context()); err != nil || !r.OK() {
		t.Errorf("Check() = %+v, %v, want a whole store", r, err)
	}
}

// TestScrubTellsOfAReader: old bytes that a reader holds on to are not called
// gone.
func TestScrubTellsOfAReader(t *testing.T) {
	t.Parallel()
	y := newDiary(t, dbtest.SQLite(t), 3)
	y.write(t, 50)
	err := y.d.View(t.Context(), func(q db.Querier) error {
		var n int
		if err := q.QueryRow(t.Context(), `SELECT count(*) FROM page`).Scan(&n); err != nil {
			return err
		}
		y.erase(t)
		return y.d.Scrub(t.Context())
	})
	if fault.CodeOf(err) != "STORE_UNAVAILABLE" {
		t.Errorf("Scrub() under a reader = %v, want STORE_UNAVAILABLE", err)
	}
	if err := y.d.Scrub(t.Context()); err != nil || y.marks(t) != 0 {
		t.Errorf("Scrub() = %v with %d marks, want none", err, y.marks(t))
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if err := y.d.Scrub(ended); err == nil {
		t.Error("Scrub() with an ended context = nil")
	}
}

func TestScrubPostgres(t *testing.T) {
	t.Parallel()
	if err := dbtest.Postgres(t).Scrub(t.Context()); err != nil {
		t.Errorf("Scrub() = %v, want nil", err)
	}
}

// TestClean: only the gap of a tree page is touched.
func TestClean(t *testing.T) {
	t.Parallel()
	page := func(kind byte, cells, start int) []byte {
		p := []byte(strings.Repeat("x", 512))
		p[0], p[3], p[4], p[5], p[6] = kind, byte(cells>>8), byte(cells), byte(start>>8), byte(start)
		return p
	}
	for _, tt := range []struct {
		name     string
		page     []byte
		number   int64
		from, to int // the gap; 0, 0 when nothing is cleaned
	}{
		{"leaf", page(13, 2, 400), 2, 12, 400},
		{"index leaf", page(10, 0, 512), 2, 8, 512},
		{"inside", page(5, 3, 300), 9, 18, 300},
		{"full", page(13, 4, 16), 2, 0, 0},
		{"overflow", page(0, 2, 400), 2, 0, 0},
		{"high overflow", page(1, 2, 400), 2, 0, 0},
		{"cells past the gap", page(13, 300, 400), 2, 0, 0},
		{"gap past the page", page(13, 1, 513), 2, 0, 0},
		{"first page", append([]byte(strings.Repeat("h", 100)), page(13, 1, 300)[:412]...), 1, 110, 300},
		{"nothing", nil, 2, 0, 0},
	} {
		got, changed := db.Clean(tt.page, tt.number)
		if changed != (tt.to > 0) {
			t.Errorf("%s: changed = %v", tt.name, changed)
			continue
		}
		want := slices.Clone(tt.page)
		clear(want[tt.from:tt.to])
		if changed && string(got) != string(want) {
			t.Errorf("%s: cleaned something else", tt.name)
		}
	}
}
