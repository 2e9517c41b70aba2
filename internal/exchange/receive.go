package exchange

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/file"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Upload stores the body of a request, up to a limit, and returns the file,
// which belongs to no job yet. It reads as slowly as the client sends, so it
// first gives back the request's place. When it fails nothing is left; after a
// crash the sweep removes the remains. Faults: TOO_MANY_FILES,
// UNSUPPORTED_ENCODING, BODY_REQUIRED, BODY_TOO_LARGE, BODY_TOO_SLOW,
// BODY_UNREADABLE.
func (s *Service) Upload(w http.ResponseWriter, r *http.Request, most int64) (*file.File, error) {
	ctx := r.Context()
	if e := r.Header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return nil, fault.New(fault.Unsupported, "UNSUPPORTED_ENCODING", "Send the body without a content encoding.").
			With(fault.Field{Pointer: "header/Content-Encoding", Code: "unsupported", Detail: "Only identity is accepted."})
	}
	web.LeavePlace(ctx)
	if r.ContentLength > most {
		w.Header().Set("Connection", "close") // the rest is not read
		return nil, bodyTooLarge(most)
	}
	f := &file.File{ID: db.NewID(), Workspace: web.CallerFrom(ctx).Workspace, Kind: file.Upload, At: s.now().UnixMilli()}
	if err := s.db.InTx(ctx, func(tx *db.Tx) error { return AddFile(ctx, tx, f) }); err != nil {
		return nil, err
	}
	err := bodyFault(file.Receive(ctx, s.db, f, http.MaxBytesReader(w, r.Body, most)), most)
	if err == nil && f.Bytes == 0 {
		err = fault.New(fault.Invalid, "BODY_REQUIRED", "The body must be the file to import.")
	}
	if err != nil {
		return nil, errors.Join(err, s.discard(ctx, f))
	}
	return f, nil
}

// Take answers a request whose body is the file to import: it stores the file,
// and begin begins its import. A repeated request is answered with the first
// job, if it sent the same file.
func Take[T any](s *Service, w http.ResponseWriter, r *http.Request, most int64, begin func(f *file.File) (web.Reply[T], error)) error {
	f, err := s.Upload(w, r, most)
	if err != nil {
		return err
	}
	ctx := r.Context()
	answer, err := begin(f)
	if err == nil && answer.Replayed {
		err = s.sameFile(ctx, strings.TrimPrefix(answer.Location, job.Path("")), f)
	}
	if err != nil || answer.Replayed {
		_ = s.discard(ctx, f) // the sweep removes the rest
	}
	if err != nil {
		return err
	}
	return writeAccepted(w, answer)
}

// discard removes an unused upload. The caller may have left; the file must be
// removed all the same.
func (s *Service) discard(ctx context.Context, f *file.File) error {
	return file.Drop(context.WithoutCancel(ctx), s.db, f.ID)
}

func bodyTooLarge(most int64) error {
	return fault.New(fault.TooLarge, "BODY_TOO_LARGE", fmt.Sprintf("The body is larger than %d bytes.", most))
}

// bodyFault names what went wrong with a body. Faults of the store are ones
// already.
func bodyFault(err error, most int64) error {
	var large *http.MaxBytesError
	switch {
	case err == nil || fault.As(err) != nil:
		return err
	case errors.As(err, &large):
		return bodyTooLarge(most)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fault.New(fault.TooSlow, "BODY_TOO_SLOW", "The body did not arrive in time.").Wrap(err)
	}
	return fault.New(fault.Invalid, "BODY_UNREADABLE", "The body could not be read to its end.").Wrap(err)
}

// Received is the stored data about the file of an import, in the counts of its
// order.
type Received struct {
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// BeginImport is Begin for an order that works on an upload, which becomes its
// file. The counts of the order are the Received until it has others.
func (s *Service) BeginImport(ctx context.Context, tx *db.Tx, o Order, f *file.File, settings any) (web.Reply[job.Job], error) {
	o.File = f.ID
	j, err := s.begin(ctx, tx, &o, settings)
	if err != nil {
		return j, err
	}
	if err := SaveCounts(ctx, tx, o.Job, Received{f.Bytes, f.SHA256}); err != nil {
		return j, err
	}
	arrived := *f
	arrived.Kind, arrived.Job = file.Import, o.Job
	return j, file.Update(ctx, tx, &arrived)
}

// sameFile refuses another file than that of a job, whose Idempotency-Key was
// used again.
func (s *Service) sameFile(ctx context.Context, id string, f *file.File) error {
	var first Received
	o, err := find(ctx, s.db, f.Workspace, id)
	if err == nil && o != nil {
		err = o.Read(&struct{}{}, &first)
	}
	if err != nil || first.SHA256 == "" || first.SHA256 == f.SHA256 {
		return err
	}
	return fault.New(fault.Unprocessable, "IDEMPOTENCY_KEY_REUSED", "This Idempotency-Key was used for another file.").
		With(fault.Field{Pointer: "header/Idempotency-Key", Code: "reused", Detail: "Use a new key for a new request."})
}

// writeAccepted sends the answer to an import.
func writeAccepted[T any](w http.ResponseWriter, p web.Reply[T]) error {
	body := p.Raw
	if body == nil {
		var err error
		if body, err = web.Encode(p.Value); err != nil {
			return err
		}
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("Location", p.Location)
	h.Set("ETag", p.ETag)
	if p.Replayed {
		h.Set("Idempotent-Replayed", "true")
	}
	w.WriteHeader(http.StatusAccepted)
	_, _ = w.Write(body) // the client is gone when this fails
	return nil
}

// RowsQuery asks for a page of a report.
type RowsQuery struct {
	OK string `query:"ok" enum:"true,false" doc:"Only rows that were accepted, or only rows that were refused." example:"false"`
	web.Paging
}

// Validate names what is wrong.
func (in *RowsQuery) Validate() error {
	var c fault.Checks
	in.Size(&c)
	if in.OK != "" && in.OK != "true" && in.OK != "false" {
		c.Add("query/ok", "invalid", "The value must be true or false.")
	}
	return c.Err("INVALID_PARAMETER", "A parameter is not valid.")
}

// rowBudget is how many rows a page of good ones looks at: they have no index
// of their own.
const rowBudget = 1000

// Report serves a page of the report of a job that the caller may know of.
func Report[T any](ctx context.Context, q db.Querier, cursors web.Cursors, id string, in *RowsQuery) (web.Reply[web.Page[T]], error) {
	var none web.Reply[web.Page[T]]
	after := int64(-1)
	limit, err := in.Begin(ctx, cursors, &after)
	if err != nil {
		return none, err
	}
	budget := limit
	if in.OK == "true" {
		budget = max(limit, rowBudget)
	}
	rows, err := Rows(ctx, q, Page{Job: id, Refused: in.OK == "false", After: after, Limit: budget + 1})
	if err != nil {
		return none, err
	}
	items := []T{}
	var next any
	for i, r := range rows {
		if len(items) == limit || i == budget {
			next = after
			break
		}
		after = r.Line
		if in.OK == "true" && !r.OK {
			continue
		}
		var item T
		if err := json.Unmarshal([]byte(r.Data), &item); err != nil {
			return none, fmt.Errorf("read report row: %w", err)
		}
		items = append(items, item)
	}
	return web.PageOf(ctx, cursors, limit, items, next)
}
