package quality

import (
	"context"
	"fmt"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// sweep asks for a run of every active survey that has new responses.
func (s *Service) sweep(ctx context.Context, j *job.Run) error {
	const page = 100
	for at := (active{}); ; {
		surveys, err := listActive(ctx, s.db, at, page)
		if err != nil {
			return err
		}
		for _, a := range surveys {
			at = a
			if err := s.sweepOne(web.WithCaller(ctx, web.Caller{Workspace: a.ws}), j, a); err != nil {
				return err
			}
		}
		if len(surveys) < page {
			return nil
		}
	}
}

func (s *Service) sweepOne(ctx context.Context, j *job.Run, a active) error {
	p, err := s.scope(ctx, a.id, 0)
	if fault.KindOf(err) == fault.NotFound || err == nil && p.until == 0 {
		return nil // deleted meanwhile, or empty
	} else if err != nil {
		return err
	}
	old, err := findRound(ctx, s.db, p.o.NID, p.round)
	if err != nil || old.newest >= p.until {
		return err
	}
	return s.db.InTx(ctx, func(tx *db.Tx) error {
		if err := j.Hold(ctx, tx); err != nil {
			return err
		}
		// The same responses are not looked at twice.
		_, err := s.enqueue(ctx, tx, p, fmt.Sprintf("sweep:%d:%d:%d", p.o.NID, p.round, p.until))
		return err
	})
}
