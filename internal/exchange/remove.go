package exchange

import (
	"context"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/file"
)

// Remove removes the order of a job with its report and its file, if it has any,
// before the job itself is removed. A download of the file ends.
func (s *Service) Remove(ctx context.Context, ws, id string) error {
	o, err := find(ctx, s.db, ws, id)
	if err != nil || o == nil {
		return err
	}
	for {
		n, err := removeRows(ctx, s.db, id, file.Batch)
		if err != nil {
			return err
		}
		if n == 0 {
			break
		}
	}
	if _, err := s.db.Exec(ctx, removeCellsText, id); err != nil {
		return db.Wrap("remove cells of order", err)
	}
	f, err := file.Find(ctx, s.db, o.File)
	if err == nil && f != nil && f.Job == id { // that of a dry run may be another's by now
		err = file.Drop(ctx, s.db, o.File)
	}
	if err != nil {
		return db.Wrap("remove file of order", err)
	}
	_, err = remove(ctx, s.db, id)
	return err
}
