package relationship

import (
	"context"
	"database/sql"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity/twin"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Timeline lists when the relationships of twins began and ended, each direction
// separately.
type Timeline struct{ DB *db.DB }

const (
	beganOut = `SELECT added_at, nid, src, src_did, dst_did, role, mirror, since, added_by, '' FROM relationships
		WHERE src = $1 AND (added_at, nid) < ($2, $3) ORDER BY added_at DESC, nid DESC LIMIT $4`
	beganIn = `SELECT added_at, nid, src, src_did, dst_did, role, mirror, since, added_by, '' FROM relationships
		WHERE dst = $1 AND src <> $1 AND (added_at, nid) < ($2, $3) ORDER BY added_at DESC, nid DESC LIMIT $4`
	endedOut = `SELECT removed_at, nid, src, src_did, dst_did, role, mirror, since, removed_by, reason FROM relationships
		WHERE src = $1 AND removed_at IS NOT NULL AND (removed_at, nid) < ($2, $3) ORDER BY removed_at DESC, nid DESC LIMIT $4`
	endedIn = `SELECT removed_at, nid, src, src_did, dst_did, role, mirror, since, removed_by, reason FROM relationships
		WHERE dst = $1 AND src <> $1 AND removed_at IS NOT NULL AND (removed_at, nid) < ($2, $3) ORDER BY removed_at DESC, nid DESC LIMIT $4`
)

// BeganOut lists relationships from a twin by when they were added, ended ones
// too. A claim that the twin produced is one of them.
func (t Timeline) BeganOut(ctx context.Context, l web.Look) ([]web.Happening, error) {
	rows, err := t.DB.Query(ctx, beganOut, l.NID, l.Below.At, l.Below.Key, l.Limit)
	return happenings(rows, err, "began", l)
}

// BeganIn is BeganOut for relationships of others to a twin.
func (t Timeline) BeganIn(ctx context.Context, l web.Look) ([]web.Happening, error) {
	rows, err := t.DB.Query(ctx, beganIn, l.NID, l.Below.At, l.Below.Key, l.Limit)
	return happenings(rows, err, "began", l)
}

// EndedOut lists relationships from a twin by when they were removed.
func (t Timeline) EndedOut(ctx context.Context, l web.Look) ([]web.Happening, error) {
	rows, err := t.DB.Query(ctx, endedOut, l.NID, l.Below.At, l.Below.Key, l.Limit)
	return happenings(rows, err, "ended", l)
}

// EndedIn is EndedOut for relationships of others to a twin.
func (t Timeline) EndedIn(ctx context.Context, l web.Look) ([]web.Happening, error) {
	rows, err := t.DB.Query(ctx, endedIn, l.NID, l.Below.At, l.Below.Key, l.Limit)
	return happenings(rows, err, "ended", l)
}

func happenings(rows db.Rows, err error, kind string, l web.Look) ([]web.Happening, error) {
	return db.Collect(rows, err, "list relationships of a time line", func(h *web.Happening, row db.Row) error {
		var src int64
		var srcDID, dstDID string
		var mirror, since sql.NullInt64
		if err := row.Scan(&h.Mark.At, &h.Mark.Key, &src, &srcDID, &dstDID, &h.Role, &mirror, &since, &h.Actor, &h.Reason); err != nil {
			return err
		}
		h.Kind, h.ID, h.Since, h.Direction, h.Other = kind, ID(h.Mark.Key), Moment(since), "out", dstDID
		if src != l.NID {
			h.Direction, h.Other = "in", srcDID
			if word := Inverse(h.Role); mirror.Valid && word != "" {
				h.Role = word
			}
		}
		h.Link = twin.Address(l.DID) + "/relationships/" + h.ID
		if kind == "ended" {
			h.Link = twin.Address(h.Other) // the relationship is not there to be read
		} else if h.Role == Produces && h.Direction == "out" {
			h.Kind = "claim"
		}
		return nil
	})
}
