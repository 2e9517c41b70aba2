package interview

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/privacy/vault"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// DraftsConfig configures Drafts. Now has a default.
type DraftsConfig struct {
	DB      *db.DB
	Surveys *survey.Service
	Vault   *vault.Vault
	Cursors web.Cursors
	Now     func() time.Time
}

// Drafts keeps interviews that collectors have begun and not sent, so that
// closing a browser loses nothing.
type Drafts struct {
	cfg DraftsConfig
	db  *db.DB
}

// NewDrafts makes Drafts over a migrated store.
func NewDrafts(cfg DraftsConfig) *Drafts {
	cfg.Now = db.Clock(cfg.DB, cfg.Now)
	return &Drafts{cfg: cfg, db: cfg.DB}
}

// Save stores what a collector has so far, and replaces what was saved before.
// ifMatch may be "": then the last one to save wins. Faults: DRAFT_INVALID,
// SURVEY_NOT_FOUND, SURVEY_NOT_ACTIVE, COLLECTOR_UNKNOWN, HOUSEHOLD_ERASED,
// DRAFT_SENT, TOO_MANY_DRAFTS, STALE_REVISION.
func (s *Drafts) Save(ctx context.Context, surveyID, id, ifMatch string, c Content) (web.Reply[*DraftSummary], error) {
	var out web.Reply[*DraftSummary]
	if err := c.check(id); err != nil {
		return out, err
	}
	o, err := s.cfg.Surveys.Open(ctx, surveyID)
	if err != nil {
		return out, err
	}
	if err := mayCollect(ctx, o); err != nil {
		return out, err
	}
	text, err := json.Marshal(&c)
	if err != nil {
		return out, fmt.Errorf("encode draft: %w", err)
	}
	r, nid := s.named(ctx, o, id), s.db.NewNID()
	now := s.cfg.Now()
	err = s.db.InTx(ctx, func(tx *db.Tx) error {
		next := *r
		if err := s.saveTx(ctx, tx, o, saving{row: &next, nid: nid, household: c.HouseholdID, text: text, ifMatch: ifMatch, now: now}); err != nil {
			return err
		}
		out = web.Reply[*DraftSummary]{Value: summary(o.SurveyID, &next), ETag: web.ETag(next.revision), Status: http.StatusOK}
		if next.revision == 1 {
			out.Status = http.StatusCreated
		}
		return nil
	})
	return out, err
}

// saving is what saveTx stores.
type saving struct {
	row       *stored // named; filled in
	nid       int64
	household string
	text      []byte
	ifMatch   string
	now       time.Time
}

func (s *Drafts) saveTx(ctx context.Context, tx *db.Tx, o *survey.Open, d saving) error {
	r := d.row
	if err := vault.HoldErasures(ctx, tx, s.db.Dialect(), o.Workspace, d.household); err != nil {
		return err
	}
	if err := vault.CheckErased(ctx, tx, o.Workspace, d.household, "/householdId"); err != nil {
		return err
	}
	if sent, err := r.isSent(ctx, tx); err != nil {
		return err
	} else if sent {
		return fault.New(fault.Conflict, "DRAFT_SENT", "You already sent this interview. Correct the response instead.")
	}
	there, err := r.fill(ctx, tx)
	if err != nil {
		return err
	}
	if d.ifMatch != "" {
		if err := web.CheckMatch(d.ifMatch, r.revision); err != nil {
			return err
		}
	}
	if !there {
		if full, err := isFull(ctx, tx, o.Workspace, r.owner); err != nil {
			return err
		} else if full {
			return fault.New(fault.Conflict, "TOO_MANY_DRAFTS", fmt.Sprintf("You have %d unfinished interviews. Send or discard some first.", maxOwn))
		}
		r.nid = d.nid
	} else if r.household != d.household {
		return fault.New(fault.Conflict, "DRAFT_OF_ANOTHER", "This draft belongs to an interview with another household. Begin a new one with a different id.").
			With(fault.Field{Pointer: "/householdId", Code: "changed", Detail: "A draft cannot move to another household."})
	}
	r.household, r.revision, r.savedAt = d.household, r.revision+1, d.now.UnixMilli()
	if r.sealed, err = s.cfg.Vault.Seal(ctx, tx, r.ref(o), r.bind(), d.text); err != nil {
		return err
	}
	if ok, err := r.save(ctx, tx); err != nil || ok {
		return err
	}
	return web.Overtaken()
}

// mayCollect reports whether the caller may interview for a survey. Faults:
// SURVEY_NOT_ACTIVE, COLLECTOR_UNKNOWN.
func mayCollect(ctx context.Context, o *survey.Open) error {
	if o.Status != survey.StatusActive && o.Status != survey.StatusPaused {
		return fault.New(fault.Conflict, "SURVEY_NOT_ACTIVE", "The survey accepts no responses.")
	}
	c := web.CallerFrom(ctx)
	if o.StrictCollectors && !o.Collectors[c.DID] && !survey.AnswersItself(c) {
		return fault.New(fault.Forbidden, "COLLECTOR_UNKNOWN", "Only the collectors of the survey may interview for it.")
	}
	return nil
}

// named is the row of a draft of the caller, before it is looked for.
func (s *Drafts) named(ctx context.Context, o *survey.Open, id string) *stored {
	return &stored{ws: o.Workspace, survey: o.NID, owner: web.CallerFrom(ctx).DID, id: id}
}

func (r *stored) ref(o *survey.Open) vault.Ref {
	return vault.Ref{Workspace: r.ws, Project: o.Project, Household: r.household}
}

func summary(surveyID string, r *stored) *DraftSummary {
	saved, path := time.UnixMilli(r.savedAt).UTC(), "/v1/surveys/"+url.PathEscape(surveyID)
	return &DraftSummary{HouseholdID: r.household, DraftState: api.DraftState{
		ResponseID: r.id, SurveyID: surveyID, Revision: r.revision, SavedAt: saved, ExpiresAt: saved.Add(DraftLife),
		Links: api.DraftLinks{Self: path + "/drafts/" + url.PathEscape(r.id), Survey: path},
	}}
}

// find reads a draft of the caller. Faults: SURVEY_NOT_FOUND, DRAFT_NOT_FOUND.
func (s *Drafts) find(ctx context.Context, q db.Querier, surveyID, id string) (*survey.Open, *stored, error) {
	o, err := s.cfg.Surveys.Open(ctx, surveyID)
	if err != nil {
		return nil, nil, err
	}
	r := s.named(ctx, o, id)
	there, err := r.fill(ctx, q)
	if err == nil && (!there || s.cfg.Now().Sub(time.UnixMilli(r.savedAt)) >= DraftLife) {
		err = noDraft()
	}
	return o, r, err
}

// Get reads a draft of the caller. Faults: SURVEY_NOT_FOUND, DRAFT_NOT_FOUND.
func (s *Drafts) Get(ctx context.Context, surveyID, id string) (web.Reply[*Draft], error) {
	var out web.Reply[*Draft]
	o, r, err := s.find(ctx, s.db, surveyID, id)
	if err != nil {
		return out, err
	}
	text, err := s.cfg.Vault.Open(ctx, s.db, r.ref(o), r.bind(), r.sealed)
	if errors.Is(err, vault.ErrDestroyed) {
		return out, noDraft()
	} else if err != nil {
		return out, err
	}
	d := &Draft{DraftState: summary(o.SurveyID, r).DraftState}
	if err := json.Unmarshal(text, &d.Content); err != nil {
		return out, fmt.Errorf("read draft: %w", err)
	}
	return web.Reply[*Draft]{Value: d, ETag: web.ETag(r.revision)}, nil
}

// Discard removes a draft of the caller. Faults: SURVEY_NOT_FOUND,
// DRAFT_NOT_FOUND.
func (s *Drafts) Discard(ctx context.Context, surveyID, id string) (*DraftSummary, error) {
	var out *DraftSummary
	o, r, err := s.find(ctx, s.db, surveyID, id)
	if err != nil {
		return nil, err
	}
	err = s.db.InTx(ctx, func(tx *db.Tx) error {
		n, err := tx.Exec(ctx, deleteDraft, o.NID, r.owner, r.id)
		if err == nil && n == 0 {
			return noDraft()
		}
		out = summary(o.SurveyID, r)
		return db.Wrap("discard draft", err)
	})
	return out, err
}

// Own lists the drafts of the caller, the latest first, in all surveys it sees.
// next is 0 at the end; a page may be short.
func (s *Drafts) Own(ctx context.Context, before int64, limit int) (items []DraftSummary, next int64, err error) {
	c := web.CallerFrom(ctx)
	rows, err := s.db.Query(ctx, selectOwn, c.Workspace, c.DID, before, s.cfg.Now().Add(-DraftLife).UnixMilli(), limit+1)
	n, last := 0, int64(0)
	err = db.Each(rows, err, "list drafts", func(from db.Row) error {
		var r stored
		var surveyID, project string
		if err := from.Scan(&r.nid, &r.id, &r.household, &r.revision, &r.savedAt, &surveyID, &project); err != nil {
			return err
		}
		if n++; n > limit {
			next = last
			return nil
		}
		last = r.nid
		if c.Sees(project) {
			items = append(items, *summary(surveyID, &r))
		}
		return nil
	})
	return items, next, err
}

// Sent removes the draft of a response that the caller has sent. It is part of
// the transaction that stores the response.
func (s *Drafts) Sent(ctx context.Context, tx *db.Tx, o *survey.Open, id string) error {
	err := tx.Send(ctx, deleteDraft, o.NID, web.CallerFrom(ctx).DID, id)
	return db.Wrap("remove the draft of a response", err)
}

// Erase removes the drafts of interviews with a person, and by one. It is an
// erase.Eraser.
func (s *Drafts) Erase(ctx context.Context, tx *db.Tx, ws, person string) (int64, error) {
	if err := vault.BeginErasure(ctx, tx, s.db.Dialect(), ws, person); err != nil {
		return 0, err
	}
	n, err := tx.Exec(ctx, deletePerson, ws, person)
	return n, db.Wrap("erase drafts", err)
}

// Expire removes drafts that were last saved before a moment, and returns how
// many.
func (s *Drafts) Expire(ctx context.Context, before time.Time, limit int) (int, error) {
	var n int64
	err := s.db.InTx(ctx, func(tx *db.Tx) (err error) {
		n, err = tx.Exec(ctx, deleteOld, before.UnixMilli(), limit)
		return err
	})
	return int(n), db.Wrap("expire drafts", err)
}

// RemoveDrafts removes the drafts of a survey that is being removed.
func RemoveDrafts(ctx context.Context, tx *db.Tx, survey int64) error {
	_, err := tx.Exec(ctx, deleteSurvey, survey)
	return db.Wrap("remove drafts", err)
}
