package app

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/history"
	"github.com/hearth-dmrv/hearth/internal/entity/protocol"
	"github.com/hearth-dmrv/hearth/internal/entity/relationship"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/privacy"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/survey/interview"
	"github.com/hearth-dmrv/hearth/internal/survey/openrosa"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// proposalsOf makes what keeps what interviews ask of twins.
func proposalsOf(a *App, s *surveys) *interview.Proposals {
	return interview.NewProposals(interview.ProposalsConfig{DB: a.DB, Surveys: s.surveys, Vault: s.vault, Events: a.Events, Idem: a.Idem, Cursors: a.cursors, Twins: asked{a}})
}

// asked does to twins what interviews ask, for proposals. Area A is made after area B.
type asked struct{ a *App }

var _ interview.Twins = asked{}

// twinOf is a record as proposals and lists see it.
func twinOf(body []byte) (*interview.Twin, error) {
	var e struct {
		Revision   int64                     `json:"revision"`
		Properties map[string]jsontext.Value `json:"properties"`
		Metadata   map[string]jsontext.Value `json:"metadata"`
	}
	if err := json.Unmarshal(body, &e); err != nil {
		return nil, fmt.Errorf("read twin: %w", err)
	}
	out := &interview.Twin{Revision: e.Revision, Values: e.Properties}
	if out.Values == nil {
		out.Values = map[string]jsontext.Value{}
	}
	if name := e.Metadata["name"]; name != nil {
		out.Values[form.LabelName] = name
	}
	return out, nil
}

// seen is a record of a twin, its newest or an earlier one, as the caller may see it.
// Who controls the twin now decides, and every personal name is withheld, whether this
// record has it or not: another revision may.
func (t asked) seen(ctx context.Context, q db.Querier, r *entity.Row, body []byte) (*interview.Twin, error) {
	hidden, err := t.a.twins.entities.See(ctx).Hidden(ctx, q, r.Protocol, r.Body)
	if err != nil {
		return nil, err
	}
	if body, err = privacy.Without(body, hidden); err != nil {
		return nil, err
	}
	out, err := twinOf(body)
	if err != nil {
		return nil, err
	}
	out.Protocol, out.Type, out.Project, out.Withheld = r.Protocol, r.Type, r.Project, slices.Clone(hidden)
	if slices.Contains(hidden, "name") {
		out.Withheld = append(out.Withheld, form.LabelName)
	}
	return out, nil
}

// Find implements interview.Twins.
func (t asked) Find(ctx context.Context, q db.Querier, did string) (*interview.Twin, error) {
	r, err := t.a.twins.entities.Find(ctx, q, did)
	if fault.KindOf(err) == fault.NotFound {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	return t.seen(ctx, q, r, r.Body)
}

// At implements interview.Twins.
func (t asked) At(ctx context.Context, q db.Querier, did string, revision int64) (*interview.Twin, error) {
	r, err := t.a.twins.entities.Find(ctx, q, did)
	if err != nil {
		return nil, err
	}
	body, _, err := history.At(ctx, q, r, strconv.FormatInt(revision, 10))
	if fault.KindOf(err) == fault.NotFound {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	return t.seen(ctx, q, r, body)
}

// Personal implements interview.Twins.
func (t asked) Personal(ctx context.Context, id string) ([]string, error) {
	return t.a.twins.protocols.Personal(ctx, t.a.DB, web.CallerFrom(ctx).Workspace, id)
}

// parts are the properties and the name that a change is made of.
func parts(c interview.TwinChange) (properties, metadata jsontext.Value, err error) {
	values := map[string]jsontext.Value{}
	for name, v := range c.Values {
		if name == form.LabelName {
			metadata = jsontext.Value(`{"name":` + string(v) + `}`)
			continue
		}
		values[name] = v
	}
	properties, err = json.Marshal(values, json.Deterministic(true))
	return properties, metadata, err
}

// Create implements interview.Twins. The twin belongs to the project of the survey, held
// here or not: the lists of the survey have no others.
func (t asked) Create(ctx context.Context, c interview.TwinChange) (func(tx *db.Tx) (int64, error), error) {
	properties, metadata, err := parts(c)
	if err != nil {
		return nil, err
	}
	d := entity.Draft{DID: c.DID, Type: c.Type, Protocol: c.Protocol, Properties: entity.Object{Value: properties}, Metadata: entity.Object{Value: metadata}}
	d.Relationships = []entity.RelationDraft{{Role: relationship.Project, Target: c.Project}}
	p, err := t.a.twins.entities.Prepare(ctx, d)
	if err != nil {
		return nil, err
	}
	return func(tx *db.Tx) (int64, error) {
		r, err := t.a.twins.entities.StoreTx(ctx, tx, p)
		if err != nil {
			return 0, err
		}
		return r.Revision, nil
	}, nil
}

// Change implements interview.Twins.
func (t asked) Change(ctx context.Context, tx *db.Tx, c interview.TwinChange) (int64, error) {
	properties, metadata, err := parts(c)
	if err != nil {
		return 0, err
	}
	merge := `{"properties":` + string(properties)
	if metadata != nil {
		merge += `,"metadata":` + string(metadata)
	}
	r, err := t.a.twins.entities.PatchTx(ctx, tx, c.DID, web.ETag(c.Revision), entity.Change{Merge: []byte(merge + "}"), Reason: c.Reason})
	if err != nil {
		return 0, err
	}
	return r.Revision, nil
}

// listQuery finds the twins of an entity list: those of the project of the survey, and
// no others where that project is not held here.
func listQuery(project string, l *survey.EntityList, limit int) entity.Query {
	return entity.Query{Filter: l.Filter, Type: l.Type, Protocol: l.Protocol, Project: project, Limit: limit}
}

// checkList refuses an entity list whose protocol is not there, whose filter the search
// refuses to collectors, or whose properties the protocol does not declare.
func (t asked) checkList(ctx context.Context, project string, l survey.EntityList, properties []string) error {
	a := t.a
	c := web.CallerFrom(ctx)
	if !c.May("entities:read") {
		return fault.New(fault.Forbidden, "SCOPE_MISSING", "Offering twins to collectors needs the scope entities:read.")
	}
	if _, err := a.twins.protocols.Find(ctx, c.Workspace, l.Protocol, ""); err != nil {
		return err
	}
	if l.Label != "" {
		properties = append(slices.Clone(properties), l.Label)
	}
	var wrong fault.Checks
	for _, name := range properties {
		found, _, err := a.twins.protocols.Declaring(ctx, c.Workspace, name)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(found, func(d protocol.Declared) bool { return d.Protocol == l.Protocol }) {
			wrong.Add("/properties", "unknown", "The protocol does not declare the property "+name+".")
		}
	}
	if err := wrong.Err("ENTITY_LIST_INVALID", "The entity list is not valid."); err != nil {
		return err
	}
	// Collectors have no scope for personal data, whatever the key's maker has.
	plain := web.WithCaller(ctx, web.Caller{Workspace: c.Workspace, Projects: c.Projects, Scopes: []string{"entities:read"}})
	_, err := a.twins.search.List(plain, a.DB, listQuery(project, &l, 1))
	return err
}

// listed are the twins of an entity list, as a collector may see them: those that have
// ended are not offered.
func listed(ctx context.Context, a *App, o *survey.Open, l *survey.EntityList, limit int) ([]openrosa.Twin, error) {
	q := listQuery(o.Project, l, web.MaxPage)
	var out []openrosa.Twin
	for {
		found, err := a.twins.search.List(ctx, a.DB, q)
		if err != nil {
			return nil, err
		}
		for _, r := range found.Rows {
			if r.Status == entity.StatusDeactivated {
				continue
			}
			if len(out) == limit {
				return out, nil
			}
			one, err := listedTwin(r, l)
			if err != nil {
				return nil, err
			}
			out = append(out, one)
		}
		if q.After = found.Next; found.Next == nil {
			return out, nil
		}
	}
}

// listedTwin is a row of a list.
func listedTwin(r *entity.Row, l *survey.EntityList) (openrosa.Twin, error) {
	t, err := twinOf(r.Body)
	if err != nil {
		return openrosa.Twin{}, err
	}
	label := form.LabelName
	if l.Label != "" {
		label = l.Label
	}
	out := openrosa.Twin{DID: r.DID, Label: plain(t.Values[label]), Revision: r.Revision}
	if out.Label == "" {
		out.Label = r.DID
	}
	for _, name := range l.Properties {
		out.Values = append(out.Values, plain(t.Values[name]))
	}
	return out, nil
}

// plain is a value as a cell has it.
func plain(v jsontext.Value) string {
	if v.Kind() != '"' {
		return string(v)
	}
	var s string
	if json.Unmarshal(v, &s) != nil {
		return ""
	}
	return s
}
