package response

import (
	"context"
	"math"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/privacy"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Revision describes one revision of a response.
type Revision struct {
	Revision     int64         `json:"revision"`
	At           time.Time     `json:"at"`
	Action       string        `json:"action" example:"corrected"`
	By           string        `json:"by" doc:"DID of the person who did it."`
	RequestID    string        `json:"requestId,omitzero" doc:"Only for keys with the scope responses:pii and for the person who collected or sent the response: events of the same request would reveal that person to others."`
	Reason       string        `json:"reason,omitzero"`
	Status       Status        `json:"status" enum:"complete,partial,refused,redacted"`
	Verification string        `json:"verificationStatus" doc:"State of the verification then."`
	Changes      []form.Change `json:"changes,omitzero" doc:"Answers that differ from the previous revision. Personal answers only for keys with the scope responses:pii."`
	Links        RevisionLinks `json:"links"`
}

// RevisionLinks are the addresses around a revision.
type RevisionLinks struct {
	Record string `json:"record" doc:"The response as it was."`
}

// At reads a response as it was at a revision, or at a time. Faults:
// RESPONSE_NOT_FOUND, REVISION_NOT_FOUND, INVALID_PARAMETER.
func (s *Service) At(ctx context.Context, id, at string) (web.Reply[*Record], error) {
	var none web.Reply[*Record]
	r, o, err := s.Find(ctx, s.db, id)
	if err != nil {
		return none, err
	}
	if r, err = s.revision(ctx, r, at); err != nil {
		return none, err
	}
	return s.answer(ctx, s.db, o, r)
}

// revision finds the revision that at names.
func (s *Service) revision(ctx context.Context, r *Row, at string) (*Row, error) {
	var row db.Row
	if n, err := strconv.ParseInt(at, 10, 64); err == nil {
		if n == r.Revision {
			return r, nil
		}
		if n < 1 || n > r.Revision {
			return nil, noRevision()
		}
		row = s.db.QueryRow(ctx, selectPast, r.NID, n+1, 1)
	} else if t, err := time.Parse(time.RFC3339, at); err == nil {
		if !t.Before(time.UnixMilli(r.UpdatedAt)) {
			return r, nil
		}
		row = s.db.QueryRow(ctx, selectPastAt, r.NID, t.UnixMilli())
	} else {
		return nil, fault.New(fault.Invalid, "INVALID_PARAMETER", "A parameter is not valid.").
			With(fault.Field{Pointer: "query/at", Code: "invalid", Detail: "The value must be the number of a revision or a time such as 2026-01-31T12:00:00Z."})
	}
	p, err := scanPast(row, r)
	return db.Need(p, err, "find revision", noRevision())
}

func noRevision() error {
	return fault.New(fault.NotFound, "REVISION_NOT_FOUND", "The response has no such revision.")
}

// History lists the revisions of a response before one, newest first; before 0
// is from the newest on. next is 0 at the end. The fault is RESPONSE_NOT_FOUND.
func (s *Service) History(ctx context.Context, id string, before int64, limit int) (items []Revision, next int64, err error) {
	r, o, err := s.Find(ctx, s.db, id)
	if err != nil {
		return nil, 0, err
	}
	if before == 0 {
		before = math.MaxInt64
	}
	var rows []*Row
	if r.Revision < before {
		rows, before = []*Row{r}, r.Revision
	}
	// One more than are shown, because each row lists its changes from the one
	// before.
	more, err := past(ctx, s.db, r, before, limit+1-len(rows))
	if err != nil {
		return nil, 0, err
	}
	rows, x := append(rows, more...), s.Sight(ctx, o)
	for i, p := range rows[:min(limit, len(rows))] {
		seen, err := p.veil(ctx, x, o.Form)
		if err != nil {
			return nil, 0, err
		}
		one := seen.revision()
		if i+1 < len(rows) {
			if one.Changes, err = s.changes(ctx, o, rows[i+1], p); err != nil {
				return nil, 0, err
			}
		}
		items = append(items, one)
	}
	if len(rows) > limit {
		next = rows[limit-1].Revision
	}
	return items, next, nil
}

func (r *Row) revision() Revision {
	out := Revision{
		Revision: r.Revision, At: time.UnixMilli(r.UpdatedAt).UTC(), Action: r.Action, By: r.Actor, RequestID: r.RequestID, Reason: r.Reason,
		Status: r.Status, Verification: r.VStatus, Links: RevisionLinks{Path(r.ResponseID) + "?at=" + strconv.FormatInt(r.Revision, 10)},
	}
	if r.veiled {
		out.RequestID = ""
	}
	return out
}

// changes are the answers in which two revisions differ, as far as the caller
// may read them.
func (rd *reader) changes(ctx context.Context, o *survey.Open, old, next *Row) ([]form.Change, error) {
	answers := func(r *Row) (jsontext.Value, error) {
		if len(r.Sealed) == 0 || !web.CallerFrom(ctx).May(privacy.PII) {
			seen, err := r.veil(ctx, rd.Sight(ctx, o), o.Form)
			if err != nil {
				return nil, err
			}
			return seen.Answers, nil
		}
		w, err := rd.Read(ctx, rd.db, o.Project, r)
		return w.Answers, err
	}
	a, err := answers(old)
	if err != nil {
		return nil, err
	}
	b, err := answers(next)
	if err != nil {
		return nil, err
	}
	return form.Compare(a, b), nil
}
