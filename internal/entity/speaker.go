package entity

import (
	"context"
	"slices"

	"github.com/hearth-dmrv/hearth/internal/db"
)

// Speakers decides who may change which keys speak for a twin. Control of a
// twin is the right to change its record, never to act as the person it
// describes.
type Speakers interface {
	// MayChange returns nil when the caller may change who speaks for a twin.
	MayChange(ctx context.Context, q db.Querier, ws, id string) error
	// MayName reports whether the caller may make a twin under a DID it has chosen,
	// so that nobody publishes a principal's document in its place.
	MayName(ctx context.Context, q db.Querier, ws, id string) (bool, error)
	// Changed is called in the transaction of a change.
	Changed(ctx context.Context, tx *db.Tx, c Speaking) error
}

// Speaking is how a revision changes who speaks for a twin.
type Speaking struct {
	Workspace, DID string
	Came, Gone     []string // did:keys
	Left           bool     // a controller, or the owner, was removed
	Controllers    []string // that it has now
	Erased         bool     // nothing must be kept
}

// speakingOf compares two revisions; nil when the same keys, controllers and
// owner speak for both. Nobody speaks for a deactivated twin.
func speakingOf(ws string, before, e *Entity) *Speaking {
	was, now := before.Keys(), e.Keys()
	if e.Status == StatusDeactivated {
		now = nil
	}
	p := &Speaking{Workspace: ws, DID: e.DID, Came: without(now, was), Gone: without(was, now), Controllers: e.Controllers}
	p.Left = before.Owner != e.Owner || len(without(before.Controllers, e.Controllers)) > 0
	same := len(p.Came)+len(p.Gone) == 0 && !p.Left && len(without(e.Controllers, before.Controllers)) == 0 &&
		(e.Status == StatusDeactivated) == (before.Status == StatusDeactivated)
	if same {
		return nil
	}
	return p
}

// without lists the members of a that b lacks.
func without(a, b []string) []string {
	var out []string
	for _, s := range a {
		if !slices.Contains(b, s) {
			out = append(out, s)
		}
	}
	return out
}

// maySpeak checks that the caller may make a revision that changes who speaks
// for a twin. The right to erase is checked elsewhere.
func (rv *reviser) maySpeak(ctx context.Context, q db.Querier, rev *revision) error {
	if rv.speakers == nil || rev.speaks == nil || rev.act.Event == "entity.erased" {
		return nil
	}
	return rv.speakers.MayChange(ctx, q, rev.old.Workspace, rev.old.DID)
}

// noteCame notes the keys that a twin is made with. No key speaks for a DID that
// a client has chosen: it may be somebody else's.
func (rv *reviser) noteCame(ctx context.Context, tx *db.Tx, p *Prepared, row *Row) error {
	keys := p.entity.Keys()
	if p.chosen || rv.speakers == nil || len(keys) == 0 {
		return nil
	}
	return rv.speakers.Changed(ctx, tx, Speaking{Workspace: row.Workspace, DID: row.DID, Came: keys})
}

// noteSpeakers notes the keys that a revision added to a row and removed from
// it.
func (rv *reviser) noteSpeakers(ctx context.Context, tx *db.Tx, nid int64, p *Speaking) error {
	if p == nil || rv.speakers == nil || len(p.Came)+len(p.Gone) == 0 && !p.Left {
		return nil
	}
	if chosen, err := findChosen(ctx, tx, nid); err != nil || chosen {
		return err
	}
	return rv.speakers.Changed(ctx, tx, *p)
}
