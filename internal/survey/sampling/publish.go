package sampling

import (
	"context"
	"fmt"
	"net/http"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// VerifyKind is the kind of jobs that repeat a large draw.
const VerifyKind = "sampling.verify"

// published is a finished draw in its published form, without its frame. Faults:
// DESIGN_NOT_FOUND, SAMPLE_DRAW_NOT_FOUND, SAMPLE_DRAW_STATE_INVALID,
// SCOPE_MISSING.
func (s *proofs) published(ctx context.Context, w Which) (*api.SampleRecord, *drawRow, error) {
	v, d, err := s.which(ctx, w)
	if err != nil {
		return nil, nil, err
	}
	if d.State != drawn {
		return nil, nil, wrongState(d, drawn)
	}
	if err := mayProve(ctx, d.Units); err != nil {
		return nil, nil, err
	}
	rec := &api.SampleRecord{Format: Format, Design: *v, Draw: d.SampleDraw, Units: []api.SampleUnit{}}
	if len(d.Entries) == 0 {
		rec.Format = firstFormat
	}
	if rec.Draw.Earlier, err = s.earlier(ctx, s.db, d); err != nil {
		return nil, nil, err
	}
	for i := range rec.Draw.Entries {
		e := &rec.Draw.Entries[i]
		e.Seq, err = s.cfg.Events.Number(ctx, event.Event{Workspace: web.CallerFrom(ctx).Workspace, Type: e.Type, Subject: e.Subject, At: e.Time, Data: jsontext.Value(e.Data)})
		if err != nil {
			return nil, nil, err
		}
	}
	for after := 0; ; {
		rows, err := scanDrawn(s.db.Query(ctx, listDrawn, d.nid, after, 1000))
		if err != nil {
			return nil, nil, err
		}
		for _, one := range rows {
			if after = one.Place; one.State != "reserve" {
				rec.Units = append(rec.Units, one.SampleUnit)
			}
		}
		if len(rows) < 1000 {
			return rec, d, nil
		}
	}
}

// Verify makes a draw again. Faults: those of published, and
// VERIFY_IN_JOB for a large frame.
func (s *proofs) Verify(ctx context.Context, w Which) (*api.SampleCheck, error) {
	rec, d, err := s.published(ctx, w)
	if err != nil {
		return nil, err
	}
	if d.Population > inRequest {
		return nil, fault.New(fault.Conflict, "VERIFY_IN_JOB", "The frame is large. Have a job verify the draw with POST …/verify, or fetch the record and run: hearth sample verify FILE")
	}
	return s.verify(ctx, rec, d)
}

func (s *proofs) verify(ctx context.Context, rec *api.SampleRecord, d *drawRow) (*api.SampleCheck, error) {
	sum := newHasher()
	if err := pieces(ctx, s.db, d.frame, func(lines string) error { sum.add(lines); return nil }); err != nil {
		return nil, err
	}
	return Verify(rec, sum.String(), unitsOf(ctx, s.db, d.frame)), nil
}

// VerifyLater has a job verify a draw. Faults are those of published.
func (s *proofs) VerifyLater(ctx context.Context, w Which) (web.Reply[job.Job], error) {
	var reply web.Reply[job.Job]
	_, d, err := s.published(ctx, w)
	if err != nil {
		return reply, err
	}
	err = s.db.InTx(ctx, func(tx *db.Tx) error {
		j, err := s.cfg.Jobs.Enqueue(ctx, tx, job.Draft{Kind: VerifyKind, Payload: drawJob{d.DrawID}, About: drawPath(d.DrawID)})
		if err == nil {
			reply, err = s.cfg.Jobs.Accepted(ctx, tx, j)
		}
		return err
	})
	return reply, err
}

func (s *proofs) runVerify(ctx context.Context, j *job.Run) error {
	var in drawJob
	if err := j.Decode(&in); err != nil {
		return err
	}
	rec, d, err := s.published(ctx, Which{Draw: in.Draw})
	if err != nil {
		return permanent(err)
	}
	got, err := s.verify(ctx, rec, d)
	if err == nil {
		j.SetResult(got)
	}
	return err
}

// serveRecord sends the published record, the frame piece by piece.
func (s *proofs) serveRecord(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	rec, d, err := s.published(ctx, Which{Draw: r.PathValue("drawId"), Design: r.PathValue("designId")})
	if err != nil {
		return err
	}
	head, err := json.Marshal(rec)
	if err != nil {
		return fmt.Errorf("encode record: %w", err)
	}
	const tail = `,"frame":""}`
	head = head[:len(head)-len(tail)]
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Disposition", `attachment; filename="`+d.DrawID+`.json"`)
	if _, err := w.Write(append(head, `,"frame":"`...)); err != nil {
		return nil // the client has left
	}
	return s.writeFrame(ctx, d.frame, func(lines string) error { return writeEscaped(w, lines) }, func() error {
		_, err := w.Write([]byte(`"}`))
		return err
	})
}

// serveFrame sends the published frame as CSV.
func (s *proofs) serveFrame(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	row, err := find(ctx, s.db, r.PathValue("designId"))
	if err != nil {
		return err
	}
	f, err := findFrame(ctx, s.db, row.nid, r.URL.Query().Get("frameId"))
	if err != nil {
		return err
	}
	if f.State != "frozen" {
		return noFrame()
	}
	if err := mayProve(ctx, f.Units); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	w.Header().Set("ETag", `"`+f.Hash+`"`)
	return s.writeFrame(ctx, f.nid, func(lines string) error { _, err := w.Write([]byte(lines)); return err }, func() error { return nil })
}

// writeFrame writes a frame with its first line. After the first bytes a
// failure breaks the connection, so that nobody takes a part for the whole.
func (s *proofs) writeFrame(ctx context.Context, frame int64, write func(string) error, end func() error) error {
	err := write(Header)
	if err == nil {
		err = pieces(ctx, s.db, frame, write)
	}
	if err == nil {
		err = end()
	}
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	return nil
}

// writeEscaped writes a part of a JSON text.
func writeEscaped(w http.ResponseWriter, text string) error {
	quoted, err := jsontext.AppendQuote(nil, text)
	if err != nil {
		return err
	}
	_, err = w.Write(quoted[1 : len(quoted)-1])
	return err
}
