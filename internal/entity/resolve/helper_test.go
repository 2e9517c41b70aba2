package resolve_test

import (
	"context"
	"crypto/ed25519"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/history"
	"github.com/hearth-dmrv/hearth/internal/entity/protocol"
	"github.com/hearth-dmrv/hearth/internal/entity/resolve"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/event/eventtest"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const (
	publicURL = "https://twins.example.org"
	oracleDID = "did:ixo:entity:00000000000000000000000000000001"
	minted    = "did:ixo:entity:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	family    = "did:ixo:entity:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
	gone      = "did:ixo:entity:cccccccccccccccccccccccccccccccc"
	keyDID    = "did:key:z6MkiTBz1ymuepAQ4HEHYSF1H8quG5GLVVQR3djdX3mDooWp" // of a seed of zeros
	nobodyDID = "did:ixo:entity:ffffffffffffffffffffffffffffffff"
)

// secrets are in records and must not be in anything a stranger reads.
var secrets = []string{"Wanjiku", "+254700", "NoSuchModel", "hidden.example"}

// oracleKey is the public key of a seed of zeros.
func oracleKey() ed25519.PublicKey {
	key, _ := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)).Public().(ed25519.PublicKey)
	return key
}

// env is a store with twins in it and a resolver over them.
type env struct {
	d        *db.DB
	log      *event.Log
	entities *entity.Service
	dids     *resolve.Service
	next     did.DID // of the next twin whose draft names none
}

// clock stands still, so that documents are the same in every run.
func clock() time.Time { return time.Date(2026, 11, 15, 6, 0, 0, 123_000_000, time.UTC) }

func newEnv(t testing.TB, d *db.DB, change ...func(*resolve.Config)) *env {
	t.Helper()
	e := &env{d: d, log: event.New(event.Config{DB: d, Cursors: eventtest.Cursors()})}
	protocols := protocol.New(protocol.Config{DB: d, Events: e.log, Cursors: eventtest.Cursors(), Log: dbtest.Log(t), Now: clock})
	e.entities = entity.New(entity.Config{
		DB: d, Protocols: protocols, Events: e.log, Cursors: eventtest.Cursors(), Log: dbtest.Log(t), Now: clock, At: history.At,
		NewDID: func() did.DID { return e.next },
	})
	cfg := resolve.Config{
		DB: d, Entities: e.entities, Log: dbtest.Log(t), PublicURL: publicURL, Oracle: oracleDID, Address: func() string { return publicURL }, At: history.At,
		Keys: func(id string) ed25519.PublicKey {
			if id == oracleDID {
				return oracleKey()
			}
			return nil
		},
	}
	for _, f := range change {
		f(&cfg)
	}
	var err error
	if e.dids, err = resolve.New(cfg); err != nil {
		t.Fatal(err)
	}
	return e
}

// handler serves the routes.
func (e *env) handler(t testing.TB) http.Handler { return eventtest.Serve(t, e.dids.Routes) }

func (e *env) create(t testing.TB, ws string, d entity.Draft) {
	t.Helper()
	if _, err := e.entities.Create(eventtest.Context(t.Context(), ws), d); err != nil {
		t.Fatalf("create %s: %v", d.DID, err)
	}
}

// mint makes a twin whose DID is ours, not its maker's choice.
func (e *env) mint(t testing.TB, ws, id string, d entity.Draft) {
	t.Helper()
	d.DID, e.next = "", did.DID(id)
	e.create(t, ws, d)
}

func (e *env) patch(t testing.TB, ws, id, merge string) {
	t.Helper()
	if _, err := e.entities.Patch(eventtest.Context(t.Context(), ws), id, "*", entity.Change{Merge: []byte(merge)}); err != nil {
		t.Fatalf("patch %s: %v", id, err)
	}
}

func (e *env) deactivate(t testing.TB, ws, id string) {
	t.Helper()
	ctx := eventtest.Context(t.Context(), ws)
	err := e.d.InTx(ctx, func(tx *db.Tx) error {
		_, err := e.entities.TransitionTx(ctx, tx, id, "", entity.Transition{To: entity.StatusDeactivated})
		return err
	})
	if err != nil {
		t.Fatalf("deactivate %s: %v", id, err)
	}
}

func object(text string) entity.Object { return entity.Object{Value: []byte(text)} }

// fill makes the twins of the tests: in the operator's workspace, in alpha,
// and in beta, which took a DID of alpha's later.
func (e *env) fill(t testing.TB) {
	t.Helper()
	stove := entity.Draft{
		Type: "Device", Protocol: "did:ixo:protocol/template", Properties: object(`{"metricOne":"NoSuchModel"}`),
		Services:    []entity.Endpoint{{ID: "#data", Type: "DataIngestion", Endpoint: "https://example.org/ingest"}},
		AlsoKnownAs: []string{"https://example.org/stoves/1", "urn:uuid:7", "a plain name"},
	}
	home := entity.Draft{
		Type: "Household", Protocol: "did:ixo:protocol/household", Properties: object(`{"name":"Wanjiku","phone":"+254700000001"}`),
		Services:    []entity.Endpoint{{ID: "#home", Type: "Web", Endpoint: "https://hidden.example/wanjiku"}},
		AlsoKnownAs: []string{"https://hidden.example/Wanjiku"},
	}
	with := func(d entity.Draft, id string) entity.Draft { d.DID = id; return d }
	e.create(t, "default", with(stove, "did:ixo:device/1"))
	e.create(t, "default", with(home, "did:ixo:household/123"))
	e.create(t, "default", with(stove, "did:ixo:device/gone"))
	e.deactivate(t, "default", "did:ixo:device/gone")
	e.mint(t, "alpha", minted, stove)
	e.mint(t, "alpha", family, home)
	e.create(t, "alpha", with(stove, "did:ixo:device/alpha"))
	e.mint(t, "alpha", gone, stove)
	e.deactivate(t, "alpha", gone)
	taken := with(stove, minted)
	taken.Services = []entity.Endpoint{{ID: "#data", Type: "DataIngestion", Endpoint: "https://hidden.example/beta"}}
	e.create(t, "beta", taken)
}

// ask sends a GET; head are names and values.
func ask(h http.Handler, target string, head ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, target, nil)
	for i := 0; i+1 < len(head); i += 2 {
		r.Header.Set(head[i], head[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// owner is the context of a workspace's owner.
func owner(ctx context.Context, ws string) context.Context {
	return web.WithCaller(ctx, eventtest.Caller(ws, "owner"))
}
