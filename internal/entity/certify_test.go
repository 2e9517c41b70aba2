package entity_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/event/eventtest"
	"github.com/hearth-dmrv/hearth/internal/job"
)

// proofs are the credentials a twin shows, each as type, issuer and status.
func (v *env) proofs(t testing.TB, id string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, c := range v.get(t, "ws", id).VerifiableCredential {
		out[c.ID] = strings.Join([]string{c.Type, c.Issuer, c.Status}, " ")
	}
	return out
}

// shows wants twins to show one credential, or none when text is "".
func (v *env) shows(t *testing.T, what, credential, text string, ids ...string) {
	t.Helper()
	want := map[string]string{}
	if text != "" {
		want[credential] = text
	}
	for i, id := range ids {
		if diff := cmp.Diff(want, v.proofs(t, id)); diff != "" {
			t.Errorf("%s: twin %d (-want +got):\n%s", what, i, diff)
		}
	}
}

// A credential stands in the record of its claim and of what produced that, as
// it is at any moment.
func TestCredentialsShow(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		stove := v.create(t, "ws", draftOf("clean-cooking")).DID
		claim := v.create(t, "ws", with(draftOf("claim"), "producedBy", stove)).DID
		v.verify(t, "ws", claim)
		draft := draftOf("credential")
		draft.Type, draft.Properties = "Certification", object(`{"issuer":"did:ixo:org/certifier"}`)
		id := v.create(t, "ws", draft).DID
		edge, err := v.relate(t, "ws", claim, "becomes", id)
		must(t, err)
		v.shows(t, "a draft", id, "", claim, stove)
		step := func(to entity.Status) {
			t.Helper()
			must(t, v.transit(t, "ws", id, to))
			v.shows(t, string(to), id, "Certification did:ixo:org/certifier "+string(to), claim, stove)
		}
		step(entity.StatusActive)
		step(entity.StatusSuspended)
		must(t, v.judge(t, "ws", id, "revoked"))
		v.shows(t, "revoked", id, "Certification did:ixo:org/certifier revoked", claim, stove)
		must(t, v.judge(t, "ws", id, "unverified"))
		must(t, second(v.s.Patch(as(t, "ws", "owner"), id, "*", entity.Change{Merge: []byte(`{"type":"Other","properties":{"issuer":null}}`)})))
		v.shows(t, "of nobody", id, "Other did:key:owner suspended", claim, stove)
		must(t, v.transit(t, "ws", id, gone))
		v.shows(t, "gone", id, "Other did:key:owner deactivated", claim, stove)
		must(t, v.unrelate(t, "ws", claim, edge.ID))
		v.shows(t, "without its edge", id, "", claim, stove)

		issued := v.create(t, "ws", with(draftOf("credential"), "becameFrom", claim)).DID
		v.shows(t, "made with its claim", issued, "credential did:key:owner active", claim, stove)
		if e := v.get(t, "ws", claim); e.Verification.Status != "verified" || e.StatedBy != "" {
			t.Errorf("the claim is %s, stated by %q; want it as it was", e.Verification.Status, e.StatedBy)
		}
		must(t, v.transit(t, "ws", issued, entity.StatusCompleted))
		v.shows(t, "completed", issued, "credential did:key:owner completed", claim, stove)
		must(t, v.transit(t, "ws", issued, gone))
		v.shows(t, "deactivated", issued, "credential did:key:owner deactivated", claim, stove)
		v.consistent(t, "ws", claim, stove, issued)
	})
}

// Who begins or ceases to produce a claim shows its credentials, or not.
func TestCredentialsFollowProducers(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		stove := v.create(t, "ws", draftOf("clean-cooking")).DID
		claim := func() string {
			id := v.create(t, "ws", with(draftOf("claim"), "producedBy", stove)).DID
			v.verify(t, "ws", id)
			return id
		}
		one, two := claim(), claim()
		id := v.create(t, "ws", with(draftOf("credential"), "becameFrom", one, "becameFrom", two)).DID
		must(t, v.transit(t, "ws", id, gone))
		const text = "credential did:key:owner deactivated"
		v.shows(t, "of two claims", id, text, one, two, stove)

		must(t, v.unrelate(t, "ws", one, v.edgeOf(t, one, id)))
		v.shows(t, "one claim is left", id, "", one)
		v.shows(t, "one claim is left", id, text, two, stove)
		v.consistent(t, "ws", one, two, stove, id)
	})
}

// A record shows so many credentials and says that there are more.
func TestCredentialsAreBounded(t *testing.T) {
	t.Parallel()
	v := newEnv(t, dbtest.SQLite(t))
	stove := v.create(t, "ws", draftOf("clean-cooking")).DID
	claim := v.create(t, "ws", with(draftOf("claim"), "producedBy", stove)).DID
	v.verify(t, "ws", claim)
	alone := v.create(t, "ws", with(draftOf("claim"), "producedBy", stove)).DID
	v.verify(t, "ws", alone)
	first := v.create(t, "ws", with(draftOf("credential"), "becameFrom", alone)).DID
	var next string // the first of the claim, which has one after the other
	for range 102 {
		id := v.create(t, "ws", with(draftOf("credential"), "becameFrom", claim)).DID
		must(t, v.transit(t, "ws", id, gone))
		if next == "" {
			next = id
		}
	}
	for id, oldest := range map[string]string{claim: next, stove: first} {
		e := v.get(t, "ws", id)
		if len(e.VerifiableCredential) != 100 || !e.MoreCredentials || e.VerifiableCredential[0].ID != oldest {
			t.Errorf("%d credentials, more %v; want the first 100 and more", len(e.VerifiableCredential), e.MoreCredentials)
		}
	}
	before := v.get(t, "ws", stove).Revision
	v.create(t, "ws", with(draftOf("credential"), "becameFrom", claim))
	if n := v.get(t, "ws", stove).Revision; n != before {
		t.Errorf("one more made revision %d of the stove, want %d: it shows no more", n, before)
	}
	must(t, v.transit(t, "ws", first, entity.StatusSuspended))
	if got := v.get(t, "ws", stove).VerifiableCredential[0].Status; got != "suspended" {
		t.Errorf("the first is %s, want suspended", got)
	}
}

// What is shown is right whoever was first.
func TestCredentialsRace(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		stoves, pairs := make([]string, 5), []string{}
		for i := range stoves {
			stoves[i] = v.create(t, "ws", draftOf("clean-cooking")).DID
			pairs = append(pairs, "producedBy", stoves[i])
		}
		var claims, ids []string
		for i := range 3 {
			claims = append(claims, v.create(t, "ws", with(draftOf("claim"), pairs...)).DID)
			v.verify(t, "ws", claims[i])
			ids = append(ids, v.create(t, "ws", with(draftOf("credential"), "becameFrom", claims[i])).DID)
		}
		var wg sync.WaitGroup
		for i, id := range ids {
			wg.Go(func() {
				for range 3 {
					_ = v.transit(t, "ws", id, entity.StatusSuspended)
					_ = v.transit(t, "ws", id, entity.StatusActive)
				}
				_ = v.transit(t, "ws", id, []entity.Status{entity.StatusSuspended, entity.StatusActive, gone}[i])
			})
		}
		wg.Wait()
		want := map[string]string{}
		for _, id := range ids {
			want[id] = "credential did:key:owner " + string(v.get(t, "ws", id).Status)
		}
		for i, claim := range claims {
			v.shows(t, "its claim", ids[i], want[ids[i]], claim)
		}
		for _, id := range stoves {
			if diff := cmp.Diff(want, v.proofs(t, id)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", fmt.Sprint(id), diff)
			}
		}
	})
}

// What is shown in very many records is renewed by jobs.
func TestCredentialsOfManyProducers(t *testing.T) {
	t.Parallel()
	const claims, many = 3, 70
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		ended := make(chan string, 8)
		jobs := job.New(job.Config{DB: d, Cursors: eventtest.Cursors(), Record: func(_ context.Context, tx *db.Tx, typ, _ string, _ int64) error {
			tx.AfterCommit(func() { ended <- typ })
			return nil
		}})
		v := newEnv(t, d, func(c *entity.Config) { c.Jobs = jobs })
		credential := draftOf("credential")
		var ids []string
		for range claims {
			claim := v.create(t, "ws", draftOf("claim")).DID
			for range many {
				ids = append(ids, v.create(t, "ws", with(draftOf("clean-cooking"), "produces", claim)).DID)
			}
			must(t, v.transit(t, "ws", claim, entity.StatusActive))
			v.verify(t, "ws", claim)
			credential = with(credential, "becameFrom", claim)
		}
		id := v.create(t, "ws", credential).DID
		const active, text = "credential did:key:owner active", "credential did:key:owner suspended"
		v.shows(t, "at once", id, active, ids...)
		must(t, v.transit(t, "ws", id, entity.StatusSuspended))
		v.shows(t, "later", id, active, ids[len(ids)-1])
		runner, err := jobs.NewRunner(job.RunnerConfig{Handlers: v.s.Handlers()})
		must(t, err)
		running, stop := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { runner.Run(running) })
		old := func(id string) bool { return v.get(t, "ws", id).VerifiableCredential[0].Status == "active" }
		for slices.ContainsFunc(ids, old) {
			if typ := <-ended; typ != "job.finished" {
				t.Errorf("a job ends with %s, want job.finished", typ)
			}
		}
		stop()
		wg.Wait()
		v.shows(t, "by jobs", id, text, ids...)
	})
}
