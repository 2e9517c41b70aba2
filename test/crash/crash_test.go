package main

import (
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/test/server"
)

// TestCrashShort is the short version of the harness: the whole one is
// "make crash".
func TestCrashShort(t *testing.T) {
	check(t, config{rounds: 7, fresh: 4})
}

// TestPowerCutShort does the same with power cuts.
func TestPowerCutShort(t *testing.T) {
	if why := powerMissing(); why != "" {
		t.Skipf("SKIPPED: power cuts: %s", why)
	}
	check(t, config{rounds: 5, fresh: 5, power: true})
}

func check(t *testing.T, c config) {
	t.Helper()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	c.writers, c.say = 4, t.Logf
	r, err := start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if r.bad() > 0 {
		t.Errorf("findings = %d, want none; replay with -seed %d", r.bad(), r.seed)
	}
	if r.rounds != c.rounds || r.acks == 0 || r.changes < int64(r.acks) {
		t.Errorf("rounds, acks, events = %d, %d, %d; want %d, some, at least one for each ack", r.rounds, r.acks, r.changes, c.rounds)
	}
}

func TestSameRecord(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, written, read string
		want                bool
	}{
		{"the key is shown once", `{"id":"1","name":"a","key":"secret"}`, `{"name":"a","id":"1"}`, true},
		{"another value", `{"id":"1","name":"a"}`, `{"id":"1","name":"b"}`, false},
		{"a member is missing", `{"id":"1","name":"a"}`, `{"id":"1"}`, false},
		{"a member too many", `{"id":"1"}`, `{"id":"1","name":"a"}`, false},
		{"half a record", `{"id":"1"}`, `{"id":"1`, false},
		{"a list in another order", `{"a":[1,2]}`, `{"a":[2,1]}`, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := sameRecord([]byte(tt.written), []byte(tt.read)); got != tt.want {
				t.Errorf("sameRecord(%s, %s) = %t, want %t", tt.written, tt.read, got, tt.want)
			}
		})
	}
}

func TestReport(t *testing.T) {
	t.Parallel()
	r := &report{seed: 7, rounds: 3, lost: []string{"one", "two"}, gaps: []string{"three"}}
	if got := r.bad(); got != 3 {
		t.Errorf("bad() = %d, want 3", got)
	}
	for _, want := range []string{"seed 7", "lost                         2", "gaps in the event log        1", "    two"} {
		if !strings.Contains(r.String(), want) {
			t.Errorf("report has no %q:\n%s", want, r)
		}
	}
}

func TestAcknowledged(t *testing.T) {
	t.Parallel()
	if _, err := acknowledged(try{Name: "a"}, &server.Answer{Status: 503, Body: []byte("{}")}); err == nil {
		t.Error("acknowledged(503) = nil error, want one")
	}
	got, err := acknowledged(try{Name: "a"}, &server.Answer{Status: 201, Body: []byte(`{"id":"key_1"}`)})
	if err != nil || got.ID != "key_1" || got.Name != "a" {
		t.Errorf("acknowledged(201) = %+v, %v; want key_1 for a", got, err)
	}
}
