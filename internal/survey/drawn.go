package survey

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/privacy/vault"
	"github.com/hearth-dmrv/hearth/internal/survey/campaign"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// DrawnHome is a household that a draw puts on a list.
type DrawnHome struct {
	Household, Stratum, Cluster string
	Replaces                    string // the drawn household it stands in for
}

// Drawable is the sampling of a survey of a project that a draw can make the list
// of: it has not started, and nobody is on its list. Faults: SURVEY_NOT_FOUND,
// SURVEY_LOCKED, SURVEY_LIST_NOT_EMPTY.
func (s *Service) Drawable(ctx context.Context, q db.Querier, id, project string) (*campaign.Sampling, error) {
	r, v, err := read(ctx, q, id)
	if err != nil {
		return nil, err
	}
	if r.Project != project {
		return nil, notFound()
	}
	if r.Status != StatusDraft && r.Status != StatusReady {
		return nil, lockedFault(fault.Field{Pointer: "/status", Code: "locked", Detail: "The survey is " + string(r.Status) + "; a draw makes the list of one that has not started."})
	}
	listed, err := anyHousehold(ctx, q, r.NID)
	if err == nil && listed {
		err = fault.New(fault.Conflict, "SURVEY_LIST_NOT_EMPTY", "The survey has households on its list already. Draw for another survey, such as a clone of it.")
	}
	return v.Sampling, err
}

// AddDrawn puts households of a draw on the list of a survey, at most 1,000, in
// one transaction with what else tx stores. Those that are on it stay as they
// are. A household that was erased comes with its mark: it was drawn, and is not
// asked. Faults: SURVEY_NOT_FOUND, SURVEY_LOCKED.
func (s *Service) AddDrawn(ctx context.Context, tx *db.Tx, id string, homes []DrawnHome) error {
	r, _, err := read(ctx, tx, id)
	if err != nil {
		return err
	}
	status, revision, err := touch(ctx, tx, r.NID)
	if err != nil {
		return err
	}
	if status == StatusClosed || status == StatusArchived {
		return lockedFault(fault.Field{Pointer: "/status", Code: "locked", Detail: "The survey is " + string(status) + "; its list does not change any more."})
	}
	fresh, err := s.fresh(ctx, tx, r, homes)
	if err != nil || len(fresh) == 0 {
		return err
	}
	var deltas []Delta
	for _, h := range fresh {
		deltas = append(deltas, Delta{Stratum: h.Stratum, listed: 1})
	}
	if err := s.upsert(ctx, tx, r.NID, fresh); err != nil {
		return err
	}
	if err := s.countAll(ctx, tx, r.NID, deltas); err != nil {
		return err
	}
	s.changed(tx, r.Workspace)
	return s.events.Append(ctx, tx, event.Event{
		Workspace: r.Workspace, Type: "survey.households_changed", Subject: r.SurveyID, Revision: revision, Data: map[string]int{"added": len(fresh), "changed": 0},
	})
}

// fresh are those households of a draw that are not on the list yet.
func (s *Service) fresh(ctx context.Context, tx *db.Tx, r *Row, homes []DrawnHome) ([]Household, error) {
	ids := make([]string, len(homes))
	for i, h := range homes {
		ids[i] = h.Household
	}
	if err := vault.HoldErasures(ctx, tx, s.db.Dialect(), r.Workspace, ids...); err != nil {
		return nil, err
	}
	text, err := json.Marshal(ids)
	if err != nil {
		return nil, fmt.Errorf("encode households: %w", err)
	}
	held, err := s.findMany(ctx, tx, r.NID, string(text))
	if err != nil {
		return nil, err
	}
	gone, err := vault.ErasedAmong(ctx, tx, s.db.Dialect(), r.Workspace, string(text))
	if err != nil {
		return nil, err
	}
	var out []Household
	for _, h := range homes {
		if held[h.Household] == nil {
			out = append(out, Household{
				HouseholdID: h.Household, Stratum: h.Stratum, Cluster: h.Cluster, Source: SourceDrawn, Replaces: h.Replaces, Erased: gone[h.Household],
			})
		}
	}
	slices.SortFunc(out, func(a, b Household) int { return strings.Compare(a.HouseholdID, b.HouseholdID) })
	return out, nil
}

// SetSampling gives a survey the sampling that a draw has made of the one it has.
func (s *Service) SetSampling(ctx context.Context, id string, change func(campaign.Sampling) *campaign.Sampling) error {
	_, err := again(func() (web.Reply[*Survey], error) {
		r, old, err := read(ctx, s.db, id)
		if err != nil {
			return web.Reply[*Survey]{}, err
		}
		v := *old
		next := change(*old.Sampling)
		v.Sampling = next.Complete()
		v.Sampling.Draw = next.Draw
		return s.store(ctx, r, &v, drawnChange(), "survey.updated")
	})
	return err
}

func drawnChange() change { return change{action: "drawn"} }
