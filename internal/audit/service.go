package audit

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/exchange"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/file"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/once"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// kindReport is the kind of the jobs.
const kindReport = "audit.report"

// here is where the requests of this process come from.
var here = netip.AddrFrom4([4]byte{127, 0, 0, 1})

// maxBundle is how large an archive may be.
const maxBundle = 2 << 30

// Config configures a Service. Idem and Now have defaults.
type Config struct {
	DB       *db.DB
	Exchange *exchange.Service
	Idem     *once.Store
	Cursors  web.Cursors
	Now      func() time.Time
	// Handler is the API of this process, for requests whose context names the
	// caller.
	Handler func() http.Handler
	// Issuer finds the oracle that signs the bundles of a project; want is the
	// requested one, or "". Faults: ENTITY_NOT_FOUND, REPORT_NEEDS_ORACLE.
	Issuer func(ctx context.Context, project, want string) (string, error)
	// Sign lets an oracle sign what make writes for the id of its key.
	Sign func(ctx context.Context, oracle string, make func(issuer string) (jsontext.Value, error)) (jsontext.Value, error)
	// Keys returns the keys of an oracle.
	Keys func(ctx context.Context, oracle string) ([]api.IssuerKey, error)
	// List returns a status list by its name, made at this moment.
	List func(ctx context.Context, name string) (jsontext.Value, error)
	// Name is a DID, or its pseudonym in the project's exports if it is that of a
	// household, a person or a key.
	Name func(ctx context.Context, project, id string) (string, error)
	// Revisions returns at most limit revisions of a twin below a number, 0 for the
	// newest, as the caller of ctx sees them, newest first. Fault: ENTITY_NOT_FOUND.
	Revisions func(ctx context.Context, id string, below int64, limit int) ([]api.Revision, int64, error)
	// KitchenTests returns those of a kitchen test. Fault: KPT_NOT_FOUND.
	KitchenTests func(ctx context.Context, id string, below int64, limit int) ([]api.KitchenTestRevision, int64, error)
	// Figures returns the data behind the figures of a survey, as JSON.
	Figures func(ctx context.Context, project, survey string) ([]byte, error)
}

// Service makes bundles. It is safe for many goroutines.
type Service struct{ cfg Config }

// New makes a Service over a migrated store.
func New(cfg Config) *Service {
	cfg.Idem = cmp.Or(cfg.Idem, once.Plain(cfg.DB))
	cfg.Now = db.Clock(cfg.DB, cfg.Now)
	return &Service{cfg}
}

// Handlers returns the jobs of this package, by kind.
func (s *Service) Handlers() map[string]job.Handler { return map[string]job.Handler{kindReport: s.run} }

// settings is the stored part of an order.
type settings struct {
	Project string `json:"project"`
	Oracle  string `json:"oracle"`
}

// result is the result of a bundle's job.
type result struct {
	Files  int    `json:"files"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256,omitzero"`
	Issuer string `json:"issuer,omitzero"`
}

// Create begins a bundle. Faults: REPORT_INVALID, SCOPE_MISSING, ENTITY_NOT_FOUND,
// REPORT_NEEDS_ORACLE, TOO_MANY_FILES.
func (s *Service) Create(ctx context.Context, d api.AuditReportDraft) (web.Reply[job.Job], error) {
	var none web.Reply[job.Job]
	var c fault.Checks
	check.DID(&c, "/projectId", d.Project)
	if d.Oracle != "" {
		check.DID(&c, "/oracle", d.Oracle)
	}
	if err := c.Err("REPORT_INVALID", "The report is not valid."); err != nil {
		return none, err
	}
	if err := exchange.MayAll(ctx, scopes...); err != nil {
		return none, err
	}
	oracle, err := s.cfg.Issuer(ctx, d.Project, d.Oracle)
	if err != nil {
		return none, err
	}
	return once.Do(ctx, s.cfg.Idem, func(tx *db.Tx) (web.Reply[job.Job], error) {
		return s.cfg.Exchange.BeginExport(ctx, tx, exchange.Order{Kind: kindReport, Path: "/v1/reports/{id}"}, settings{d.Project, oracle})
	})
}

// reader is the caller with the rights of a bundle: an auditor of one project who sees
// nobody.
func reader(ctx context.Context, project string) context.Context {
	c := web.CallerFrom(ctx)
	return web.WithCaller(ctx, web.Caller{Workspace: c.Workspace, DID: readerDID, Scopes: slices.Clone(scopes), Projects: []string{project}})
}

// run is the job of a bundle. An interrupted one starts over.
func (s *Service) run(ctx context.Context, r *job.Run) error {
	var d settings
	o, err := s.cfg.Exchange.Of(ctx, r, &d, &struct{}{})
	if err != nil {
		return err
	}
	if !web.CallerFrom(ctx).Sees(d.Project) {
		return job.Permanent(notFound())
	}
	if _, err := s.cfg.Issuer(ctx, d.Project, d.Oracle); fault.As(err) != nil {
		return job.Permanent(err) // a right that has ended since
	} else if err != nil {
		return err
	}
	out := &sink{file: s.cfg.Exchange.Writer(r, o, maxBundle)}
	out.save = func(told result) error { return out.file.Save(ctx, struct{}{}, told) }
	if err := out.file.Begin(ctx); err != nil {
		return err
	}
	err = s.write(ctx, r, d, out)
	if fault.CodeOf(err) == "REPORT_INCOMPLETE" {
		err = job.Permanent(err)
	}
	return out.file.End(ctx, err, "files", "/projectId")
}

func (s *Service) write(ctx context.Context, r *job.Run, d settings, out *sink) error {
	w := newWriter(out, "urn:hearth:bundle:"+r.ID, d.Project)
	steps, as := int64(0), reader(ctx, d.Project)
	g := &gatherer{
		w: w, project: d.Project, names: map[string]string{}, rules: map[string]*rules{}, issuers: []string{d.Oracle},
		tell: func(step string) error {
			steps++
			r.Progress(steps, 6, step)
			return ctx.Err()
		},
		fetch:   func(path string) (*http.Response, error) { return s.fetch(as, path) },
		named:   func(id string) (string, error) { return s.cfg.Name(as, d.Project, id) },
		figures: func(survey string) ([]byte, error) { return s.cfg.Figures(as, d.Project, survey) },
		keys:    func(oracle string) ([]api.IssuerKey, error) { return s.cfg.Keys(as, oracle) },
		list:    func(name string) (jsontext.Value, error) { return s.cfg.List(as, name) },
	}
	if err := g.all(); err != nil {
		return err
	}
	id := ""
	signed, err := s.cfg.Sign(ctx, d.Oracle, func(issuer string) (jsontext.Value, error) {
		id = issuer
		return w.document(issuer, s.cfg.Now())
	})
	if err != nil {
		return fmt.Errorf("sign manifest: %w", err)
	}
	if err := w.bytes(ManifestName, append(signed, '\n')); err != nil {
		return err
	}
	if err := w.zip.Close(); err != nil {
		return fmt.Errorf("write bundle: %w", err)
	}
	out.told = result{Files: len(w.Files) + 1, Issuer: id}
	out.end = r.SetResult
	return out.flush(true)
}

// fetch reads a path of the API of this process.
func (s *Service) fetch(ctx context.Context, path string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost"+path, http.NoBody)
	if err != nil {
		return nil, err
	}
	return web.Answer(s.cfg.Handler(), r, here, maxFile)
}

// sink stores what is written to it in pieces.
type sink struct {
	file *exchange.Writer
	save func(told result) error
	b    []byte
	told result
	end  func(result any) // nil before the last piece
}

// piece is how much is stored at once.
const piece = 4 * file.PieceSize

func (s *sink) Write(b []byte) (int, error) {
	s.b = append(s.b, b...)
	if len(s.b) < piece {
		return len(b), nil
	}
	return len(b), s.flush(false)
}

func (s *sink) flush(end bool) error {
	if _, err := s.file.Add(s.b, end); err != nil {
		return err
	}
	s.b = s.b[:0]
	s.told.Bytes, s.told.SHA256 = s.file.Bytes(), s.file.SHA256()
	if s.end != nil {
		s.end(s.told)
	}
	return s.save(s.told)
}

func notFound() error {
	return fault.New(fault.NotFound, "REPORT_NOT_FOUND", "No report has this id.")
}
