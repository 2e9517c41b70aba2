package protocol

import (
	"context"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Delete removes a draft: version, or the newest draft when it is empty. A
// protocol without a version is removed. No twin is made from a draft, so none
// depends on it. Faults: PROTOCOL_NOT_FOUND, PROTOCOL_PUBLISHED,
// PROTOCOL_CHANGED and those of web.CheckMatch.
func (s *Service) Delete(ctx context.Context, id, version, ifMatch string) (*Record, error) {
	ws, err := writer(ctx)
	if err != nil {
		return nil, err
	}
	r, err := s.draftOf(ctx, ws, id, version)
	if err != nil {
		return nil, err
	}
	if err := web.CheckMatch(ifMatch, r.Revision); err != nil {
		return nil, err
	}
	err = s.db.InTx(ctx, func(tx *db.Tx) error {
		h, err := lock(ctx, tx, ws, id, s.now().UnixMilli())
		if err != nil {
			return err
		}
		gone, err := removeDraft(ctx, tx, ws, r)
		if err != nil {
			return err
		}
		if !gone {
			return lost(ctx, tx, ws, r)
		}
		all, err := steps(ctx, tx, ws, id)
		if err != nil {
			return err
		}
		if best, left := choose(all); left {
			h.version, h.versions = best.version, h.versions-1
			err = h.save(ctx, tx, ws, id)
		} else {
			err = remove(ctx, tx, ws, id)
		}
		if err != nil {
			return err
		}
		return s.record(ctx, tx, ws, "protocol.deleted", r)
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}
