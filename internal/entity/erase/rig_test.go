package erase_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/erase"
	"github.com/hearth-dmrv/hearth/internal/entity/group"
	"github.com/hearth-dmrv/hearth/internal/entity/protocol"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/event/eventtest"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/once"
	"github.com/hearth-dmrv/hearth/internal/privacy"
	"github.com/hearth-dmrv/hearth/internal/secret"
)

const amina = "did:ixo:entity:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

// rig is a registry with everything that forgets.
type rig struct {
	busy func(names []string) bool // whether a copy is in use; nil: never

	d        *db.DB
	events   *event.Log
	auth     *auth.Service
	entities *entity.Service
	groups   *group.Service
	erase    *erase.Service

	protocols *protocol.Service
}

func newRig(t testing.TB, d *db.DB, more ...erase.Eraser) *rig {
	t.Helper()
	r := &rig{d: d}
	cursors := eventtest.Cursors()
	key, err := secret.Parse("0123456789abcdef0123456789abcdef")
	if err != nil {
		t.Fatal(err)
	}
	answers := once.New(once.Config{DB: d, Key: key})
	r.events = event.New(event.Config{DB: d, Cursors: cursors})
	r.auth = auth.New(auth.Config{DB: d, Cursors: cursors, Groups: group.ScopesOf})
	protocols := protocol.New(protocol.Config{DB: d, Events: r.events, Cursors: cursors, Idem: answers})
	r.protocols = protocols
	speakers := &group.Speakers{Held: r.auth.HeldBy, Minted: r.auth.Minted, RightsOf: r.auth.RightsOf, RightsChanged: r.auth.RightsChanged, Now: time.Now}
	r.entities = entity.New(entity.Config{DB: d, Protocols: protocols, Events: r.events, Cursors: cursors, Idem: answers, ControlsAs: group.ControlsAs, Speakers: speakers})
	r.groups = group.New(group.Config{DB: d, Entities: r.entities, Events: r.events, Cursors: cursors, Idem: answers, Speakers: speakers})
	others := []privacy.Table{{Name: "lists", Rules: []privacy.Rule{privacy.Kept("Lists", "Lists stay.", "data")}}, {Name: "answers", Rules: []privacy.Rule{privacy.Kept("Answers", "Answers stay.", "data")}}}
	personal, err := privacy.Join(erase.Personal(), event.Personal(), others)
	if err != nil {
		t.Fatal(err)
	}
	r.erase = erase.New(erase.Config{
		DB: d, Entities: r.entities, Protocols: protocols, Events: r.events, Cursors: cursors, Personal: personal,
		Copies: []func(context.Context, string, []string) (bool, error){func(_ context.Context, _ string, names []string) (bool, error) {
			return r.busy != nil && r.busy(names), nil
		}},
		Erasers: append([]erase.Eraser{{Name: "keys", Erase: r.auth.Forget, May: r.auth.MayForget}, {Name: "memberships", Erase: r.groups.Forget}}, more...),
	})
	if _, err := r.auth.Bootstrap(t.Context(), strings.Repeat("owner", 8)); err != nil {
		t.Fatal(err)
	}
	return r
}

// owner is the context of the workspace's owner.
func (r *rig) owner(t testing.TB) context.Context {
	t.Helper()
	ctx, err := r.auth.AsOwner(t.Context(), auth.OperatorWorkspace)
	if err != nil {
		t.Fatal(err)
	}
	return ctx
}

// create makes a twin from the JSON of a draft.
func (r *rig) create(ctx context.Context, t testing.TB, draft string) string {
	t.Helper()
	var d entity.Draft
	if err := json.Unmarshal([]byte(draft), &d, json.RejectUnknownMembers(true)); err != nil {
		t.Fatal(err)
	}
	a, err := r.entities.Create(ctx, d)
	if err != nil {
		f := fault.As(err)
		t.Fatalf("create: %v %+v", err, f)
	}
	var e entity.Entity
	if err := json.Unmarshal(a.Raw, &e); err != nil {
		t.Fatal(err)
	}
	return e.DID
}

// tx runs fn in a transaction.
func (r *rig) tx(ctx context.Context, t testing.TB, fn func(tx *db.Tx) error) {
	t.Helper()
	if err := r.d.InTx(ctx, fn); err != nil {
		t.Fatalf("transaction: %v %+v", err, fault.As(err))
	}
}

// patch changes a twin, with a reason.
func (r *rig) patch(ctx context.Context, t testing.TB, id, merge, reason string) {
	t.Helper()
	r.tx(ctx, t, func(tx *db.Tx) error {
		_, err := r.entities.PatchTx(ctx, tx, id, "*", entity.Change{Merge: []byte(merge), Reason: reason})
		return err
	})
}

// run erases and reads the certificate.
func (r *rig) run(ctx context.Context, t testing.TB, id string) (c erase.Certificate, text string, fresh bool) {
	t.Helper()
	body, fresh, err := r.erase.Erase(ctx, erase.Draft{Subject: id, Reason: "asked for"})
	if err != nil {
		t.Fatalf("Erase(%s) = %v", id, err)
	}
	if err := json.Unmarshal(body, &c); err != nil {
		t.Fatal(err)
	}
	return c, string(body), fresh
}

// record reads a twin.
func (r *rig) record(ctx context.Context, t testing.TB, id string) (*entity.Row, *entity.Entity) {
	t.Helper()
	row, err := r.entities.Find(ctx, r.d, id)
	if err != nil {
		t.Fatal(err)
	}
	e, err := row.Entity()
	if err != nil {
		t.Fatal(err)
	}
	return row, e
}

func wantCode(t testing.TB, what string, err error, code string) {
	t.Helper()
	if got := fault.CodeOf(err); got != code || code == "" && err != nil {
		t.Errorf("%s: got %q (%v), want %q", what, got, err, code)
	}
}
