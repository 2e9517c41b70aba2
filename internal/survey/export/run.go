package export

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/exchange"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/file"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/privacy"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/response"
)

// Counts is the type of package api.
type Counts = api.SurveyExportCounts

// state is where writing continues, in a format that can be resumed.
type state struct {
	exchange.Mark
	After  int64  `json:"after"`
	Last   int64  `json:"last"`
	Counts Counts `json:"counts"`
	Ended  bool   `json:"ended"`
	Design string `json:"design,omitzero"` // identifies the weights of the rows
	SHA256 string `json:"sha256,omitzero"`
}

// run is the job of an export.
func (s *Service) run(ctx context.Context, r *job.Run) error {
	w := &writer{s: s, run: r}
	o, err := s.cfg.Exchange.Of(ctx, r, &w.d, &struct{}{})
	if err != nil {
		return err
	}
	if w.o, err = s.cfg.Surveys.Open(ctx, w.d.SurveyID); err != nil {
		return job.Permanent(err)
	}
	w.file = s.cfg.Exchange.Writer(r, o, MaxFile)
	return w.file.End(ctx, w.export(ctx), "responses", "/format")
}

// writer is one run of an export.
type writer struct {
	s    *Service
	run  *job.Run
	d    settings
	o    *survey.Open
	out  Writer
	file *exchange.Writer
	st   state // the stored state

	begun  bool  // the beginning of the file is written
	before int64 // rows that an earlier attempt wrote
	first  *reading
}

// reading identifies the responses that were written in one reading of all.
type reading struct{ count, sum uint64 }

func (r *reading) add(f *found) {
	const prime = 1099511628211 // of FNV-1a
	r.count++
	r.sum = ((r.sum^uint64(f.NID))*prime ^ uint64(f.Revision)) * prime
}

// end ends a reading, and refuses one whose responses are not those of the
// first: a filter on flags may let others through meanwhile, and the rows of
// their repeats would belong to no response of the file.
func (w *writer) end(b []byte, r reading) (_ []byte, again bool, err error) {
	if w.first == nil {
		w.first = &r
	}
	if *w.first != r {
		return b, false, errChanged
	}
	return w.out.End(b)
}

// How often an export starts over: because its file was removed while people of
// the workspace are being erased, and because a response changed between two
// readings, as its flags do while checks run.
const (
	restarts = 100
	changes  = 5
)

func (w *writer) export(ctx context.Context) error {
	if _, err := w.run.State(&w.st); err != nil {
		return err
	}
	if w.st.Ended {
		w.run.SetResult(w.st.result())
		return nil
	}
	resume := w.st.Begun() && w.d.Format.resumes() && !w.d.packed()
	changed := 0
	for range restarts {
		err := w.attempt(ctx, resume)
		resume = false
		switch {
		case errors.Is(err, errChanged) && changed < changes:
			changed++
		case errors.Is(err, errChanged):
			return job.Permanent(interrupted())
		case !errors.Is(err, file.ErrGone):
			return err
		default:
			if err := w.file.Renew(ctx); err != nil {
				return err
			}
		}
	}
	return interrupted()
}

func interrupted() error {
	return fault.New(fault.Unavailable, "EXPORT_INTERRUPTED", "The responses keep changing: people of this workspace are being erased, or checks are running. Export again later.")
}

// attempt writes the file, from its beginning or from where the state is.
func (w *writer) attempt(ctx context.Context, resume bool) error {
	l := w.s.layout(&w.d.Draft, w.o)
	sum, err := "", error(nil)
	if l.cfg.weights, err = w.s.weights(ctx, w.o, &w.d.Draft); err != nil {
		return err
	}
	if l.cfg.weights != nil {
		sum = l.cfg.weights.sum
	}
	// Rows with other weights would not go with those that are written.
	if resume = resume && w.st.Design == sum; resume {
		err = w.file.Resume(ctx, w.st.Mark)
	} else {
		err = w.begin(ctx)
	}
	if err != nil {
		return err
	}
	w.st.Design = sum
	about := About{
		Survey: w.o.SurveyID, TemplateID: w.o.TemplateID, TemplateVersion: w.o.TemplateVersion, AsOf: w.d.AsOf, Filter: w.d.Filter,
		Verification: w.d.Verification, Rounds: w.d.Rounds, Written: w.st.Counts.Rows,
	}
	if w.out, err = l.Writer(w.d.Format, about); err != nil {
		return err
	}
	if err := w.pack(l); err != nil {
		return err
	}
	in := &reader{s: w.s, o: w.o, d: &w.d.Draft, last: w.st.Last}
	if w.d.Filter != "" {
		e, err := response.ParseFilter(w.d.Filter, w.o.Form)
		if err != nil {
			return err
		}
		in.match = response.Filter{Expr: e}.Match
		if w.d.Veiled {
			in.match = w.veiled(in.match)
		}
	}
	w.before, w.begun, w.first = w.st.Counts.Rows, resume, nil
	for err == nil && !w.st.Ended {
		err = w.pump(ctx, in)
	}
	return err
}

// pack puts the data into an archive, if there is one, with the files about the
// sample; attachments follow in it.
func (w *writer) pack(l *Layout) error {
	design := w.d.tells() && (w.d.Design || l.cfg.weights != nil)
	how := &recipe{l, w.o}
	if book, ok := w.out.(*bookWriter); ok && design {
		book.design = how
	}
	if !w.d.packed() {
		return nil
	}
	all, ok := w.out.(*archive)
	if !ok {
		all = &archive{parts: []part{{name: "responses." + string(w.d.Format), w: w.out}}}
		w.out = all
	}
	if w.d.Media {
		all.files = &attach{s: w.s, ws: w.o.Workspace, seen: map[[32]byte]struct{}{}}
	}
	if !design || w.d.Format == XLSX {
		return nil
	}
	more, err := how.parts(w.d.Format, w.d.AsOf)
	all.parts = append(all.parts, more...)
	return err
}

// veiled applies a filter to responses as the caller who asked for the export
// sees them: a filter that knew more would reveal it.
func (w *writer) veiled(match func(*response.Row) (bool, error)) func(*response.Row) (bool, error) {
	x := privacy.Sight{Names: w.s.cfg.Vault.Pseudonyms(w.o.Workspace, w.o.Project)}
	return func(r *response.Row) (bool, error) {
		v, err := r.Veiled(x, w.o.Form)
		if err != nil {
			return false, err
		}
		return match(v)
	}
}

// begin makes an empty file.
func (w *writer) begin(ctx context.Context) (err error) {
	w.st = state{}
	if err := w.file.Begin(ctx); err != nil {
		return err
	}
	w.st.Counts.Total, w.st.Last, err = extent(ctx, w.s.db, w.o.NID)
	return err
}

// chunk is a part of the file and the state it leads to.
type chunk struct {
	raw []byte
	st  state
}

// pump reads, writes and stores at once, each in its own goroutine.
func (w *writer) pump(ctx context.Context, in *reader) error {
	g, ctx := errgroup.WithContext(ctx)
	batches, used := make(chan batch, 1), make(chan []found, 3)
	chunks, free := make(chan chunk), make(chan []byte, 3)
	st := w.st
	g.Go(func() error {
		defer close(batches)
		return read(ctx, in, st.After, batches, used)
	})
	g.Go(func() error {
		defer close(chunks)
		return w.write(ctx, st, batches, used, func(c chunk) ([]byte, error) {
			select {
			case chunks <- c:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
			select {
			case b := <-free:
				return b[:0], nil
			default:
				return nil, nil
			}
		})
	})
	g.Go(func() error {
		for c := range chunks {
			if err := w.save(ctx, c); err != nil {
				return err
			}
			select {
			case free <- c.raw:
			default:
			}
		}
		return ctx.Err()
	})
	return g.Wait()
}

// read gives all batches from a response on.
func read(ctx context.Context, in *reader, after int64, out chan<- batch, used <-chan []found) error {
	for {
		var into []found
		select {
		case into = <-used:
		default:
		}
		b, err := in.next(ctx, after, into)
		if err != nil {
			return err
		}
		select {
		case out <- b:
		case <-ctx.Done():
			return ctx.Err()
		}
		if b.end {
			return nil
		}
		after = b.after
	}
}

// write makes chunks of the responses and hands them on, for an empty buffer
// back.
func (w *writer) write(ctx context.Context, st state, in <-chan batch, used chan<- []found, hand func(chunk) ([]byte, error)) error {
	b, err := make([]byte, 0, w.s.size.chunk+w.s.size.chunk/4), error(nil)
	if !w.begun {
		if b, err = w.out.Begin(b); err != nil {
			return err
		}
		w.begun = true
	}
	flush := func(b []byte) ([]byte, error) {
		if len(b) < w.s.size.chunk {
			return b, nil
		}
		return hand(chunk{b, st})
	}
	all, packed := w.out.(*archive)
	var seen reading
	for some := range in {
		for i := range some.rows {
			seen.add(&some.rows[i])
			if packed && all.attaching {
				b, err = all.attach(ctx, b, &some.rows[i].Response, flush)
			} else {
				b, err = w.out.Add(b, &some.rows[i].Response)
			}
			if err != nil {
				return err
			}
		}
		if packed && all.files != nil {
			st.Counts.Media, st.Counts.MissingMedia = all.files.there, all.files.missing
		}
		st.After, st.Counts.Looked = some.after, st.Counts.Looked+some.looked
		st.Counts.Responses += int64(len(some.rows))
		st.Counts.Rows = w.before + w.out.Rows()
		clear(some.rows)
		select {
		case used <- some.rows:
		default:
		}
		w.run.Progress(st.Counts.Looked, max(st.Counts.Total, st.Counts.Looked), fmt.Sprintf("%d responses written", st.Counts.Responses))
		if some.end {
			again := false
			if b, again, err = w.end(b, seen); err != nil {
				return err
			}
			if st.Ended = !again; again {
				st.After, st.Counts.Looked, st.Counts.Responses = 0, 0, 0
			}
		}
		if len(b) < w.s.size.chunk && !some.end {
			continue
		}
		if b, err = hand(chunk{b, st}); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// save stores a chunk together with the state it leads to.
func (w *writer) save(ctx context.Context, c chunk) (err error) {
	if c.st.Mark, err = w.file.Add(c.raw, c.st.Ended); err != nil {
		return err
	}
	w.st = c.st
	w.st.Counts.Bytes, w.st.SHA256 = w.file.Bytes(), w.file.SHA256()
	if w.st.Ended {
		w.run.SetResult(w.st.result())
	}
	return w.file.Save(ctx, w.st, w.st.result())
}

// result is the result of an export.
type result struct {
	Counts
	SHA256 string `json:"sha256,omitzero"`
}

func (s *state) result() result { return result{s.Counts, s.SHA256} }
