package resolve_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/resolve"
)

// twin reads the oracle's twin.
func (e *env) twin(t testing.TB) *entity.Entity {
	t.Helper()
	row, err := e.entities.Find(owner(t.Context(), "default"), e.d, oracleDID)
	if err != nil {
		t.Fatal(err)
	}
	got, err := row.Entity()
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func (e *env) ensure(t testing.TB, o resolve.Oracle) {
	t.Helper()
	if o.DID, o.Name = oracleDID, "Hearth"; o.Base == "" {
		o.Base = publicURL
	}
	if err := e.dids.EnsureOracle(owner(t.Context(), "default"), o); err != nil {
		t.Fatalf("EnsureOracle: %v", err)
	}
}

func (e *env) events(t testing.TB) int64 {
	t.Helper()
	held, err := e.log.Range(t.Context(), "default")
	if err != nil {
		t.Fatal(err)
	}
	return held.Newest
}

func TestEnsureOracle(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		e := newEnv(t, d)
		e.ensure(t, resolve.Oracle{})
		got := e.twin(t)
		if got.Class != "oracle" || got.DomainType != "oracle" || got.Status != entity.StatusActive || got.Controller != "did:key:owner" || !strings.Contains(string(got.Properties.Value), `"Hearth"`) {
			t.Errorf("twin = %+v, want an active oracle of the owner", got)
		}
		if want := "[{#api oracleService https://twins.example.org} {#ws wsService https://twins.example.org}]"; fmt.Sprint(got.Services) != want {
			t.Errorf("services = %v, want %s", got.Services, want)
		}
		events := e.events(t)
		for range 5 { // starts
			e.ensure(t, resolve.Oracle{})
		}
		if got := e.twin(t); got.Revision != 1 || e.events(t) != events {
			t.Errorf("after five more starts: revision %d, %d events, want 1 and %d", got.Revision, e.events(t), events)
		}
		// What others add stays; only our two services follow the address.
		e.patch(t, "default", oracleDID, `{"services":[{"id":"#docs","type":"Docs","endpoint":"https://docs.example"},{"id":"#api","type":"oracleService","endpoint":"https://twins.example.org"}]}`)
		e.ensure(t, resolve.Oracle{Base: "https://new.example.org"})
		got = e.twin(t)
		if want := "[{#docs Docs https://docs.example} {#api oracleService https://new.example.org} {#ws wsService https://new.example.org}]"; fmt.Sprint(got.Services) != want || got.Revision != 3 {
			t.Errorf("services = %v in revision %d, want %s in 3", got.Services, got.Revision, want)
		}
		row, err := e.entities.Find(owner(t.Context(), "default"), d, oracleDID)
		if err != nil || row.Reason == "" {
			t.Errorf("reason = %q, %v, want why it changed", row.Reason, err)
		}
	})
}

func TestEnsureOracleGuesses(t *testing.T) {
	t.Parallel()
	const first, other = "http://localhost:3000", "http://localhost:4000"
	for _, tt := range []struct {
		name    string
		start   resolve.Oracle // of a twin that is there
		next    resolve.Oracle
		changes bool
	}{
		{"a guess replaces a guess", resolve.Oracle{Base: first, Guessed: true}, resolve.Oracle{Base: other, Guessed: true}, true},
		{"the same guess", resolve.Oracle{Base: first, Guessed: true}, resolve.Oracle{Base: first, Guessed: true}, false},
		{"one of an instance does not", resolve.Oracle{Base: first, Guessed: true}, resolve.Oracle{Base: other, Guessed: true, Once: true}, false},
		{"a setting replaces a guess", resolve.Oracle{Base: first, Guessed: true}, resolve.Oracle{Base: publicURL}, true},
		{"a guess does not replace a setting", resolve.Oracle{Base: publicURL}, resolve.Oracle{Base: first, Guessed: true}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := newEnv(t, dbtest.SQLite(t))
			e.ensure(t, tt.start)
			e.ensure(t, tt.next)
			want, revision := tt.start.Base, int64(1)
			if tt.changes {
				want, revision = tt.next.Base, 2
			}
			if got := e.twin(t); got.Services[0].Endpoint != want || got.Revision != revision {
				t.Errorf("endpoint = %s in revision %d, want %s in %d", got.Services[0].Endpoint, got.Revision, want, revision)
			}
		})
	}
}

// TestEnsureOracleLeavesAlone holds that a start never fails, and never takes
// a twin back, because of what its owners did with it.
func TestEnsureOracleLeavesAlone(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		e := newEnv(t, d)
		e.ensure(t, resolve.Oracle{})
		e.patch(t, "default", oracleDID, `{"controller":"did:key:somebody","controllers":["did:key:somebody"]}`)
		e.ensure(t, resolve.Oracle{Base: "https://new.example.org"})
		if got := e.twin(t); got.Revision != 2 || got.Services[0].Endpoint != publicURL {
			t.Errorf("a twin of another controller = %v in revision %d, want it as it was in 2", got.Services, got.Revision)
		}
	})
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		e := newEnv(t, d)
		e.ensure(t, resolve.Oracle{})
		e.deactivate(t, "default", oracleDID)
		e.ensure(t, resolve.Oracle{Base: "https://new.example.org"})
		if got := e.twin(t); got.Status != entity.StatusDeactivated || got.Revision != 2 {
			t.Errorf("a deactivated twin is %s in revision %d, want it left alone", got.Status, got.Revision)
		}
		if w := ask(e.handler(t), "/.well-known/did.json"); w.Code != 410 || strings.Contains(w.Body.String(), "publicKeyMultibase") {
			t.Errorf("/.well-known/did.json = %d %s, want 410 without a key", w.Code, w.Body)
		}
	})
}

// TestEnsureOracleTogether starts many instances at once: on an empty store,
// then with a new address.
func TestEnsureOracleTogether(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		e := newEnv(t, d)
		all := func(base string) {
			var wg sync.WaitGroup
			for range 8 {
				wg.Go(func() {
					err := newEnv(t, d).dids.EnsureOracle(owner(t.Context(), "default"), resolve.Oracle{DID: oracleDID, Name: "Hearth", Base: base})
					if err != nil {
						t.Errorf("EnsureOracle: %v", err)
					}
				})
			}
			wg.Wait()
		}
		all(publicURL)
		if got := e.twin(t); got.Revision != 1 || e.events(t) != 1 {
			t.Errorf("after the first start: revision %d, %d events, want 1 and 1", got.Revision, e.events(t))
		}
		all("https://new.example.org")
		if got := e.twin(t); got.Revision != 2 || e.events(t) != 2 || got.Services[1].Endpoint != "https://new.example.org" {
			t.Errorf("after the second: revision %d, %d events, %v, want 2, 2 and the new address", got.Revision, e.events(t), got.Services)
		}
	})
}
