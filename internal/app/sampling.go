package app

import (
	"context"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/protocol"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/sampling"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// designOf is what a survey must agree with that names a sample design. The
// service of these is made after that of surveys.
func (s *surveys) designOf(ctx context.Context, q db.Querier, project, id string) (*survey.Target, error) {
	return s.sampling.Target(ctx, q, project, id)
}

// methodologyOf is the target for surveys in the protocol of a methodology. Area
// A is made after area B.
func methodologyOf(ctx context.Context, a *App, ws string, m api.SurveyMethodology) (*survey.Target, error) {
	wrong := func(at, code, detail string) error {
		return fault.New(fault.Invalid, "SURVEY_INVALID", "The survey is not valid.").With(fault.Field{Pointer: at, Code: code, Detail: detail})
	}
	p, err := a.twins.protocols.Find(ctx, ws, m.ID, m.Version)
	switch {
	case fault.KindOf(err) == fault.NotFound:
		return nil, nil // of a registry elsewhere
	case fault.CodeOf(err) != "":
		return nil, wrong("/methodology/id", "not_published", fault.As(err).Message)
	case err != nil:
		return nil, err
	}
	rule, names := protocol.FindPrecision(p.ClaimTypes(), m.ClaimType)
	if rule == nil {
		if m.ClaimType != "" || len(names) > 1 {
			return nil, wrong("/methodology/claimType", "unknown", "Name the type of claims whose precision applies. The protocol has one for: "+strings.Join(names, ", ")+".")
		}
		return nil, nil
	}
	t := &survey.Target{ParameterType: rule.ParameterType, Tail: rule.Tail, Confidence: rule.Confidence, OnMiss: rule.OnMiss}
	for _, one := range []struct {
		v  float64
		to **float64
	}{{rule.Precision, &t.Precision}, {rule.MarginOfError, &t.MarginOfError}, {rule.Limit, &t.MissLimit}} {
		if one.v > 0 {
			*one.to = &one.v
		}
	}
	return t, nil
}

// registry gives the households that a query finds among the twins the caller may
// see, all as they were at one moment, and the number of the newest event before
// it. Those that have ended are left out unless the query asks for them.
func registry(ctx context.Context, a *App, project string, q api.SampleQuery, visit func(sampling.Row) error) (int64, error) {
	ws := web.CallerFrom(ctx).Workspace
	events, err := a.Events.Range(ctx, ws)
	if err != nil {
		return 0, err
	}
	query := entity.Query{Filter: q.Filter, Type: q.Type, Protocol: q.Protocol, Status: q.Status, Limit: web.MaxPage}
	if held, _, err := projectOf(ctx, a.DB, ws, project); err != nil {
		return 0, err
	} else if held {
		query.Project = project
	}
	err = a.DB.View(ctx, func(v db.Querier) error {
		for {
			found, err := a.twins.search.List(ctx, v, query)
			if err != nil {
				return err
			}
			for _, r := range found.Rows {
				if r.DomainType != "household" || q.Status == "" && string(r.Status) == "deactivated" {
					continue
				}
				personal, err := a.twins.protocols.Personal(ctx, v, ws, r.Protocol)
				if err != nil {
					return err
				}
				row, err := framed(r, q, personal)
				if err == nil {
					err = visit(row)
				}
				if err != nil {
					return err
				}
			}
			if query.After = found.Next; found.Next == nil {
				return nil
			}
		}
	})
	return events.Newest, err
}

// checkRegistry refuses a query that the search of twins refuses. Faults are those
// of search.
func checkRegistry(ctx context.Context, a *App, q api.SampleQuery) error {
	_, err := a.twins.search.List(ctx, a.DB, entity.Query{Filter: q.Filter, Type: q.Type, Protocol: q.Protocol, Status: q.Status, Limit: 1})
	return err
}

// framed is a household for a frame. A frame is published and stays when a
// household is erased, so it contains no personal data, whoever asks. The fault
// is FRAME_INVALID.
func framed(r *entity.Row, q api.SampleQuery, personal []string) (sampling.Row, error) {
	out := sampling.Row{Household: r.DID}
	for _, name := range personal {
		if name == q.Stratum || name == q.Cluster {
			return out, fault.New(fault.Unprocessable, "FRAME_INVALID", "The property "+name+" is personal and cannot be a stratum or a cluster: frames are published.")
		}
	}
	if q.Stratum == "" && q.Cluster == "" {
		return out, nil
	}
	e, err := r.Entity()
	if err != nil {
		return out, err
	}
	var held map[string]jsontext.Value
	if err := json.Unmarshal(e.Properties.Value, &held); err != nil {
		return out, fmt.Errorf("read household: %w", err)
	}
	for name, to := range map[string]*string{q.Stratum: &out.Stratum, q.Cluster: &out.Cluster} {
		switch v := held[name]; v.Kind() {
		case '"':
			if err := json.Unmarshal(v, to); err != nil {
				return out, fmt.Errorf("read %s of a household: %w", name, err)
			}
		case '0', 't', 'f':
			*to = string(v)
		}
	}
	return out, nil
}
