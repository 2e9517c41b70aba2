package sampling

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/once"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Versions reads a page of the versions of a design, newest first.
func (s *Service) Versions(ctx context.Context, id string, before, limit int) (items []*Design, next int, err error) {
	r, err := find(ctx, s.db, id)
	if err != nil {
		return nil, 0, err
	}
	if before == 0 {
		before = math.MaxInt32
	}
	items, err = designs(s.db.Query(ctx, listVersions, r.nid, before, limit+1))
	if err != nil || len(items) <= limit {
		return items, 0, err
	}
	return items[:limit], items[limit-1].Version, nil
}

// Recalculate makes a new version from observations; the old one stays. Faults:
// DESIGN_NOT_FOUND, SAMPLING_PARAMETERS_INVALID, INSUFFICIENT_POPULATION.
func (s *Service) Recalculate(ctx context.Context, id string, o api.SampleObserved) (web.Reply[*Design], error) {
	var c fault.Checks
	check.Reason(&c, "/reason", o.Reason, true)
	if o.Mean == nil && o.SD == nil && o.DropoutRate == nil && o.DesignEffect == nil && o.Population == nil {
		c.Add("/mean", "required", "Give at least one of mean, sd, dropoutRate, designEffect and population.")
	}
	if err := c.Err(invalidCode, invalidText); err != nil {
		return web.Reply[*Design]{}, err
	}
	return s.revise(ctx, id, o.Reason, func(d Draft) (Draft, *api.SampleObserved) {
		set := func(to **float64, v *float64) {
			if v != nil {
				*to = v
			}
		}
		set(&d.ExpectedMean, o.Mean)
		set(&d.ExpectedSD, o.SD)
		set(&d.DropoutRate, o.DropoutRate)
		set(&d.DesignEffect, o.DesignEffect)
		if o.Population != nil && Stratified(&d) {
			for i := range d.Stratification.Strata { // their shares stay
				h := &d.Stratification.Strata[i]
				if h.Weight == nil && h.Population != nil && d.Population != nil {
					w := *h.Population / *d.Population
					h.Weight = &w
				}
				h.Population = nil
			}
		}
		set(&d.Population, o.Population)
		return d, &o
	})
}

// Revise makes a new version of a design as its maker sends it. Faults are those
// of Create, and DESIGN_NOT_FOUND.
func (s *Service) Revise(ctx context.Context, id string, d Draft) (web.Reply[*Design], error) {
	return s.revise(ctx, id, "", func(Draft) (Draft, *api.SampleObserved) { return d, nil })
}

// draftOf is a design as its maker would send it now.
func draftOf(v *Design) Draft {
	d := v.SampleDesignDraft
	if s := d.Stratification; s != nil {
		one := *s
		one.Strata = slices.Clone(s.Strata)
		for i := range one.Strata {
			h := &one.Strata[i]
			h.Clusters = nil
			if one.Method != fixed {
				h.SampleSize = nil
			}
			if h.Weight != nil {
				h.Population = nil // it followed from the weight
			}
		}
		d.Stratification = &one
	}
	return d
}

func (s *Service) revise(ctx context.Context, id, reason string, change func(Draft) (Draft, *api.SampleObserved)) (web.Reply[*Design], error) {
	var none web.Reply[*Design]
	r, err := find(ctx, s.db, id)
	if err != nil {
		return none, err
	}
	d, observed := change(draftOf(&r.Design))
	d.DesignID = r.DesignID
	if d.ProjectID != r.project {
		return none, fault.New(fault.Invalid, invalidCode, invalidText).With(fault.Field{Pointer: "/projectId", Code: "read_only", Detail: "A design cannot move to another project."})
	}
	if observed != nil {
		d.SurveyID = "" // the survey it was drawn for has its list
	}
	v, err := s.prepare(ctx, d)
	if err != nil {
		return none, err
	}
	v.Version, v.Created, v.CreatedBy, v.Links = r.version+1, s.now(), web.CallerFrom(ctx).DID, r.Links
	v.Observed, v.Reason = observed, reason
	return once.Do(ctx, s.cfg.Idem, func(tx *db.Tx) (web.Reply[*Design], error) {
		if err := s.storeVersion(ctx, tx, r, v); err != nil {
			return none, err
		}
		return replyDesign(v, http.StatusCreated), s.record(ctx, tx, "sampling.design_updated", v, nil)
	})
}

// storeVersion stores v as the version after that of r, or in its place.
func (s *Service) storeVersion(ctx context.Context, tx *db.Tx, r *designRow, v *Design) error {
	body, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode sample design: %w", err)
	}
	n, err := tx.Exec(ctx, updateDesign, r.nid, r.version, v.Version, string(body))
	if err != nil {
		return fmt.Errorf("update sample design: %w", err)
	}
	if n == 0 {
		return web.Overtaken()
	}
	_, err = tx.Exec(ctx, insertVersion, r.nid, v.Version, string(body))
	return db.Wrap("insert version", err)
}

// Approve records another person's decision about the newest version. Faults:
// DESIGN_NOT_FOUND, VERSION_NOT_FOUND, APPROVER_IS_MAKER,
// SAMPLING_PARAMETERS_INVALID.
func (s *Service) Approve(ctx context.Context, id string, a api.SampleApproval) (web.Reply[*Design], error) {
	var none web.Reply[*Design]
	var c fault.Checks
	check.OneOf(&c, "/status", a.Status, "approved", "rejected")
	check.Short(&c, "/note", a.Note, check.MaxReason)
	if err := c.Err(invalidCode, "The decision is not valid."); err != nil {
		return none, err
	}
	r, err := find(ctx, s.db, id)
	if err != nil {
		return none, err
	}
	if a.Version != 0 && a.Version != r.version {
		return none, fault.New(fault.NotFound, "VERSION_NOT_FOUND", fmt.Sprintf("The newest version is %d; earlier versions can no longer be approved or rejected.", r.version))
	}
	caller := web.CallerFrom(ctx).DID
	if own, err := s.cfg.ActsFor.Made(ctx, r.CreatedBy); err != nil {
		return none, err
	} else if own {
		return none, fault.New(fault.Forbidden, "APPROVER_IS_MAKER", "You made this version. Somebody else must decide about it.")
	}
	v := r.Design
	v.Verification = api.SampleVerification{Status: "approved", Verifier: caller, Timestamp: s.now(), Note: a.Note}
	if a.Status != "" {
		v.Verification.Status = a.Status
	}
	return once.Do(ctx, s.cfg.Idem, func(tx *db.Tx) (web.Reply[*Design], error) {
		if err := s.storeVersion(ctx, tx, r, &v); err != nil {
			return none, err
		}
		return replyDesign(&v, 0), s.record(ctx, tx, "sampling.design_decided", &v, map[string]string{"status": v.Verification.Status})
	})
}
