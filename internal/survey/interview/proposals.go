package interview

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/once"
	"github.com/hearth-dmrv/hearth/internal/privacy/vault"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/survey/response"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Twin is a twin as its reader may see it. Values are its properties, and its name as
// label.
type Twin struct {
	Protocol, Type, Project string
	Revision                int64
	Values                  map[string]jsontext.Value
	Withheld                []string // names that the reader may not know, of whatever revision
}

// TwinChange is a change of a twin.
type TwinChange struct {
	DID, Protocol, Type, Project string
	Values                       map[string]jsontext.Value
	Reason                       string
	Revision                     int64 // of the twin that changes
}

// Twins is the part of area A that proposals need, with the rights of the
// caller.
type Twins interface {
	// Find returns the current twin, nil when there is none that the caller may
	// see.
	Find(ctx context.Context, q db.Querier, did string) (*Twin, error)
	// At returns a twin at an earlier revision, nil when that is not known.
	At(ctx context.Context, q db.Querier, did string, revision int64) (*Twin, error)
	// Personal lists the properties that a protocol marks as personal.
	Personal(ctx context.Context, protocol string) ([]string, error)
	// Create prepares a new twin; the returned function stores it and returns its
	// revision.
	Create(ctx context.Context, c TwinChange) (func(tx *db.Tx) (int64, error), error)
	// TwinChange changes a twin and returns its revision.
	Change(ctx context.Context, tx *db.Tx, c TwinChange) (int64, error)
}

// ProposalsConfig configures Proposals. Now has a default.
type ProposalsConfig struct {
	DB      *db.DB
	Surveys *survey.Service
	Vault   *vault.Vault
	Events  *event.Log
	Idem    *once.Store
	Cursors web.Cursors
	Twins   Twins
	Now     func() time.Time
}

// Proposals holds the use cases of proposals.
type Proposals struct {
	cfg ProposalsConfig
	db  *db.DB
}

// NewProposals makes Proposals over a migrated store.
func NewProposals(cfg ProposalsConfig) *Proposals {
	if cfg.Now == nil {
		cfg.Now = cfg.DB.Now
	}
	return &Proposals{cfg: cfg, db: cfg.DB}
}

// Asked stores what a response proposes for a twin, in the transaction of the
// response, new or corrected. Decided proposals do not change.
func (s *Proposals) Asked(ctx context.Context, tx *db.Tx, p *response.Prepared) error {
	o, a := p.Open(), p.Asked()
	if o.Form.Template().Entity == nil {
		return nil
	}
	if old := p.Draft().Supersedes; old != "" {
		if err := s.withdraw(ctx, tx, o, old, nil); err != nil {
			return err
		}
	}
	var asked []*proposal
	for _, action := range []string{create, update} {
		if a != nil && (action == create && a.Create || action == update && a.Update) {
			asked = append(asked, s.rowOf(p, action))
		}
	}
	if err := s.withdraw(ctx, tx, o, p.ID(), asked); err != nil || len(asked) == 0 {
		return err
	}
	text, err := json.Marshal(proposedBy(a), json.Deterministic(true))
	if err != nil {
		return fmt.Errorf("encode proposal: %w", err)
	}
	there, err := proposalsOf(ctx, tx, o.Workspace, p.ID())
	if err != nil {
		return err
	}
	for _, r := range asked {
		r.sealed = text // plain as yet
		i := slices.IndexFunc(there, func(old *proposal) bool { return old.action == r.action })
		if i >= 0 {
			err = s.rewrite(ctx, tx, o, there[i], r)
		} else {
			err = s.store(ctx, tx, o, r)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// rowOf is what a response asks, before it is sealed.
func (s *Proposals) rowOf(p *response.Prepared, action string) *proposal {
	o, d, a := p.Open(), p.Draft(), p.Asked()
	r := &proposal{
		nid: s.db.NewNID(), ws: o.Workspace, survey: o.NID, responseID: p.ID(), household: d.HouseholdID, list: a.List, action: action, twin: a.ID,
		at: s.cfg.Now().UnixMilli(),
	}
	if action == create {
		if r.twin = madeDID(o.Workspace, p.ID()); d.Entity != nil && form.IsUUID(d.Entity.ID) {
			r.twin = form.Twin(d.Entity.ID)
		}
	} else if e := d.Entity; e != nil {
		r.base, r.trunk, r.branch = e.BaseVersion, e.TrunkVersion, e.BranchID
	}
	return r
}

// rewrite has a proposal that is not decided say what the response says now. Sealing
// makes another version of it.
func (s *Proposals) rewrite(ctx context.Context, tx *db.Tx, o *survey.Open, old, r *proposal) error {
	sealed, err := s.cfg.Vault.Seal(ctx, tx, old.ref(o.Project), old.bind(), r.sealed)
	if err != nil {
		return err
	}
	next := *old
	if next.sealed = sealed; r.action == update && r.twin != old.twin { // a correction does not name a new one again
		next.twin, next.base, next.trunk, next.branch = r.twin, 0, 0, "" // the device spoke of the other twin
	}
	_, err = tx.Exec(ctx, rewriteProposal, next.nid, next.twin, next.sealed, next.base, next.trunk, next.branch)
	return db.Wrap("rewrite proposal", err)
}

// store seals a new proposal.
func (s *Proposals) store(ctx context.Context, tx *db.Tx, o *survey.Open, r *proposal) (err error) {
	if r.sealed, err = s.cfg.Vault.Seal(ctx, tx, r.ref(o.Project), r.bind(), r.sealed); err != nil {
		return err
	}
	if err := insertProposal(ctx, tx, r); err != nil {
		return err
	}
	return s.announce(ctx, tx, o, r, "proposal.made")
}

// withdraw ends proposals that a response no longer makes.
func (s *Proposals) withdraw(ctx context.Context, tx *db.Tx, o *survey.Open, responseID string, asked []*proposal) error {
	there, err := proposalsOf(ctx, tx, o.Workspace, responseID)
	if err != nil {
		return err
	}
	for _, r := range there {
		if r.status != open || slices.ContainsFunc(asked, func(a *proposal) bool { return a.action == r.action }) {
			continue
		}
		if _, err := tx.Exec(ctx, withdrawProposal, r.nid); err != nil {
			return fmt.Errorf("withdraw proposal: %w", err)
		}
	}
	return nil
}

// Wiped forgets the proposals of a redacted response.
func (s *Proposals) Wiped(ctx context.Context, tx *db.Tx, ws, responseID string) error {
	_, err := tx.Exec(ctx, deleteProposals, ws, responseID)
	return db.Wrap("forget proposals", err)
}

// Erase forgets what interviews with a person proposed, and what was proposed for
// its twin. It is an erase.Eraser.
func (s *Proposals) Erase(ctx context.Context, tx *db.Tx, ws, person string) (int64, error) {
	if err := vault.BeginErasure(ctx, tx, s.db.Dialect(), ws, person); err != nil {
		return 0, err
	}
	n, err := tx.Exec(ctx, deleteProposalsAbout, ws, person)
	return n, db.Wrap("erase proposals", err)
}

type proposalData struct {
	Survey   string `json:"surveyId"`
	Proposal string `json:"proposalId"`
	List     string `json:"list"`
	Action   string `json:"action"`
	Conflict string `json:"conflict,omitzero"`
}

func (s *Proposals) announce(ctx context.Context, tx *db.Tx, o *survey.Open, r *proposal, kind string) error {
	return s.cfg.Events.Append(ctx, tx, event.Event{
		Workspace: r.ws, Type: kind, Subject: r.responseID, Data: proposalData{o.SurveyID, proposalID(r.nid), r.list, r.action, r.conflict},
	})
}

// read unseals a proposal; nil when it was erased.
func (s *Proposals) read(ctx context.Context, q db.Querier, o *survey.Open, r *proposal) (*proposed, error) {
	text, err := s.cfg.Vault.Open(ctx, q, r.ref(o.Project), r.bind(), r.sealed)
	if errors.Is(err, vault.ErrDestroyed) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	c := &proposed{}
	if err := json.Unmarshal(text, c); err != nil {
		return nil, fmt.Errorf("read proposal: %w", err)
	}
	return c, nil
}
