package exchange

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/file"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// File returns the file of an export whose job has a status, and until when it
// can be read. It is nil when there is none to read.
func (s *Service) File(ctx context.Context, o *Order, status job.Status) (f *file.File, until time.Time, err error) {
	if status != job.Succeeded {
		return nil, until, nil
	}
	f, err = file.Find(ctx, s.db, o.File)
	if err != nil || f == nil || f.SHA256 == "" {
		return nil, until, err
	}
	until = time.UnixMilli(f.At).Add(FileLife).UTC()
	if s.now().After(until) {
		f = nil
	}
	return f, until, nil
}

// AboutFile describes the download of an export's file for the reference.
const AboutFile = "Ranges are served, so an interrupted download can continue where it stopped (`curl -C -`); texts are compressed for clients that accept gzip."

// Download is the result of File, with the information for its readers.
type Download struct {
	Status    job.Status
	File      *file.File
	MediaType string
	Name      string
}

// Send sends the file of an export, or the requested ranges of it. Faults:
// EXPORT_NOT_READY, EXPORT_EXPIRED.
func (s *Service) Send(w http.ResponseWriter, r *http.Request, d Download) error {
	switch {
	case d.Status != job.Succeeded:
		return fault.New(fault.Conflict, "EXPORT_NOT_READY", "The export has no file: it is "+string(d.Status)+".")
	case d.File == nil:
		return expired()
	}
	ctx := r.Context()
	end, there, err := s.flights.Hold(ctx, s.db, d.File)
	defer end()
	if err != nil {
		return err
	} else if !there {
		return expired()
	}
	h := w.Header()
	h.Set("Content-Type", d.MediaType)
	h.Set("Content-Disposition", fmt.Sprintf(`attachment; filename="%s"`, d.Name))
	content := file.Walk(ctx, s.db, d.File)
	if r.Header.Get("Range") != "" {
		// The way to a place in the file is found before the others get ours.
		if err := content.Survey(ctx, s.db, d.File.ID); err != nil {
			return err
		}
	}
	web.LeavePlace(ctx)
	return web.SendContent(w, r, `"`+d.File.SHA256+`"`, content)
}

func expired() error {
	return fault.New(fault.NotFound, "EXPORT_EXPIRED", "The file of this export has been removed. Export again.")
}
