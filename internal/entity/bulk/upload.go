package bulk

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/exchange"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/file"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// upload stores a body and returns the file, which belongs to no job yet. When
// it fails nothing is left; after a crash the sweep removes what is.
func (s *Service) upload(ctx context.Context, w http.ResponseWriter, r *http.Request) (*file.File, error) {
	if r.ContentLength > MaxImport {
		w.Header().Set("Connection", "close") // nobody waits for the rest
		return nil, bodyTooLarge()
	}
	f := &file.File{ID: db.NewID(), Workspace: web.CallerFrom(ctx).Workspace, Kind: file.Upload, At: s.cfg.Now().UnixMilli()}
	if err := s.db.InTx(ctx, func(tx *db.Tx) error { return exchange.AddFile(ctx, tx, f) }); err != nil {
		return nil, err
	}
	err := bodyFault(file.Receive(ctx, s.db, f, http.MaxBytesReader(w, r.Body, MaxImport)))
	if err == nil && f.Bytes == 0 {
		err = fault.New(fault.Invalid, "BODY_REQUIRED", "The body must be the file to import.")
	}
	if err != nil {
		// The caller may have left; what it sent must go all the same.
		return nil, errors.Join(err, file.Drop(context.WithoutCancel(ctx), s.db, f.ID))
	}
	return f, nil
}

func bodyTooLarge() error {
	return fault.New(fault.TooLarge, "BODY_TOO_LARGE", fmt.Sprintf("The body is larger than %d bytes.", MaxImport))
}

// bodyFault names what went wrong with a body. Faults of the store are ones
// already.
func bodyFault(err error) error {
	var large *http.MaxBytesError
	switch {
	case err == nil || fault.As(err) != nil:
		return err
	case errors.As(err, &large):
		return bodyTooLarge()
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fault.New(fault.TooSlow, "BODY_TOO_SLOW", "The body did not arrive in time.").Wrap(err)
	}
	return fault.New(fault.Invalid, "BODY_UNREADABLE", "The body could not be read to its end.").Wrap(err)
}
