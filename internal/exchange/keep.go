package exchange

import (
	"context"
	"errors"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/file"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// maxKept is how many files of dry runs a workspace keeps at once; the oldest
// goes first.
const maxKept = 20

const oldKeptText = `SELECT id FROM transfer_files WHERE ws = $1 AND kind = 'kept' ORDER BY at DESC, id DESC LIMIT 1 OFFSET $2`

// Keep keeps the file of a dry run for a day, so that it can be imported
// without being sent again. It is removed when a person is erased who may be in
// it.
func (s *Service) Keep(ctx context.Context, o *Order) error {
	f, err := file.Find(ctx, s.db, o.File)
	if err != nil || f == nil || f.Job != o.Job {
		return err
	}
	f.Kind, f.At = file.Kept, s.now().UnixMilli()
	err = s.db.InTx(ctx, func(tx *db.Tx) error { return file.Update(ctx, tx, f) })
	if errors.Is(err, file.ErrGone) {
		return nil
	} else if err != nil {
		return err
	}
	for {
		id, err := oldest(s.db.QueryRow(ctx, oldKeptText, o.Workspace, maxKept))
		if err != nil || id == "" {
			return err
		}
		if err := file.Drop(ctx, s.db, id); err != nil {
			return err
		}
	}
}

// Again begins an import of the file that a dry run of the caller has kept. The
// file then belongs to the import. Faults: DRY_RUN_ONLY, FILE_GONE.
func (s *Service) Again(ctx context.Context, tx *db.Tx, dry Listed, o Order, settings any) (web.Reply[job.Job], error) {
	var none web.Reply[job.Job]
	if dry.Of.CreatedBy != web.CallerFrom(ctx).DID {
		return none, fault.New(fault.Forbidden, "DRY_RUN_ONLY", "Somebody else has sent this file. Only the caller who asked for the dry run can import it.")
	}
	if dry.Of.Status != job.Succeeded && dry.Of.Status != job.CompletedWithErrors {
		return none, fault.New(fault.Conflict, "DRY_RUN_ONLY", "The dry run has not ended well: it is "+string(dry.Of.Status)+".")
	}
	f, err := file.Find(ctx, tx, dry.Order.File)
	if err != nil {
		return none, err
	}
	if f == nil || f.Kind != file.Kept {
		return none, fault.New(fault.Conflict, "FILE_GONE", "The file of this dry run has been removed, or was imported already. Send it again.")
	}
	return s.BeginImport(ctx, tx, o, f, settings)
}
