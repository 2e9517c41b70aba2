package main

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
)

// TestMain is the bare server when the program starts itself again.
func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == "-bare" {
		exit(serveBare(context.Background(), os.Args[2], os.Args[3]))
	}
	os.Exit(m.Run())
}

// usualRows are one row of each way to measure; the others are run where time
// matters less.
const usualRows = "sync,write,create,submit,ussd,turn,boot"

// TestQuick is a smoke run of the program. It judges nothing, so each side has
// just the time for some requests.
func TestQuick(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("SKIPPED: the benchmark reads CPU times from /proc")
	}
	b := &bench{rounds: 1, cell: 20 * time.Millisecond, quick: true, dir: t.TempDir()}
	chosen := usualRows
	if dbtest.Everything() {
		chosen = ""
	}
	if err := b.run(t.Context(), options{only: chosen}); err != nil {
		t.Fatal(err)
	}
	if err := b.run(t.Context(), options{against: b.binary}); err != nil {
		t.Errorf("against itself: %v", err)
	}
	if err := b.run(t.Context(), options{against: "no-such-commit"}); err == nil {
		t.Error("against nothing = no error, want one")
	}
	if len(b.failed) > 0 {
		t.Errorf("failed = %v, want nothing judged", b.failed)
	}
}

func TestVerdict(t *testing.T) {
	t.Parallel()
	b := &bench{}
	if got := b.verdict("a", true); got != "PASS" {
		t.Errorf("verdict = %s, want PASS", got)
	}
	if got := b.verdict("b", false); got != "FAIL" || len(b.failed) != 1 {
		t.Errorf("verdict = %s, failed = %v; want FAIL and b", got, b.failed)
	}
	b = &bench{quick: true}
	if got := b.verdict("b", false); got != "not judged" || len(b.failed) != 0 {
		t.Errorf("verdict = %s, failed = %v; want nothing judged", got, b.failed)
	}
}

func TestStats(t *testing.T) {
	t.Parallel()
	s := sample{ops: 4, took: 2 * time.Second, cpu: 8 * time.Microsecond, each: []time.Duration{4000, 1000, 3000, 2000}}
	for _, tt := range []struct {
		name      string
		got, want float64
	}{
		{"rate", s.rate(), 2},
		{"cost", s.cost(), 2},
		{"p50", s.p50(), 3},
		{"p99", s.p99(), 4},
		{"median", median([]float64{9, 1, 5}), 5},
		{"sum", s.add(s).rate(), 2},
		{"ratio", pairs{ours: []sample{s, s}, bound: []sample{s.add(s), s}}.ratio(func(s sample) float64 { return float64(s.ops) }), 1},
		{"nothing", sample{}.p50(), 0},
	} {
		if math.Abs(tt.got-tt.want) > 1e-9 {
			t.Errorf("%s = %v, want %v", tt.name, tt.got, tt.want)
		}
	}
}

func TestChoose(t *testing.T) {
	t.Parallel()
	if got, err := choose(""); err != nil || len(got) != len(rows) {
		t.Errorf("choose all = %d rows, %v; want %d", len(got), err, len(rows))
	}
	if got, err := choose("boot,sync"); err != nil || len(got) != 2 || got[0].name != "boot" {
		t.Errorf("choose two = %v, %v; want boot and sync", got, err)
	}
	if _, err := choose("nonsense"); err == nil {
		t.Error("choose nonsense = no error, want one")
	}
}

// TestStores shows that both sides do the same work: every row that was
// answered is there, and a key is stored once.
func TestStores(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		open func(context.Context, string) (store, error)
	}{{"hearth", openHearth}, {"bound", openBound}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "rows.db")
			st, err := tt.open(t.Context(), path)
			if err != nil {
				t.Fatal(err)
			}
			in := &inserter{st: st, dir: filepath.Join(t.TempDir(), "none"), writers: 8}
			s, err := in.run(t.Context(), 100*time.Millisecond)
			if err != nil || s.ops == 0 {
				t.Fatalf("run = %d rows, %v; want some", s.ops, err)
			}
			put := st.writer()
			if err := put("same", "a"); err != nil {
				t.Errorf("first put = %v, want nil", err)
			}
			if err := put("same", "b"); err == nil {
				t.Error("second put = nil, want a broken rule")
			}
			if err := in.close(); err != nil {
				t.Fatal(err)
			}
			if got := countRows(t, path); got != s.ops+1 {
				t.Errorf("rows = %d, want %d", got, s.ops+1)
			}
		})
	}
}

func countRows(t *testing.T, path string) int {
	t.Helper()
	d, err := db.Open(t.Context(), db.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	var n int
	if err := d.QueryRow(t.Context(), `SELECT count(*) FROM rows`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
