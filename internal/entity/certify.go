package entity

import (
	"context"
	"errors"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity/verdict"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// kindCertify is the job that updates a credential wherever it is shown.
const kindCertify = "entity.certify"

type certifyJob struct {
	DID  string        `json:"did"`
	From verdict.Place `json:"from"`
}

// proofs returns the keeper that updates the records of the caller's workspace
// that show credentials.
func (rv *reviser) proofs(ctx context.Context) verdict.Keeper {
	ws := web.CallerFrom(ctx).Workspace
	return verdict.Keeper{
		Lock: lock,
		Read: func(ctx context.Context, tx *db.Tx, nid int64) (*Entity, error) {
			r, err := findByNID(ctx, tx, ws, nid)
			if err != nil {
				return nil, err
			}
			return r.Entity()
		},
		Show: func(ctx context.Context, tx *db.Tx, nid int64, c Credential, change func(*Entity) bool) error {
			r, err := findByNID(ctx, tx, ws, nid)
			if err != nil {
				return err
			}
			_, err = rv.Mutate(ctx, tx, r, Action{Name: "certify", Data: map[string]any{"credential": c.ID, "status": c.Status}}, func(e *Entity) error {
				if !change(e) {
					return errUnchanged
				}
				return nil
			})
			if errors.Is(err, errUnchanged) {
				return nil
			}
			return err
		},
		Later: func(ctx context.Context, tx *db.Tx, id string, from verdict.Place) error {
			if rv.jobs == nil {
				return nil
			}
			_, err := rv.jobs.Enqueue(ctx, tx, job.Draft{Kind: kindCertify, Payload: certifyJob{id, from}})
			return err
		},
	}
}

// runCertify runs kindCertify. It enqueues the next job when there is more than
// one transaction may do.
func (s *Service) runCertify(ctx context.Context, r *job.Run) error {
	var p certifyJob
	if err := r.Decode(&p); err != nil {
		return err
	}
	return s.db.InTx(ctx, func(tx *db.Tx) error {
		if err := r.Hold(ctx, tx); err != nil {
			return err
		}
		c, err := findForUpdate(ctx, tx, web.CallerFrom(ctx).Workspace, p.DID)
		if err != nil {
			return err
		}
		return s.proofs(ctx).Renew(ctx, tx, c.NID, p.From)
	})
}
