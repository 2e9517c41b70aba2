package export

import (
	"context"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/file"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Expire removes at most limit exports that were asked for before a time, the
// oldest first, and tells how many. Call it until it removes none. Their files
// are gone long before.
func (s *Service) Expire(ctx context.Context, before time.Time, limit int) (int, error) {
	n, err := s.db.Exec(ctx, expireExports, before.UnixMilli(), limit)
	return int(n), db.Wrap("remove exports", err)
}

// ExpireFiles removes the files of exports that were written last before a
// time, at most limit pieces, and tells how much went. Call it until it removes
// none.
func (s *Service) ExpireFiles(ctx context.Context, before time.Time, limit int) (int, error) {
	id, err := file.Oldest(ctx, s.db, kindExport, before.UnixMilli())
	if err != nil || id == "" {
		return 0, err
	}
	return file.Remove(ctx, s.db, id, limit)
}

// Condemn has nobody find the files of exports of a workspace, in the
// transaction that erases somebody who may be in them. An export that runs begins
// anew.
func (s *Service) Condemn(ctx context.Context, tx *db.Tx, ws string) error {
	if err := file.CondemnWhole(ctx, tx, ws, kindExport, s.cfg.Now()); err != nil {
		return err
	}
	return file.Restart(ctx, tx, ws, kindExport)
}

// Forget blanks what finished exports of a workspace looked for: somebody was
// erased, and may be named in it.
func (s *Service) Forget(ctx context.Context, ws string) error {
	after := ""
	for {
		some, err := list(ctx, s.db, ws, after)
		if err != nil || len(some) == 0 {
			return err
		}
		for i := range some {
			if err := s.forgetFilter(ctx, &some[i]); err != nil {
				return err
			}
			after = some[i].job
		}
	}
}

// ForgetSurvey removes the files of all exports of a survey: a response in them
// was taken out. An export that runs begins anew.
func (s *Service) ForgetSurvey(ctx context.Context, o *survey.Open) error {
	for after := ""; ; {
		list, err := filesOf(s.db.Query(ctx, listFiles, o.Workspace, o.NID, after))
		if err != nil {
			return err
		}
		if len(list) == 0 {
			_, err := file.Bury(ctx, s.db, s.cfg.Flights, o.Workspace, s.cfg.Now()) // what is being sent goes later
			return err
		}
		for _, one := range list {
			if err := s.condemn(ctx, one.file); err != nil {
				return err
			}
			after = one.job
		}
	}
}

// condemn has nobody find a file; one that is still written begins anew.
func (s *Service) condemn(ctx context.Context, id string) error {
	f, err := file.Find(ctx, s.db, id)
	if err != nil || f == nil {
		return err
	}
	if f.SHA256 == "" {
		return file.Drop(ctx, s.db, id)
	}
	return file.Condemn(ctx, s.db, id, s.cfg.Now())
}

// forgetFilter blanks what an export looked for, once it is over.
func (s *Service) forgetFilter(ctx context.Context, e *stored) error {
	var d settings
	if err := json.Unmarshal([]byte(e.settings), &d); err != nil {
		return fmt.Errorf("read export %s: %w", e.job, err)
	}
	if d.Filter == "" {
		return nil
	}
	j, err := s.cfg.Jobs.Get(web.WithCaller(ctx, web.Caller{Workspace: e.ws}), e.job)
	if err != nil && fault.KindOf(err) != fault.NotFound || err == nil && !j.Status.Final() {
		return err
	}
	d.Filter = ""
	text, err := web.Encode(d)
	if err != nil {
		return err
	}
	_, err = s.db.Exec(ctx, updateSettings, e.job, string(text))
	return db.Wrap("blank export", err)
}
