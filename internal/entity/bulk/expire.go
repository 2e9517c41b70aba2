package bulk

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity/bulk/batch"
	"github.com/hearth-dmrv/hearth/internal/entity/bulk/report"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/file"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// uploadLife is how long a file may arrive before what is there of it goes.
const uploadLife = 6 * time.Hour

// condemnedLife is how long a condemned file stays for those who are being sent
// it, if nobody buries it before.
const condemnedLife = time.Hour

// Expire removes at most limit rows of the reports of transfers that were asked
// for before a time, the oldest first, and tells how many. Call it until it
// removes none.
func (s *Service) Expire(ctx context.Context, before time.Time, limit int) (int, error) {
	var id string
	err := s.db.QueryRow(ctx, oldestTransferText, before.UnixMilli()).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	} else if err != nil {
		return 0, fmt.Errorf("find old transfer: %w", err)
	}
	n, err := report.Remove(ctx, s.db, id, limit)
	if err != nil {
		return 0, err
	}
	if n > 0 {
		return n, nil
	}
	gone, err := s.db.Exec(ctx, deleteTransferText, id)
	return int(gone), db.Wrap("remove transfer", err)
}

// ExpireFiles removes files nobody needs any more: of exports that were
// finished before a time, of imports whose job is over, and what is left of
// uploads that were broken off. It removes at most limit pieces, and tells how
// much went. Call it until it removes none.
func (s *Service) ExpireFiles(ctx context.Context, before time.Time, limit int) (int, error) {
	for kind, old := range map[string]time.Time{file.Export: before, file.Upload: s.cfg.Now().Add(-uploadLife), file.Condemned: s.cfg.Now().Add(-condemnedLife)} {
		id, err := file.Oldest(ctx, s.db, kind, old.UnixMilli())
		if err != nil {
			return 0, err
		}
		if id != "" {
			return file.Remove(ctx, s.db, id, limit)
		}
	}
	var after file.File
	for {
		files, err := file.List(ctx, s.db, file.Import, after)
		if err != nil {
			return 0, err
		}
		for _, f := range files {
			over, err := s.over(ctx, f.Workspace, f.Job)
			if err != nil {
				return 0, err
			}
			if over {
				return file.Remove(ctx, s.db, f.ID, limit)
			}
			after = f
		}
		if len(files) == 0 {
			return 0, nil
		}
	}
}

// ExpireBatches removes at most limit results of batches that were kept for
// their Idempotency-Key since before a time.
func (s *Service) ExpireBatches(ctx context.Context, before time.Time, limit int) (int, error) {
	return batch.Expire(ctx, s.db, before.UnixMilli(), limit)
}

// condemnExports leaves those that nobody has begun to write.
const condemnExports = `UPDATE transfer_files SET kind = 'condemned', at = $2 WHERE ws = $1 AND kind = 'export'
	AND (sha256 <> '' OR bytes > 0 OR EXISTS (SELECT 1 FROM jobs j WHERE j.id = transfer_files.job AND j.status = 'running'))`

// Condemn has nobody find the files of exports of a workspace, in the
// transaction that erases somebody who may be in them. An export that runs ends
// with EXPORT_INTERRUPTED.
func (s *Service) Condemn(ctx context.Context, tx *db.Tx, ws string) error {
	_, err := tx.Exec(ctx, condemnExports, ws, s.cfg.Now().UnixMilli())
	return db.Wrap("condemn exports", err)
}

// Forget removes condemned files of a workspace, those of imports that are over,
// and what its finished exports and migrations looked for: somebody was erased,
// and may be in them. left says that some are still being sent.
func (s *Service) Forget(ctx context.Context, ws string) (left bool, err error) {
	if err := s.condemnImports(ctx, ws); err != nil {
		return false, err
	}
	if left, err = file.Bury(ctx, s.db, s.cfg.Flights, ws, s.cfg.Now()); err != nil {
		return false, err
	}
	after := ""
	for {
		some, err := listTransfers(ctx, s.db, ws, after)
		if err != nil || len(some) == 0 {
			return left, err
		}
		for i := range some {
			if err := s.forgetFilter(ctx, &some[i]); err != nil {
				return false, err
			}
			after = some[i].job
		}
	}
}

// condemnImports condemns the files of imports whose jobs are over.
func (s *Service) condemnImports(ctx context.Context, ws string) error {
	ids, err := file.Of(ctx, s.db, ws, file.Import)
	if err != nil {
		return err
	}
	for _, id := range ids {
		f, err := file.Find(ctx, s.db, id)
		if err != nil || f == nil {
			return err
		}
		over, err := s.over(ctx, ws, f.Job)
		if err != nil {
			return err
		}
		if !over {
			continue
		}
		if err := file.Condemn(ctx, s.db, id, time.UnixMilli(0)); err != nil { // nobody is sent an import
			return err
		}
	}
	return nil
}

// searched are the settings of a transfer that people wrote to find twins.
var searched = []string{"filter", "near"}

// forgetFilter blanks what a transfer looked for, once it is over.
func (s *Service) forgetFilter(ctx context.Context, t *transfer) error {
	var settings map[string]jsontext.Value
	if err := decodeJSON(t.settings, &settings); err != nil {
		return err
	}
	if !slices.ContainsFunc(searched, func(name string) bool { return settings[name] != nil }) {
		return nil
	}
	over, err := s.over(ctx, t.ws, t.job)
	if err != nil || !over {
		return err
	}
	for _, name := range searched {
		delete(settings, name)
	}
	text, err := web.Encode(settings)
	if err != nil {
		return err
	}
	_, err = s.db.Exec(ctx, updateSettingsText, t.job, string(text))
	return db.Wrap("blank transfer", err)
}

// over tells whether the job of a transfer has ended.
func (s *Service) over(ctx context.Context, ws, id string) (bool, error) {
	j, err := s.cfg.Jobs.Get(web.WithCaller(ctx, web.Caller{Workspace: ws}), id)
	if fault.KindOf(err) == fault.NotFound {
		return true, nil
	}
	return err == nil && j.Status.Final(), err
}
