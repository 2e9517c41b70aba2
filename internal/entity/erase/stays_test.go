package erase_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/entity/erase"
	"github.com/hearth-dmrv/hearth/internal/event"
)

// said reports whether one of the sentences begins so.
func said(c erase.Certificate, begin string) bool {
	return slices.ContainsFunc(c.Stays, func(s string) bool { return strings.HasPrefix(s, begin) })
}

// TestStaysOfTwin: what the certificate says of a twin is there afterwards.
func TestStaysOfTwin(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d)
		ctx := r.owner(t)
		id := r.live(ctx, t, 1)
		other := r.create(ctx, t, `{"type":"x","protocol":"did:ixo:protocol/person","properties":{"name":"A"},"relationships":[{"role":"household","target":"`+id+`"}]}`)
		stove := r.create(ctx, t, `{"type":"x","protocol":"did:ixo:protocol/clean-cooking","relationships":[{"role":"household","target":"`+id+`"}]}`)
		before, was := r.record(ctx, t, id)
		c, text, _ := r.run(ctx, t, id)
		for _, begin := range []string{
			"Its twin stays ", "Its revisions stay ", "Its relationships to projects", "Readings ", "Events about it stay ", "What was written ", "Backups ", "This certificate stays",
		} {
			if !said(c, begin) {
				t.Errorf("stays = %q, want a sentence that begins with %q", c.Stays, begin)
			}
		}
		row, e := r.record(ctx, t, id)
		if e.Type != was.Type || e.Protocol != was.Protocol || e.Owner != was.Owner || e.Controller != was.Controller || !e.Created.Equal(was.Created) ||
			e.CreatedBy != was.CreatedBy || e.UpdatedBy == "" || e.Verification.Status != was.Verification.Status || was.Verification.Status != "verified" {
			t.Errorf("twin = %s, want what the certificate names", row.Body)
		}
		count := func(what string, want int64, query string, args ...any) {
			t.Helper()
			var n int64
			if err := d.QueryRow(ctx, query, args...).Scan(&n); err != nil || n != want {
				t.Errorf("%s = %d, %v, want %d", what, n, err, want)
			}
		}
		count("revisions", before.Revision, `SELECT count(*) FROM entity_history WHERE nid = $1 AND at > 0 AND actor <> '' AND length(hash) = 32`, row.NID)
		count("relationships", 1, `SELECT count(*) FROM relationships WHERE dst = $1 AND src = (SELECT nid FROM entities WHERE did = $2) AND removed_at IS NULL`, row.NID, stove)
		count("ended relationships", 1, `SELECT count(*) FROM relationships WHERE dst = $1 AND src = (SELECT nid FROM entities WHERE did = $2) AND removed_at IS NOT NULL`, row.NID, other)
		checkEvents(ctx, t, r, id)
		if body, err := r.erase.Get(ctx, c.ID); err != nil || string(body) != text {
			t.Errorf("certificate = %s, %v", body, err)
		}
	})
}

// checkEvents: events about a subject have kept who and when, and nothing else.
func checkEvents(ctx context.Context, t *testing.T, r *rig, id string) {
	t.Helper()
	b, err := r.events.Read(ctx, event.Query{Workspace: "default", Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, it := range b.Items {
		if it.Subject != id {
			continue
		}
		n++
		if it.Type == "" || it.Time.IsZero() || it.Actor == "" || !it.Data.IsZero() {
			t.Errorf("event = %+v, want type, time and actor only", it)
		}
	}
	if n < 3 {
		t.Errorf("events = %d, want those of its life", n)
	}
}

// TestStaysOfParts: a part speaks in the certificate once it has erased
// something, and in later ones too.
func TestStaysOfParts(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		found := map[string]int64{}
		part := func(name string) erase.Eraser {
			return erase.Eraser{Name: name, Erase: func(context.Context, *db.Tx, string, string) (int64, error) { return found[name], nil }}
		}
		r := newRig(t, d, part("Lists"), part("Answers"))
		ctx := r.owner(t)
		const nobody = "did:ixo:household/only-listed"
		for _, tt := range []struct {
			name, subject  string
			lists, answers int64
			says, not      []string
		}{
			{"one part", nobody, 1, 0, []string{"Lists stay.", "Backups "}, []string{"Answers stay.", "Its twin "}},
			{"the other later", nobody, 0, 2, []string{"Lists stay.", "Answers stay."}, []string{"Its twin "}},
			{"the other once more", nobody, 0, 1, []string{"Lists stay.", "Answers stay."}, []string{"Its twin "}},
			{"a twin", r.create(ctx, t, household(1)), 0, 0, []string{"Its twin "}, []string{"Lists stay.", "Answers stay."}},
		} {
			found["Lists"], found["Answers"] = tt.lists, tt.answers
			c, _, fresh := r.run(ctx, t, tt.subject)
			if !fresh {
				t.Errorf("%s: not fresh", tt.name)
			}
			for _, s := range tt.says {
				if !said(c, s) {
					t.Errorf("%s: stays = %q, want %q", tt.name, c.Stays, s)
				}
			}
			for _, s := range tt.not {
				if said(c, s) {
					t.Errorf("%s: stays = %q, does not want %q", tt.name, c.Stays, s)
				}
			}
		}
	})
}
