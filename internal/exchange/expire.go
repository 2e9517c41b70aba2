package exchange

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/file"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// uploadLife is how long an upload may take before its parts are removed.
const uploadLife = 6 * time.Hour

// condemnedLife is how long a condemned file stays for downloads in progress,
// if it is not removed before.
const condemnedLife = time.Hour

// Expire removes orders that were made before a time, the oldest first, each
// after its report. It removes at most limit rows and reports how many. Call it
// until it removes none. Their files were removed long before.
func (s *Service) Expire(ctx context.Context, before time.Time, limit int) (int, error) {
	id, err := oldest(s.db.QueryRow(ctx, oldestText, before.UnixMilli()))
	if err != nil || id == "" {
		return 0, err
	}
	if n, err := removeRows(ctx, s.db, id, limit); err != nil || n > 0 {
		return n, err
	}
	return remove(ctx, s.db, id)
}

// ExpireFiles removes files that are no longer needed: of exports that were last written
// and of dry runs that ended before a time, of imports whose job is over, the remains of
// broken uploads, and cells of reports. It removes at most limit pieces and reports how
// many. Call it until it removes none.
func (s *Service) ExpireFiles(ctx context.Context, before time.Time, limit int) (int, error) {
	if n, err := s.expireCells(ctx, limit); err != nil || n > 0 {
		return n, err
	}
	for kind, old := range map[string]time.Time{file.Export: before, file.Kept: before, file.Upload: s.now().Add(-uploadLife), file.Condemned: s.now().Add(-condemnedLife)} {
		id, err := file.Oldest(ctx, s.db, kind, old.UnixMilli())
		if err != nil {
			return 0, err
		}
		if id != "" {
			return file.Remove(ctx, s.db, id, limit)
		}
	}
	id, err := oldest(s.db.QueryRow(ctx, oldImportText))
	if err != nil || id == "" {
		return 0, err
	}
	return file.Remove(ctx, s.db, id, limit)
}

// Condemn makes the files of exports of a workspace impossible to find, in the
// transaction that erases a person who may be in them. A writer learns of it by
// file.ErrGone.
func (s *Service) Condemn(ctx context.Context, tx *db.Tx, ws string) error {
	_, err := tx.Exec(ctx, condemnText, ws, s.now().UnixMilli())
	return db.Wrap("condemn exports", err)
}

// Forget removes condemned files of a workspace, those of imports that are over,
// and the parameters of its finished exports and migrations, because an erased
// person may be in them. left reports that some are still being sent.
func (s *Service) Forget(ctx context.Context, ws string) (left bool, err error) {
	if _, err := s.db.Exec(ctx, condemnImportsText, ws); err != nil { // these are not downloaded
		return false, fmt.Errorf("condemn imports: %w", err)
	}
	if _, err := s.db.Exec(ctx, forgetCellsText, ws); err != nil {
		return false, fmt.Errorf("forget cells: %w", err)
	}
	if left, err = file.Bury(ctx, s.db, s.flights, ws, s.now()); err != nil {
		return false, err
	}
	after := ""
	for {
		some, err := listOver(ctx, s.db, ws, after)
		if err != nil || len(some) == 0 {
			return left, err
		}
		for i := range some {
			if err := s.blank(ctx, &some[i]); err != nil {
				return false, err
			}
			after = some[i].Job
		}
	}
}

// ForgetAbout removes the files of all exports about one thing, because a part
// of it was removed. Files that are being sent are removed later.
func (s *Service) ForgetAbout(ctx context.Context, ws string, about int64) error {
	now := s.now()
	if _, err := s.db.Exec(ctx, condemnAboutText, ws, now.UnixMilli(), about); err != nil {
		return fmt.Errorf("condemn exports: %w", err)
	}
	_, err := file.Bury(ctx, s.db, s.flights, ws, now)
	return err
}

// searched are the settings of an order that people wrote to find records.
var searched = []string{"filter", "near"}

// blank removes the parameters from an order.
func (s *Service) blank(ctx context.Context, o *Order) error {
	var settings map[string]jsontext.Value
	if err := json.Unmarshal([]byte(o.settings), &settings); err != nil {
		return fmt.Errorf("read order %s: %w", o.Job, err)
	}
	if !slices.ContainsFunc(searched, func(name string) bool { return settings[name] != nil }) {
		return nil
	}
	for _, name := range searched {
		delete(settings, name)
	}
	text, err := web.Encode(settings)
	if err != nil {
		return err
	}
	return updateSettings(ctx, s.db, o.Job, string(text))
}
