package claim

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/relationship"
	"github.com/hearth-dmrv/hearth/internal/entity/twin"
	"github.com/hearth-dmrv/hearth/internal/entity/verdict"
	"github.com/hearth-dmrv/hearth/internal/exchange"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/once"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Config configures a Service. Idem has a default.
type Config struct {
	DB       *db.DB
	Entities *entity.Service // made with the Ledger
	Ledger   *Ledger
	Idem     *once.Store
	Cursors  web.Cursors

	Credentials Credentials
	Exchange    *exchange.Service // keeps simulations
	// Evidence completes pieces of evidence that refer to something on this server;
	// nil leaves them unchanged. The fault is CLAIM_INVALID.
	Evidence func(ctx context.Context, d *Draft) error
	// Rights returns the current scopes of a principal for whom the Engine acts; nil
	// skips the check.
	Rights func(ctx context.Context, q db.Querier, ws, principal string) ([]string, error)
}

// Service is the use cases of claims.
type Service struct {
	cfg Config
	db  *db.DB
}

// New makes a Service over a migrated store.
func New(cfg Config) *Service {
	cfg.Idem = cmp.Or(cfg.Idem, once.Plain(cfg.DB))
	return &Service{cfg: cfg, db: cfg.DB}
}

// NewLedger makes the Ledger that the registry of twins needs.
func NewLedger(l Ledger) *Ledger {
	if l.Now == nil {
		l.Now = time.Now
	}
	return &l
}

// Create submits a claim; one without a subject stays a draft. Faults: CLAIM_INVALID,
// those of Ledger.Submit, and of entity.Service.Create.
func (s *Service) Create(ctx context.Context, d Draft) (web.Reply[*api.Claim], error) {
	var none web.Reply[*api.Claim]
	form, err := s.cfg.draft(ctx, d)
	if err != nil {
		return once.Refuse[*api.Claim](ctx, s.cfg.Idem, asSent(err, d))
	}
	if err := s.place(ctx, &form); err != nil {
		return none, err
	}
	p, err := s.cfg.Entities.Prepare(ctx, form)
	if err != nil {
		return none, asSent(inBody(err, form), d)
	}
	r, err := once.Do(ctx, s.cfg.Idem, func(tx *db.Tx) (web.Reply[*api.Claim], error) {
		made, err := s.cfg.Entities.StoreTx(ctx, tx, p)
		if err != nil {
			return none, err
		}
		out, err := s.made(ctx, tx, made)
		if err != nil {
			return none, err
		}
		return web.Reply[*api.Claim]{Value: out, Status: http.StatusCreated, Location: out.Links.Self}, nil
	})
	return r, asSent(inBody(err, form), d)
}

// draft is the draft of the twin of a claim, with its evidence complete.
func (c *Config) draft(ctx context.Context, d Draft) (entity.Draft, error) {
	if c.Evidence != nil {
		if err := c.Evidence(ctx, &d); err != nil {
			return entity.Draft{}, err
		}
	}
	return twinOf(d)
}

// place puts a claim into the project of its subject. If there is no such subject, the
// registry refuses it.
func (s *Service) place(ctx context.Context, d *entity.Draft) error {
	if len(d.Relationships) == 0 || d.Relationships[0].Role != relationship.ProducedBy {
		return nil
	}
	subject, err := s.cfg.Entities.Find(ctx, s.db, d.Relationships[0].Target)
	if fault.KindOf(err) == fault.NotFound {
		return nil
	} else if err != nil {
		return err
	}
	if subject.Project != "" {
		d.Relationships = append(d.Relationships, entity.RelationDraft{Role: relationship.Project, Target: subject.Project})
	}
	return nil
}

// made returns a claim, or a draft, that has just been made.
func (s *Service) made(ctx context.Context, q db.Querier, r *entity.Row) (*api.Claim, error) {
	found, err := one(q.QueryRow(ctx, selectByNID, r.Workspace, r.NID))
	if err != nil {
		return nil, err
	}
	if found != nil {
		return found.view(true)
	}
	e, err := r.Entity()
	if err != nil {
		return nil, err
	}
	said := read(e)
	kind, _ := verdict.TypeOf(e)
	return &api.Claim{
		ID: r.DID, Type: r.Type, Kind: kind, PeriodStart: said.PeriodStart, PeriodEnd: said.PeriodEnd, Amount: said.Amount, Claimant: e.Owner, Project: r.Project,
		Status: draft, Verification: inWords(draft), Links: api.ClaimLinks{Self: twin.Address(r.DID), Entity: twin.Address(r.DID)}, // a draft is a twin alone
	}, nil
}

// inBody names the members of a claim's body in a fault of its twin.
func inBody(err error, d entity.Draft) error {
	f := fault.As(err)
	if f == nil || len(f.Fields) == 0 {
		return err
	}
	out := *f
	out.Fields = slices.Clone(f.Fields)
	for i := range out.Fields {
		p := &out.Fields[i].Pointer
		*p = strings.TrimPrefix(*p, "/properties")
		if *p == "/data/collection" {
			*p = "/collection"
		}
		if rest, ok := strings.CutPrefix(*p, "/relationships/"); ok {
			n, _, _ := strings.Cut(rest, "/")
			*p = "/subject"
			if at, err := strconv.Atoi(n); err == nil && at < len(d.Relationships) && d.Relationships[at].Role == relationship.VerifiedBy {
				*p = "/oracle"
			}
		}
	}
	return &out
}

// Get reads a claim by DID or CID. Fault: CLAIM_NOT_FOUND.
func (s *Service) Get(ctx context.Context, id string) (*api.Claim, error) {
	r, err := find(ctx, s.db, id)
	if err != nil {
		return nil, err
	}
	out, err := r.view(true)
	if err == nil && web.CallerFrom(ctx).May("claims:evaluate") {
		out.ClaimedElsewhere, err = r.elsewhere(ctx, s.db)
	}
	if err != nil || r.summed == 0 {
		return out, err
	}
	sum, err := one(s.db.QueryRow(ctx, selectByNID, r.ws, r.summed))
	if err == nil && sum != nil && sees(web.CallerFrom(ctx), sum.project) {
		out.SummedBy = sum.did
	}
	return out, err
}

// Withdraw ends a claim that is not decided. Faults: CLAIM_NOT_FOUND,
// NOT_CONTROLLER, CLAIM_DECIDED.
func (s *Service) Withdraw(ctx context.Context, id, reason string) (web.Reply[*api.Claim], error) {
	return once.Do(ctx, s.cfg.Idem, func(tx *db.Tx) (web.Reply[*api.Claim], error) {
		r, err := find(ctx, tx, id)
		if err != nil {
			return web.Reply[*api.Claim]{}, err
		}
		if _, err := s.cfg.Entities.TransitionTx(ctx, tx, r.did, "", entity.Transition{To: entity.StatusDeactivated, Reason: reason}); fault.CodeOf(err) == "STATE_TRANSITION_INVALID" {
			return web.Reply[*api.Claim]{}, decided(r) // its twin has ended
		} else if err != nil {
			return web.Reply[*api.Claim]{}, err
		}
		if r, err = find(ctx, tx, r.did); err != nil {
			return web.Reply[*api.Claim]{}, err
		}
		out, err := r.view(true)
		return web.Reply[*api.Claim]{Value: out}, err
	})
}

// Filter narrows a list; empty members are ignored.
type Filter struct {
	Status, Kind, Claimant, Project string
	Subject                         string // DID
	Collection                      string // id
}

// fits reports whether a claim matches and is visible to the caller.
func (f *Filter) fits(c web.Caller, r *row) bool {
	for _, pair := range [][2]string{{f.Status, r.status}, {f.Claimant, r.claimant}, {f.Project, r.project}, {f.Subject, r.subjectDID}, {f.Collection, collectionName(r.collection)}} {
		if pair[0] != "" && pair[0] != pair[1] {
			return false
		}
	}
	return sees(c, r.project) && (f.Kind == "" || strings.EqualFold(f.Kind, r.kind)) // as types of claims are found
}

// maxLooked limits how many claims one page looks at, and chunk how many at
// once.
const (
	maxLooked = 1000
	chunk     = 200
)

// List reads claims numbered below before, newest first, and returns where the
// list continues: 0 at its end. A page may be short.
func (s *Service) List(ctx context.Context, f Filter, before int64, limit int) (out []*api.Claim, next int64, err error) {
	c := web.CallerFrom(ctx)
	var about int64
	if f.Subject != "" {
		subject, err := s.cfg.Entities.Find(ctx, s.db, f.Subject)
		if fault.KindOf(err) == fault.NotFound {
			return nil, 0, nil
		} else if err != nil {
			return nil, 0, err
		}
		about = subject.NID
	}
	if _, err := numberOf(f.Collection); f.Collection != "" && err != nil {
		return nil, 0, nil
	}
	if before == 0 {
		before = 1<<63 - 1
	}
	for looked := 0; looked < maxLooked; looked += chunk {
		all, err := s.look(ctx, f, about, before)
		if err != nil {
			return nil, 0, err
		}
		for i := range all {
			if !f.fits(c, &all[i]) {
				continue
			}
			if len(out) == limit {
				return out, before, nil
			}
			v, err := all[i].view(false)
			if err != nil {
				return nil, 0, err
			}
			out, before = append(out, v), all[i].nid
		}
		if len(all) < chunk {
			return out, 0, nil
		}
		before = all[len(all)-1].nid
	}
	return out, before, nil
}

// look reads claims numbered below before by the index that fits a filter best.
func (s *Service) look(ctx context.Context, f Filter, about, before int64) ([]row, error) {
	ws := web.CallerFrom(ctx).Workspace
	var rows db.Rows
	var err error
	switch {
	case about != 0:
		rows, err = s.db.Query(ctx, listSubject, ws, before, chunk, about)
	case f.Collection != "":
		nid, _ := numberOf(f.Collection) // List has looked
		rows, err = s.db.Query(ctx, listCollection, ws, before, chunk, nid)
	case f.Status != "":
		rows, err = s.db.Query(ctx, listStatus, ws, before, chunk, f.Status)
	default:
		rows, err = s.db.Query(ctx, listAll, ws, before, chunk)
	}
	return db.Collect(rows, err, "list claims", (*row).scan)
}
