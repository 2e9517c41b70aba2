package bulk

import (
	"context"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
)

// write stores something, as work or as somebody else.
func write(t *testing.T, d *db.DB) {
	t.Helper()
	if err := db.Writable(t.Context(), d); err != nil {
		t.Fatal(err)
	}
}

// Only what others write makes a crowd, and only on SQLite do they wait.
func TestPaceSeesOthers(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		lite := d.Dialect() == db.SQLite
		p := newPace(d)
		for range 3 {
			write(t, d)
			p.note(10, time.Millisecond)
			if p.look(); p.crowded.Load() {
				t.Error("the work is a crowd for itself")
			}
		}
		if _, limit := p.bounds(50); lite && limit < alone || !lite && limit != maxTime {
			t.Errorf("alone a transaction may take %v", limit)
		}
		write(t, d)
		write(t, d)
		p.note(10, time.Millisecond)
		if p.look(); p.crowded.Load() != lite {
			t.Errorf("crowded = %v when somebody writes", p.crowded.Load())
		}
		s := d.Stats()
		slow := max(turn, perSync*s.CommitTime/time.Duration(max(s.Commits, 1)))
		if _, limit := p.bounds(50); lite && limit != min(slow, maxTime) {
			t.Errorf("beside others a transaction may take %v, want %v", limit, slow)
		}
		if p.look(); p.crowded.Load() {
			t.Error("crowded when nobody writes any more")
		}
	})
}

// How many steps go together follows from what they have taken.
func TestPaceLearns(t *testing.T) {
	t.Parallel()
	p := &pace{limit: 3 * time.Millisecond}
	for _, tt := range []struct {
		name  string
		steps int
		took  time.Duration
		left  int
		want  int
	}{
		{"nothing is known", 0, time.Second, 50, firstSteps},
		{"few are left", 0, 0, 4, 4},
		{"fast ones", 10, time.Millisecond, 50, 30},
		{"all that are left", 10, time.Millisecond, 7, 7},
		{"slower ones", 10, 9 * time.Millisecond, 50, 10},
		{"far slower ones", 1, 10 * time.Millisecond, 50, 1},
	} {
		if tt.steps > 0 || tt.took > 0 {
			p.note(tt.steps, tt.took)
		}
		if got, _ := p.bounds(tt.left); got != tt.want {
			t.Errorf("%s: %d steps of %d, want %d", tt.name, got, tt.left, tt.want)
		}
	}
}

// Whoever is told to stop does not rest, and nobody rests alone.
func TestPaceRests(t *testing.T) {
	t.Parallel()
	p := newPace(dbtest.SQLite(t))
	begun := time.Now()
	for range 10_000 {
		p.Rest(t.Context())
	}
	p.give(t.Context(), time.Hour)
	if took := time.Since(begun); took > time.Minute {
		t.Errorf("alone it rested for %v", took)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	p.crowded.Store(true)
	begun = time.Now()
	p.Rest(stopped)
	rest(stopped, time.Hour)
	if took := time.Since(begun); took > time.Minute {
		t.Errorf("stopped it rested for %v", took)
	}
}
