package resolve_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/entity"
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

func (e *env) ensure(t testing.TB) {
	t.Helper()
	if err := e.dids.EnsureOracle(owner(t.Context(), "default"), "Hearth"); err != nil {
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
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		e := newEnv(t, d)
		e.ensure(t)
		got := e.twin(t)
		if got.Class != "oracle" || got.DomainType != "oracle" || got.Status != entity.StatusActive || got.Controller != "did:key:owner" || !strings.Contains(string(got.Properties.Value), `"Hearth"`) {
			t.Errorf("twin = %+v, want an active oracle of the owner", got)
		}
		events := e.events(t)
		for range 5 { // starts
			e.ensure(t)
		}
		if got := e.twin(t); got.Revision != 1 || e.events(t) != events {
			t.Errorf("after five more starts: revision %d, %d events, want 1 and %d", got.Revision, e.events(t), events)
		}
	})
}

// TestOracleAddress holds that where the oracle is reached never comes from the
// record: whoever writes it there sends its clients to somebody else.
func TestOracleAddress(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		e := newEnv(t, d)
		e.ensure(t)
		e.patch(t, "default", oracleDID, `{"services":[{"id":"#docs","type":"Docs","endpoint":"https://docs.example"},`+
			`{"id":"#api","type":"oracleService","endpoint":"https://evil.example"},{"id":"#ws","type":"wsService","endpoint":"https://evil.example"}]}`)
		for _, target := range []string{"/.well-known/did.json", "/1.0/identifiers/" + oracleDID, "/1.0/identifiers/" + oracleDID + "?versionId=2", "/v1/dids/" + oracleDID, "/v1/entities/" + oracleDID + "/did-document"} {
			w := ask(e.handler(t), target, "Authorization", "Bearer default owner")
			for _, want := range []string{`#api","type":"oracleService","serviceEndpoint":"` + publicURL + `"`, `#ws","type":"wsService","serviceEndpoint":"` + publicURL + `"`, "https://docs.example"} {
				if !strings.Contains(w.Body.String(), want) || strings.Contains(w.Body.String(), "evil") {
					t.Errorf("%s = %d %s, want %s in it and nothing of the record", target, w.Code, w.Body, want)
				}
			}
		}
	})
}

// TestEnsureOracleLeavesAlone holds that a start never fails, and never takes
// a twin back, because of what its owners did with it.
func TestEnsureOracleLeavesAlone(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		e := newEnv(t, d)
		e.ensure(t)
		e.deactivate(t, "default", oracleDID)
		e.ensure(t)
		if got := e.twin(t); got.Status != entity.StatusDeactivated || got.Revision != 2 {
			t.Errorf("a deactivated twin is %s in revision %d, want it left alone", got.Status, got.Revision)
		}
		if w := ask(e.handler(t), "/.well-known/did.json"); w.Code != 410 || strings.Contains(w.Body.String(), "publicKeyMultibase") {
			t.Errorf("/.well-known/did.json = %d %s, want 410 without a key", w.Code, w.Body)
		}
	})
}

// TestEnsureOracleTogether starts many instances at once on an empty store.
func TestEnsureOracleTogether(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		e := newEnv(t, d)
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				if err := newEnv(t, d).dids.EnsureOracle(owner(t.Context(), "default"), "Hearth"); err != nil {
					t.Errorf("EnsureOracle: %v", err)
				}
			})
		}
		wg.Wait()
		if got := e.twin(t); got.Revision != 1 || e.events(t) != 1 {
			t.Errorf("after the first start: revision %d, %d events, want 1 and 1", got.Revision, e.events(t))
		}
	})
}
