package export

import (
	"context"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/response"
)

// batch are responses of an export, in their order.
type batch struct {
	rows   []found
	after  int64 // the last that was looked at
	looked int64
	end    bool // there are no more
}

// reader finds the responses of an export.
type reader struct {
	s     *Service
	o     *survey.Open
	d     *Draft
	last  int64 // responses after it came later
	match func(*response.Row) (bool, error)
}

// next reads the responses after one. into is a batch that can be reused.
func (r *reader) next(ctx context.Context, after int64, into []found) (batch, error) {
	s := span{survey: r.o.NID, after: after, last: r.last, limit: r.s.size.rows, bytes: r.s.size.bytes, sealed: r.d.PII == Full}
	// A replica may be read, and it must know every erasure up to now.
	now, err := db.SinceNow(ctx, r.s.db)
	if err != nil {
		return batch{}, err
	}
	rows, more, err := page(now, db.Reader(now, r.s.db), s, into)
	if err != nil {
		return batch{}, err
	}
	if err := nameFlags(now, db.Reader(now, r.s.db), s, rows); err != nil {
		return batch{}, err
	}
	b := batch{rows: rows[:0], after: after, looked: int64(len(rows)), end: !more}
	for i := range rows {
		b.after = rows[i].NID
		keep, err := r.take(ctx, &rows[i])
		if err != nil {
			return batch{}, err
		}
		if keep {
			b.rows = append(b.rows, rows[i])
		}
	}
	return b, nil
}

// take makes of a response what the export shows of it; false when that is
// nothing.
func (r *reader) take(ctx context.Context, f *found) (bool, error) {
	// Nothing is left of a redacted response, at no time.
	if f.Status == string(response.Redacted) {
		return false, nil
	}
	at := r.d.AsOf.UnixMilli()
	if f.UpdatedAt > at {
		if there, err := past(ctx, r.s.db, f, at); err != nil || !there {
			return false, err
		}
		given(f)
	}
	if !r.d.wants(f.VStatus, f.Round) {
		return false, nil
	}
	if r.match != nil {
		fits, err := r.match(f.row(r.o.Workspace))
		if err != nil || !fits {
			return false, err
		}
	}
	if len(f.sealed) == 0 || r.d.PII != Full {
		return true, nil
	}
	return true, r.open(ctx, f)
}

// given takes the time a response was given from an earlier revision of it.
func given(f *found) {
	var head struct {
		Timestamp time.Time `json:"timestamp"`
	}
	if json.Unmarshal([]byte(f.Head), &head) == nil && !head.Timestamp.IsZero() {
		f.SubmittedAt = head.Timestamp.UnixMilli()
	}
}

// row is the response as a row of package response, as far as it was read.
func (f *found) row(ws string) *response.Row {
	return &response.Row{
		NID: f.NID, Workspace: ws, ResponseID: f.ID, Round: int(f.Round), Household: f.Household, Stratum: f.Stratum, Group: f.Group,
		Status: response.Status(f.Status), VStatus: f.VStatus, Verifier: f.Verifier, VerifiedAt: f.VerifiedAt, Flags: f.Flags, Collector: f.Collector,
		SubmittedAt: f.SubmittedAt, ReceivedAt: f.ReceivedAt, UpdatedAt: f.UpdatedAt, Revision: f.Revision, Body: []byte(f.Head), Answers: []byte(f.Answers),
		Sealed: f.sealed,
	}
}

// open unseals the personal part.
func (r *reader) open(ctx context.Context, f *found) error {
	w, err := r.s.cfg.Responses.Read(ctx, r.s.db, r.o.Project, f.row(r.o.Workspace))
	if err != nil {
		return err
	}
	f.Answers, f.Erased, f.sealed = string(w.Answers), w.Erased, nil
	if w.Location != nil {
		f.Place = &Place{Lat: w.Location.Lat, Lon: w.Location.Lon, Accuracy: w.Location.Accuracy}
	}
	return nil
}
