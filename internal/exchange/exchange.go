// Package exchange is what imports, exports and migrations of all areas share:
// what was ordered, how far it has come, its file, the report about its rows,
// and when all of these are removed.
//
// It promises that an order, its job and the file of an export begin together;
// that a file grows in one transaction with the position its writer resumes
// from, so a killed job goes on with the same bytes; that a file can no longer
// be found once a person who may be in it was erased; and that files and
// reports are removed when they expire. It does not know what is in a file, nor
// who may read it: the areas do.
package exchange

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/file"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Limits.
const (
	MaxFiles = 100 // a workspace has at once
	FileLife = 24 * time.Hour
)

// Config configures a Service. DB and Jobs are needed.
type Config struct {
	DB      *db.DB
	Jobs    *job.Service
	Flights *file.Flights // nil where nobody is told about erasures
	Now     func() time.Time
}

// Service keeps orders and their files. It is safe for many goroutines.
type Service struct {
	db      *db.DB
	jobs    *job.Service
	flights *file.Flights
	now     func() time.Time
}

// New makes a Service over a migrated store.
func New(cfg Config) *Service {
	cfg.Now = db.Clock(cfg.DB, cfg.Now)
	return &Service{db: cfg.DB, jobs: cfg.Jobs, flights: cfg.Flights, now: cfg.Now}
}

// Order is an import, an export or a migration with its parameters.
type Order struct {
	Job       string // its id, which is the order's too
	Workspace string
	Kind      string // of the job
	About     int64  // number of the survey that is exported; 0 for twins
	File      string // id; "" without one
	Path      string // its address for readers; {id} is replaced by the id
	CreatedAt int64  // ms

	settings, counts string // JSON
}

// Read decodes the parameters and the progress.
func (o *Order) Read(settings, counts any) error {
	if err := errors.Join(json.Unmarshal([]byte(o.settings), settings), json.Unmarshal([]byte(o.counts), counts)); err != nil {
		return fmt.Errorf("read order %s: %w", o.Job, err)
	}
	return nil
}

// Begin enqueues the job of an order of the caller and stores its parameters:
// in the order only, where Forget finds them.
func (s *Service) Begin(ctx context.Context, tx *db.Tx, o Order, settings any) (web.Reply[job.Job], error) {
	return s.begin(ctx, tx, &o, settings)
}

func (s *Service) begin(ctx context.Context, tx *db.Tx, o *Order, settings any) (web.Reply[job.Job], error) {
	id, err := s.jobs.Enqueue(ctx, tx, job.Draft{Kind: o.Kind, Payload: struct{}{}, About: o.Path})
	if err != nil {
		return web.Reply[job.Job]{}, err
	}
	text, err := web.Encode(settings)
	if err != nil {
		return web.Reply[job.Job]{}, err
	}
	o.Job, o.Workspace, o.CreatedAt = id, web.CallerFrom(ctx).Workspace, s.now().UnixMilli()
	o.settings, o.counts = string(text), "{}"
	if err := insert(ctx, tx, o); err != nil {
		return web.Reply[job.Job]{}, err
	}
	return s.jobs.Accepted(ctx, tx, id)
}

// BeginExport is Begin for an order with a file to write. Faults:
// TOO_MANY_FILES.
func (s *Service) BeginExport(ctx context.Context, tx *db.Tx, o Order, settings any) (web.Reply[job.Job], error) {
	o.File = db.NewID()
	j, err := s.begin(ctx, tx, &o, settings)
	if err != nil {
		return j, err
	}
	return j, AddFile(ctx, tx, &file.File{ID: o.File, Workspace: o.Workspace, Kind: file.Export, Job: o.Job, At: o.CreatedAt})
}

// AddFile stores a new file, unless the workspace has as many as it may.
func AddFile(ctx context.Context, tx *db.Tx, f *file.File) error {
	n, err := file.Count(ctx, tx, f.Workspace, MaxFiles)
	if err != nil {
		return err
	}
	if n >= MaxFiles {
		return fault.New(fault.TooMany, "TOO_MANY_FILES", fmt.Sprintf("A workspace has at most %d files of imports that wait and of exports from the last 24 hours. Wait for imports to end, or until the oldest export is a day old.", MaxFiles))
	}
	return file.Insert(ctx, tx, f)
}

// SaveCounts stores the progress of a job's order.
func SaveCounts(ctx context.Context, tx *db.Tx, job string, counts any) error {
	text, err := web.Encode(counts)
	if err != nil {
		return err
	}
	return updateCounts(ctx, tx, job, string(text))
}

// Of returns the order of a run, decoded as by Read.
func (s *Service) Of(ctx context.Context, r *job.Run, settings, counts any) (*Order, error) {
	o, err := find(ctx, s.db, web.CallerFrom(ctx).Workspace, r.ID)
	if err != nil {
		return nil, err
	}
	if o == nil {
		return nil, job.Permanent(fault.New(fault.NotFound, "TRANSFER_NOT_FOUND", "What this job was to work on has been removed."))
	}
	return o, o.Read(settings, counts)
}

// Look reads an order of a kind that the caller may know, which its job
// determines. The order is nil when there is none.
func (s *Service) Look(ctx context.Context, kind, id string) (job.Job, *Order, error) {
	j, err := s.jobs.Get(ctx, id)
	if fault.KindOf(err) == fault.NotFound || err == nil && j.Kind != kind {
		return job.Job{}, nil, nil
	} else if err != nil {
		return job.Job{}, nil, err
	}
	o, err := find(ctx, s.db, web.CallerFrom(ctx).Workspace, id)
	return j, o, err
}
