package survey

import (
	"context"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/order"
	"github.com/hearth-dmrv/hearth/internal/privacy/vault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// DrawnHome is a household that a draw puts on a list.
type DrawnHome struct {
	Household, Stratum, Cluster string
	Replaces                    string // the drawn household it stands in for
	Reason                      string // why it does
}

// Drawable returns the sampling of a survey whose list a draw can fill: a survey
// of the project that has not started, with an empty list. Faults:
// SURVEY_NOT_FOUND, SURVEY_LOCKED, SURVEY_LIST_NOT_EMPTY.
func (s *Service) Drawable(ctx context.Context, q db.Querier, id, project string) (*Sampling, error) {
	r, v, err := read(ctx, q, id)
	if err != nil {
		return nil, err
	}
	if r.Project != project {
		return nil, notFound()
	}
	if r.Status != StatusDraft && r.Status != StatusReady {
		return nil, lockedFault(fault.Field{Pointer: "/status", Code: "locked", Detail: "The survey is " + string(r.Status) + "; only a survey that has not started can get its list from a draw."})
	}
	listed, err := anyHousehold(ctx, q, r.NID)
	if err == nil && listed {
		err = fault.New(fault.Conflict, "SURVEY_LIST_NOT_EMPTY", "The survey already has households on its list. Draw for another survey, such as a clone of this one.")
	}
	return v.Sampling, err
}

// Undrawn refuses a survey whose list another draw has made, because two designs
// may have been committed for one survey. Faults: SURVEY_NOT_FOUND,
// SURVEY_LIST_NOT_EMPTY.
func (s *Service) Undrawn(ctx context.Context, id, draw string) error {
	_, v, err := read(ctx, s.db, id)
	if err == nil && v.Sampling.Draw != nil && v.Sampling.Draw.DrawID != draw {
		err = fault.New(fault.Conflict, "SURVEY_LIST_NOT_EMPTY", "Another draw already made the list of the survey. Draw for another survey, such as a clone of this one.")
	}
	return err
}

// AddDrawn adds households of a draw to the list of a survey, at most 1,000, in one
// transaction with what else tx stores. Households that a draw has added already do not
// change. One that was listed by hand meanwhile counts as drawn from now on; otherwise
// listing would be a way to take it out of the sample. An erased household is listed with
// its mark: it was drawn, and will not be asked. Faults: SURVEY_NOT_FOUND, SURVEY_LOCKED.
func (s *Service) AddDrawn(ctx context.Context, tx *db.Tx, id string, homes []DrawnHome) error {
	r, v, err := read(ctx, tx, id)
	if err != nil {
		return err
	}
	status, revision, err := touch(ctx, tx, r.NID)
	if err != nil {
		return err
	}
	if status == StatusClosed || status == StatusArchived {
		return lockedFault(fault.Field{Pointer: "/status", Code: "locked", Detail: "The survey is " + string(status) + "; its list can no longer change."})
	}
	fresh, deltas, err := s.fresh(ctx, tx, r, homes)
	if err != nil || len(fresh) == 0 {
		return err
	}
	if err := s.upsert(ctx, tx, r.NID, v.Round, fresh); err != nil {
		return err
	}
	for _, h := range homes {
		if err := s.markReplaced(ctx, tx, r.NID, h); err != nil {
			return err
		}
	}
	if err := s.countAll(ctx, tx, r.NID, deltas); err != nil {
		return err
	}
	s.changed(tx, r.Workspace)
	return s.events.Append(ctx, tx, event.Event{
		Workspace: r.Workspace, Type: "survey.households_changed", Subject: r.SurveyID, Revision: revision, Data: map[string]int{"added": len(fresh), "changed": 0},
	})
}

// markReplaced notes on the list which household stands in for another one, by
// whom and why.
func (l *lists) markReplaced(ctx context.Context, tx *db.Tx, survey int64, h DrawnHome) error {
	if h.Replaces == "" {
		return nil
	}
	now := l.now()
	text, err := json.Marshal(Replacement{HouseholdID: h.Household, Reason: h.Reason, By: web.CallerFrom(ctx).DID, At: now})
	if err != nil {
		return fmt.Errorf("encode replacement: %w", err)
	}
	_, err = tx.Exec(ctx, markReplaced, survey, h.Replaces, string(text), now.UnixMilli())
	return db.Wrap("mark replaced household", err)
}

// fresh returns the households of a draw that are not yet on the list as drawn, and
// how they change the counts.
func (s *Service) fresh(ctx context.Context, tx *db.Tx, r *Row, homes []DrawnHome) (out []Household, deltas []Delta, _ error) {
	ids := make([]string, len(homes))
	for i, h := range homes {
		ids[i] = h.Household
	}
	if err := vault.HoldErasures(ctx, tx, s.db.Dialect(), r.Workspace, ids...); err != nil {
		return nil, nil, err
	}
	text, err := json.Marshal(ids)
	if err != nil {
		return nil, nil, fmt.Errorf("encode households: %w", err)
	}
	held, err := s.findMany(ctx, tx, r.NID, string(text))
	if err != nil {
		return nil, nil, err
	}
	gone, err := vault.ErasedAmong(ctx, tx, s.db.Dialect(), r.Workspace, string(text))
	if err != nil {
		return nil, nil, err
	}
	for _, h := range homes {
		next := Household{
			HouseholdID: h.Household, Stratum: h.Stratum, Cluster: h.Cluster, Source: SourceDrawn, Replaces: h.Replaces, Erased: gone[h.Household],
		}
		if old := held[h.Household]; old != nil {
			if old.Source != SourceListed {
				continue
			}
			next = *old
			next.Stratum, next.Cluster, next.Source, next.Replaces = h.Stratum, h.Cluster, SourceDrawn, h.Replaces
			deltas = append(deltas, Delta{Stratum: old.Stratum, Group: old.Group, listed: -1})
		}
		out, deltas = append(out, next), append(deltas, Delta{Stratum: next.Stratum, Group: next.Group, listed: 1})
	}
	order.Sort(out, func(a, b Household) int { return strings.Compare(a.HouseholdID, b.HouseholdID) })
	return out, deltas, nil
}

// SetSampling gives a survey the sampling that a draw has derived from its own.
func (s *Service) SetSampling(ctx context.Context, id string, change func(Sampling) *Sampling) error {
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
