package entity_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// about says something about a revision of a twin.
func (v *env) about(t *testing.T, who, id string, revision int64, verdict entity.Verdict) (*entity.Entity, error) {
	t.Helper()
	verdict.Revision = &revision
	r, err := v.s.Verify(as(t, "ws", who), id, "", verdict)
	if err != nil {
		return nil, err
	}
	return decode(t, r.Raw), nil
}

// Whoever has read 12 kg does not verify 12,000 kg.
func TestVerdictNamesWhatItJudged(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		id := v.claimed(t)
		path := "POST /v1/entities/" + id + "/verification"
		must(t, v.amount(t, id, 12))
		read := v.get(t, "ws", id).Revision
		must(t, v.amount(t, id, 12_000))
		for name, tt := range map[string]struct {
			tag, body, code string
			status          int
		}{
			"nothing":           {"", `{"status":"verified"}`, "PRECONDITION_REQUIRED", 428},
			"whatever is there": {"*", `{"status":"verified"}`, "PRECONDITION_REQUIRED", 428},
			"what was read":     {fmt.Sprintf(`"%d"`, read), `{"status":"verified"}`, "STALE_REVISION", 412},
			"in the body":       {"", fmt.Sprintf(`{"status":"verified","revision":%d}`, read), "STALE_REVISION", 412},
			"to take it back":   {"", fmt.Sprintf(`{"status":"pending","revision":%d}`, read), "STALE_REVISION", 412},
			"all revisions":     {`"1","2","3","4","5","6"`, `{"status":"verified"}`, "INVALID_PARAMETER", 400},
			"one to come":       {"", fmt.Sprintf(`{"status":"verified","revision":%d}`, read+2), "REVISION_UNKNOWN", 412},
			"none":              {"", `{"status":"verified","revision":0}`, "REVISION_UNKNOWN", 412},
			"half of one":       {"", `{"status":"verified","revision":1.5}`, "", 400},
		} {
			w := v.send(t, "ws second", path, tt.body, "If-Match", tt.tag)
			if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.code) {
				t.Errorf("%s = %d %s, want %d %s", name, w.Code, w.Body, tt.status, tt.code)
			}
			var said struct {
				Current struct {
					Revision int64 `json:"revision"`
				} `json:"current"`
			}
			if w.Code == 412 && (json.Unmarshal(w.Body.Bytes(), &said) != nil || said.Current.Revision != read+1) {
				t.Errorf("%s: %s, want the revision there is", name, w.Body)
			}
		}
		if e := v.get(t, "ws", id); e.Verification.Status != "pending" || e.Revision != read+1 {
			t.Errorf("verification = %+v of revision %d", e.Verification, e.Revision)
		}
		w := v.send(t, "ws second", path, `{"status":"verified"}`, "If-Match", v.tag(t, "ws", id))
		if e := decode(t, w.Body.Bytes()); w.Code != 200 || e.Verification.Revision != read+1 || w.Header().Get("ETag") != fmt.Sprintf(`"%d"`, read+2) {
			t.Errorf("verified = %d %s", w.Code, w.Body)
		}
	})
}

// All a claim says is what a verdict is about; what others decide about it, and
// what follows from that, is not, nor is in whose hands it is. What a verdict
// that comes too late is refused for takes one away that was given before, and
// is refused itself while a credential rests on the claim.
func TestWhatAVerdictIsAbout(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		c := newCourt(t, d)
		patch := func(body string) func(id string) error {
			return func(id string) error {
				return second(c.s.Patch(as(t, "ws", "owner"), id, "*", entity.Change{Merge: []byte(body)}))
			}
		}
		for _, tt := range []struct {
			name   string
			change func(id string) error
			code   string
		}{
			{"nothing", func(string) error { return nil }, ""},
			{"type", patch(`{"type":"Saving"}`), "STALE_REVISION"},
			{"properties", patch(`{"properties":{"kind":"free","amount":{"value":2,"unit":"kg"}}}`), "STALE_REVISION"},
			{"dates", patch(`{"startDate":"2026-01-01T00:00:00Z"}`), "STALE_REVISION"},
			{"evidence", patch(`{"linkedResources":[{"id":"#a","type":"Photo","serviceEndpoint":"https://example.org/a.jpg"}]}`), "STALE_REVISION"},
			{"words for people", patch(`{"metadata":{"name":"twelve tonnes"}}`), "STALE_REVISION"},
			{"a name elsewhere", func(id string) error { return patch(`{"externalIds":{"ledger":"` + id + `"}}`)(id) }, "STALE_REVISION"},
			{"an address", patch(`{"services":[{"id":"#a","type":"Data","endpoint":"https://example.org/a"}]}`), "STALE_REVISION"},
			{"a link", patch(`{"linkedEntities":[{"id":"did:ixo:x:1","type":"Household","relationship":"about"}]}`), "STALE_REVISION"},
			{"a right", patch(`{"accordedRights":[{"id":"#r","type":"capability/mintToken"}]}`), "STALE_REVISION"},
			{"an account", patch(`{"accounts":[{"name":"admin","address":"ixo1abc"}]}`), "STALE_REVISION"},
			{"another DID", patch(`{"alsoKnownAs":["did:web:example.org"]}`), "STALE_REVISION"},
			{"an edge", func(id string) error { return second(c.relate(t, "ws", id, "peer", "did:ixo:x:2")) }, "STALE_REVISION"},
			{"another producer", func(id string) error {
				return second(c.relate(t, "ws", id, "producedBy", c.create(t, "ws", entity.Draft{Type: "Stove", Protocol: "did:ixo:protocol/clean-cooking"}).DID))
			}, "STALE_REVISION"},
			{"its owner", func(id string) error {
				return second(c.s.Transfer(as(t, "ws", "owner"), id, "", entity.Transfer{Controller: "did:key:other"}))
			}, ""},
			{"its controllers", patch(`{"controllers":["did:key:owner","did:key:more"]}`), ""},
			{"its life", func(id string) error { return c.transit(t, "ws", id, entity.StatusSuspended) }, ""},
			{"another oracle", func(id string) error { return second(c.relate(t, "ws", id, "verifiedBy", "did:ixo:oracle/d")) }, ""},
			{"another verdict", func(id string) error { return c.say(t, id, "second pending") }, ""},
			{"another verdict that decides", func(id string) error { return c.say(t, id, "second rejected") }, ""},
			{"a credential", func(id string) error {
				if err := c.say(t, id, "second verified"); err != nil {
					return err
				}
				c.create(t, "ws", with(draftOf("credential"), "becameFrom", id))
				return nil
			}, ""},
		} {
			id := c.claim(t, "free", "a")
			read := c.get(t, "ws", id).Revision
			if err := tt.change(id); err != nil {
				t.Fatalf("%s: %+v", tt.name, fault.As(err))
			}
			_, err := c.about(t, "third", id, read, entity.Verdict{Status: "verified"})
			want(t, "after "+tt.name, err, tt.code)
			if strings.HasPrefix(tt.name, "another ") && tt.name != "another DID" || tt.name == "a credential" {
				continue // a verdict, or refused after one; see TestVouchedClaimKeepsItsProducers
			}
			status, stated, refused := "verified", "", ""
			if tt.code != "" {
				status, stated, refused = "pending", "did:key:owner", "ACTIVE_DEPENDANTS"
			}
			id = c.claim(t, "free", "a")
			must(t, c.say(t, id, "second verified"))
			must(t, tt.change(id))
			if e := c.get(t, "ws", id); e.Verification.Status != status || e.StatedBy != stated {
				t.Errorf("after %s the verdict is %+v, and %q has stated it; want it %s", tt.name, e.Verification, e.StatedBy, status)
			}
			id = c.claim(t, "free", "a")
			must(t, c.say(t, id, "second verified"))
			c.create(t, "ws", with(draftOf("credential"), "becameFrom", id))
			want(t, tt.name+" under a credential", tt.change(id), refused)
			if e := c.get(t, "ws", id); e.Verification.Status != "verified" {
				t.Errorf("after %s under a credential the verdict is %+v", tt.name, e.Verification)
			}
		}
	})
}

// Oracles of a quorum who have read the same revision do not wait for each
// other, and the same verdict is stored once.
func TestVerdictsBesideEachOther(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		c := newCourt(t, d)
		id := c.claim(t, "fuel-saved", "a", "b", "c")
		read := c.get(t, "ws", id).Revision
		weighed := entity.Verdict{Status: "verified", Reason: "weighed"}
		for i, who := range []string{"a", "a", "b", "a", "b"} {
			e, err := c.about(t, who, id, read, weighed)
			if err != nil {
				t.Fatalf("%d. %s: %+v", i, who, fault.As(err))
			}
			if n := read + 1 + int64(len(e.Verification.Approvals)-1); e.Revision != n {
				t.Errorf("%d. %s: revision %d, want %d", i, who, e.Revision, n)
			}
		}
		c.stands(t, id, "verified", 0, "a b")
		for _, a := range c.get(t, "ws", id).Verification.Approvals {
			if a.Revision != read {
				t.Errorf("approval = %+v, want one about revision %d", a, read)
			}
		}
		// What came to nothing because somebody else decided is not said again by
		// a request that comes twice.
		must(t, second(c.about(t, "b", id, read, entity.Verdict{Status: "rejected", Reason: "counted"})))
		must(t, second(c.about(t, "a", id, read, weighed)))
		c.stands(t, id, "rejected", 0, "")
		// In other words, or about what there is now, it is another verdict.
		must(t, second(c.about(t, "a", id, read, entity.Verdict{Status: "verified", Reason: "counted"})))
		c.stands(t, id, "pending", 1, "a")
		now := c.get(t, "ws", id).Revision
		must(t, second(c.about(t, "a", id, now, entity.Verdict{Status: "verified", Reason: "counted"})))
		if e := c.get(t, "ws", id); e.Revision != now+1 || e.Verification.Revision != now {
			t.Errorf("revision %d with %+v, want another one about %d", e.Revision, e.Verification, now)
		}
	})
}

// An edge that a claim has no room for in its record is a change of it.
func TestVerdictOfACrowdedClaim(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		c := newCourt(t, d)
		draft := with(draftOf("claim"), "producedBy", c.stove, "verifiedBy", "did:ixo:oracle/a")
		for i := range 98 {
			draft = with(draft, "peer", fmt.Sprintf("did:ixo:x:%d", i))
		}
		draft.Properties = object(`{"kind":"free"}`)
		id := c.create(t, "ws", draft).DID
		must(t, second(c.relate(t, "ws", id, "peer", "did:ixo:x:98")))
		e := c.get(t, "ws", id)
		if !e.MoreRelationships {
			t.Fatalf("the record shows all %d edges", len(e.Relationships))
		}
		stove := c.create(t, "ws", entity.Draft{Type: "Stove", Protocol: "did:ixo:protocol/clean-cooking@1.0.0"}).DID // it names no types of claims
		added, err := c.relate(t, "ws", e.DID, "producedBy", stove)
		must(t, err)
		_, err = c.about(t, "second", e.DID, e.Revision, entity.Verdict{Status: "verified"})
		want(t, "with an edge more", err, "STALE_REVISION")
		read := c.get(t, "ws", e.DID).Revision
		must(t, c.unrelate(t, "ws", e.DID, added.ID))
		_, err = c.about(t, "second", e.DID, read, entity.Verdict{Status: "verified"})
		want(t, "with an edge less", err, "STALE_REVISION")
		read = c.get(t, "ws", e.DID).Revision
		must(t, second(c.relate(t, "ws", stove, "produces", e.DID)))
		_, err = c.about(t, "second", e.DID, read, entity.Verdict{Status: "verified"})
		want(t, "with an edge from the other end", err, "STALE_REVISION")
		must(t, c.judge(t, "ws", e.DID, "verified"))
	})
}

// Of those who change a claim and those who verify what they have read, never
// both succeed.
func TestVerdictRace(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		for i := range 8 {
			id := v.claimed(t)
			must(t, v.amount(t, id, 12))
			read := v.get(t, "ws", id).Revision
			var judged, changed error
			var wg sync.WaitGroup
			wg.Go(func() { _, judged = v.about(t, "second", id, read, entity.Verdict{Status: "verified"}) })
			wg.Go(func() {
				changed = second(v.s.Patch(as(t, "ws", "owner"), id, "*", entity.Change{Merge: []byte(`{"properties":{"amount":{"value":12000,"unit":"kg"}}}`)}))
			})
			wg.Wait()
			must(t, changed)
			e := v.get(t, "ws", id)
			if judged != nil {
				want(t, "a verdict that came second", judged, "STALE_REVISION")
			}
			if e.Verification.Status == "verified" || judged == nil && e.Verification.Status != "pending" {
				t.Errorf("%d: %+v says %s, verdict %v", i, e.Verification, e.Properties.Value, judged)
			}
		}
	})
}
