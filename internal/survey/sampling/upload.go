package sampling

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/exchange"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/file"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/once"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// FileKind is the kind of jobs that freeze a frame from an uploaded file.
const FileKind = "sampling.frame-file"

// maxFile is the most bytes of such a file: five million households.
const maxFile = 512 << 20

// fileJob is what a job is asked for.
type fileJob struct {
	Design string `json:"designId"`
	Frame  int64  `json:"frame"`
}

// serveFrameFile takes a frame whose file is the body.
func (s *frames) serveFrameFile(w http.ResponseWriter, req *http.Request) error {
	in, err := web.Bind[ofDesign](req)
	if err != nil {
		return err
	}
	ctx := req.Context()
	r, err := find(ctx, s.db, in.ID)
	if err != nil {
		return err
	}
	if err := mayName(ctx, r.Units); err != nil {
		return err
	}
	return exchange.Take(s.cfg.Exchange, w, req, maxFile, func(sent *file.File) (web.Reply[*api.SampleFrame], error) {
		return s.begin(ctx, r, sent)
	})
}

// begin enqueues the job of a file that has arrived.
func (s *frames) begin(ctx context.Context, r *designRow, sent *file.File) (web.Reply[*api.SampleFrame], error) {
	var none web.Reply[*api.SampleFrame]
	f := &frameRow{nid: s.db.NewNID(), design: r.nid}
	f.SampleFrame = api.SampleFrame{
		FrameID: name("frm_", f.nid), DesignID: r.DesignID, State: "building", Units: r.Units, By: web.CallerFrom(ctx).DID, FileHash: sent.SHA256,
	}
	body, err := json.Marshal(f.SampleFrame)
	if err != nil {
		return none, fmt.Errorf("encode frame: %w", err)
	}
	return once.Do(ctx, s.cfg.Idem, func(tx *db.Tx) (web.Reply[*api.SampleFrame], error) {
		if _, err := tx.Exec(ctx, insertFrame, f.nid, f.design, f.State, "", string(body)); err != nil {
			return none, fmt.Errorf("insert frame: %w", err)
		}
		j, err := s.cfg.Exchange.BeginImport(ctx, tx, exchange.Order{Kind: FileKind, Path: r.Links.Frame}, sent, fileJob{r.DesignID, f.nid})
		return web.Reply[*api.SampleFrame]{Value: &f.SampleFrame, Status: http.StatusAccepted, Location: j.Location, ETag: j.ETag}, err
	})
}

// runFile freezes a frame from its file. When resumed it starts over: the same
// file gives the same pieces.
func (s *frames) runFile(ctx context.Context, j *job.Run) error {
	var in fileJob
	o, err := s.cfg.Exchange.Of(ctx, j, &in, &struct{}{})
	if err != nil {
		return err
	}
	err = s.freezeAs(ctx, j, in.Design, in.Frame, func(*designRow, *frameRow) ([]Row, error) {
		sent, err := file.Find(ctx, s.db, o.File)
		if err != nil {
			return nil, err
		}
		if sent == nil {
			return nil, fault.New(fault.Invalid, "FILE_GONE", "The file of this frame has been removed.")
		}
		return readFile(io.NewSectionReader(file.Walk(ctx, s.db, sent), 0, sent.Bytes))
	})
	if err == nil || fault.CodeOf(err) != "" { // the file has served
		err = errors.Join(err, file.Drop(ctx, s.db, o.File))
	}
	return err
}
