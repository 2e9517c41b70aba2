package device

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/sheet"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Bounds of a file of readings.
const (
	MaxFile     = 16 << 20 // bytes
	MaxFileRows = 100_000
	maxMapping  = 4 << 10 // bytes

	// Files are held in memory while they are sent and stored.
	maxFiles   = 8 // at once; beyond that one of each workspace
	maxFilesOf = 2 // of one workspace
)

// gate counts the files that are held.
type gate struct {
	mu  sync.Mutex
	all int
	of  map[string]int // by workspace
}

// enter takes a place, until leave is called. A workspace that has none always
// gets one, so that slow files of others do not keep it waiting. The fault is
// TOO_MANY_FILES.
func (g *gate) enter(ws string) (leave func(), err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if n := g.of[ws]; n >= maxFilesOf || n > 0 && g.all >= maxFiles {
		return nil, fault.New(fault.TooMany, "TOO_MANY_FILES", fmt.Sprintf("A workspace can send at most %d files of readings at once, and only one while the server is busy with %d. Send the next when one has been answered.", maxFilesOf, maxFiles)).After(time.Second)
	}
	if g.of == nil {
		g.of = map[string]int{}
	}
	g.all++
	g.of[ws]++
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.all--
		if g.of[ws]--; g.of[ws] == 0 {
			delete(g.of, ws)
		}
	}, nil
}

// filer accepts files of readings.
type filer struct{ *Service }

// table is a file of readings as it was sent.
type table struct {
	format  sheet.Format
	body    []byte
	mapping map[string]string
}

// kindOf returns the kind of values in a column.
func kindOf(path string) string {
	switch {
	case path == "temperature", path == "duration", strings.HasPrefix(path, "values."):
		return "number"
	case path == "cookingEvent":
		return "boolean"
	case path == "timestamp":
		return "date-time"
	}
	return ""
}

// add stores the good readings of a file, some in each transaction, and names
// the others by their lines. Readings that differ from stored ones are left out
// and named too. Faults: READINGS_INVALID when none is good or the file cannot
// be read, and those of Add.
func (s filer) add(ctx context.Context, id string, f table) (Outcome, error) {
	t, err := s.find(ctx, s.db, id, deviceIs)
	if err != nil {
		return Outcome{}, err
	}
	if err := maySend(ctx, t); err != nil {
		return Outcome{}, err
	}
	var columns []string
	in, err := sheet.Open(f.format, bytes.NewReader(f.body), int64(len(f.body)), sheet.Options{Mapping: f.mapping, Kind: func(path string) string {
		columns = append(columns, path)
		return kindOf(path)
	}})
	if err != nil {
		return Outcome{}, unreadable(err)
	}
	defer in.Close()
	if f.format == sheet.CSV && !slices.Contains(columns, "timestamp") {
		return Outcome{}, unnamed(columns)
	}
	r := &filing{s: s.Service, t: t, out: Outcome{Conflicts: []Conflict{}, Refused: []Refusal{}, Gaps: []Gap{}}}
	if err := r.all(ctx, in); err != nil {
		return Outcome{}, err
	}
	if r.good == 0 {
		var c fault.Checks
		for _, x := range r.out.Refused {
			for _, e := range x.Errors {
				c.Add(e.Pointer, e.Code, e.Detail)
			}
		}
		c.Require(len(r.out.Refused) > 0, "/readings")
		return Outcome{}, invalid(c)
	}
	return r.out, nil
}

// unreadable says what is wrong with a file.
func unreadable(err error) error {
	e := sheet.AsError(err)
	if e == nil {
		return err
	}
	var c fault.Checks
	c.Add(lineAt(e.Line, e.Column), e.Code, e.Detail)
	return invalid(c)
}

// unnamed says that a table has no column for the time.
func unnamed(columns []string) error {
	has := "The file has no column timestamp."
	if len(columns) > 0 {
		has = fmt.Sprintf("The file has the columns %s, and none of them is timestamp.", fault.Echo(strings.Join(columns, ", ")))
	}
	var c fault.Checks
	c.Add(lineAt(1, ""), "missing_column", has+` Columns are timestamp, temperature, cookingEvent, duration and values.name; name columns that are called something else with mapping={"Time":"timestamp"}.`)
	return invalid(c)
}

// lineAt is a place in a file.
func lineAt(line int64, column string) string {
	at := fmt.Sprintf("/lines/%d", line)
	if column != "" {
		at += "/" + column
	}
	return at
}

// filing is a file on its way into the store.
type filing struct {
	s     *Service
	t     *subject
	part  []ReadingDraft
	lines []int64 // of part
	rows  int
	good  int // readings that are stored, now or before
	out   Outcome
}

// all reads the records of a file and stores them.
func (f *filing) all(ctx context.Context, in *sheet.Reader) error {
	for {
		rec, err := in.Next()
		if errors.Is(err, io.EOF) {
			return f.store(ctx)
		} else if err != nil {
			return unreadable(err)
		}
		if f.rows++; f.rows > MaxFileRows {
			var c fault.Checks
			c.Add(lineAt(rec.Line, ""), "too_many", "A file has at most 100000 readings. The readings before this line are stored; send the rest in another file.")
			return invalid(c)
		}
		var d ReadingDraft
		if len(rec.Errs) > 0 {
			for _, e := range rec.Errs {
				d.misfit = append(d.misfit, fault.Field{Pointer: "/" + e.Column, Code: e.Code, Detail: e.Detail})
			}
		} else if err := json.Unmarshal(rec.JSON, &d); err != nil {
			d.misfit = []fault.Field{{Code: "invalid", Detail: "The line is not a reading."}}
		}
		f.part, f.lines = append(f.part, d), append(f.lines, rec.Line)
		if len(f.part) == MaxReadings {
			if err := f.store(ctx); err != nil {
				return err
			}
		}
	}
}

// store stores the readings that were gathered.
func (f *filing) store(ctx context.Context) error {
	now := f.s.cfg.Now()
	p := gather(f.part, now)
	one := p.outcome()
	if len(p.rows) > 0 {
		st := &storing{s: f.s, t: f.t, p: p, skip: true, file: true, now: now, rules: configurationOf(f.t.e).rules()}
		err := f.s.db.InTx(ctx, func(tx *db.Tx) (err error) {
			one, err = st.run(ctx, tx)
			return err
		})
		if err != nil {
			return err
		}
	}
	f.add(one)
	f.part, f.lines = f.part[:0], f.lines[:0]
	return nil
}

// add merges the outcome of some readings into that of the file.
func (f *filing) add(one Outcome) {
	o := &f.out
	f.good += one.Accepted + one.Duplicates
	o.Accepted += one.Accepted
	o.Duplicates += one.Duplicates
	o.RefusedCount += one.RefusedCount
	o.Contradictions += one.Contradictions
	o.LastReadingAt = one.LastReadingAt
	for _, r := range one.Refused[:min(len(one.Refused), maxNamed-len(o.Refused))] {
		line := f.lines[r.Index]
		for i := range r.Errors {
			r.Errors[i].Pointer = lineAt(line, "") + strings.TrimPrefix(r.Errors[i].Pointer, readingAt(r.Index))
		}
		r.Index = int(line)
		o.Refused = append(o.Refused, r)
	}
	f.good += len(one.Conflicts)
	for _, c := range one.Conflicts[:min(len(one.Conflicts), maxNamed-len(o.Conflicts))] {
		c.Index = int(f.lines[c.Index])
		o.Conflicts = append(o.Conflicts, c)
	}
	more := one.Gaps[:min(len(one.Gaps), maxGapsShown-len(o.Gaps))]
	o.MoreGaps = o.MoreGaps || one.MoreGaps || len(more) < len(one.Gaps)
	o.Gaps = append(o.Gaps, more...)
}

// serveFile accepts a file of readings. It reads as slowly as the client sends,
// so it first gives back the request's place in the queue.
func (s filer) serveFile(w http.ResponseWriter, r *http.Request) error {
	in, err := web.Bind[struct {
		one
		Mapping string `query:"mapping"`
	}](r)
	if err != nil {
		return err
	}
	if t, err := s.find(r.Context(), s.db, in.DID, deviceIs); err != nil {
		return err
	} else if err := maySend(r.Context(), t); err != nil {
		return err
	}
	f := table{format: sheet.FormatOf(r.Header.Get("Content-Type"))}
	if f.format != sheet.CSV && f.format != sheet.NDJSON {
		return fault.New(fault.Unsupported, "UNSUPPORTED_MEDIA_TYPE", "The body must be CSV or NDJSON. Say so with Content-Type.").
			With(fault.Field{Pointer: "header/Content-Type", Code: "unsupported", Detail: "Use text/csv or application/x-ndjson."})
	}
	var c fault.Checks
	if in.Mapping != "" && (len(in.Mapping) > maxMapping || json.Unmarshal([]byte(in.Mapping), &f.mapping) != nil) {
		c.Add("query/mapping", "invalid", "The value must be a JSON object of at most 4 KiB whose members are texts.")
	}
	if err := wrong(c); err != nil {
		return err
	}
	leave, err := s.files.enter(web.CallerFrom(r.Context()).Workspace)
	if err != nil {
		return err
	}
	defer leave()
	web.LeavePlace(r.Context())
	if f.body, err = web.ReadBody(w, r, MaxFile); err != nil {
		return err
	}
	out, err := s.add(r.Context(), in.DID, f)
	if err != nil {
		return err
	}
	text, err := web.Encode(out)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	_, err = w.Write(text)
	return err
}
