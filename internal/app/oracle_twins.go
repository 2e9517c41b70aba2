package app

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
)

// sought is what a question about twins comes to: a list to walk, and what a
// twin of it must have besides.
type sought struct {
	query    entity.Query
	types    []string // any of them; none: any type
	projects []string // DIDs, any of them; none: any project, or none
	district string
	name     string
	how      []string // what was taken for what, for the person who asked
}

// glance is what a question needs of a record, as the user may see it.
type glance struct {
	Metadata   map[string]any `json:"metadata"`
	Properties map[string]any `json:"properties"`
}

func (l lookups) findTwins(ctx context.Context, q tool.TwinQuery) (tool.Twins, error) {
	out := tool.Twins{Twins: []jsontext.Value{}}
	s, err := l.seek(ctx, q)
	if err != nil {
		return out, err
	}
	if q.Next != "" {
		nid, err := strconv.ParseInt(q.Next, 10, 64)
		if err != nil {
			return out, badArgument("next", "The value must be next of an answer before.")
		}
		s.query.After = &entity.Place{NID: nid}
	}
	last := int64(0)
	whole, err := l.walk(ctx, s, func(r *entity.Row, _ glance) (bool, error) {
		if len(out.Twins) == q.Limit {
			return false, nil
		}
		short, err := l.twins.search.Fields(ctx, &entity.Row{Workspace: auth.OperatorWorkspace}, r.Body, "did,type,status,metadata.name,properties")
		out.Twins, last = append(out.Twins, short), r.NID
		return true, err
	})
	if err != nil {
		return out, err
	}
	switch out.More = !whole; {
	case whole:
	case len(out.Twins) == q.Limit:
		out.Next = strconv.FormatInt(last, 10)
	default:
		s.how = append(s.how, fmt.Sprintf("of the first %d", tool.MaxCounted))
	}
	out.How = s.said()
	return out, nil
}

func (l lookups) countTwins(ctx context.Context, q tool.TwinQuery) (tool.Count, error) {
	var out tool.Count
	s, err := l.seek(ctx, q)
	if err != nil {
		return out, err
	}
	key, err := groupKey(q.By)
	if err != nil {
		return out, err
	}
	groups := map[string]int{}
	whole, err := l.walk(ctx, s, func(r *entity.Row, g glance) (bool, error) {
		if out.Count == tool.MaxCounted {
			return false, nil
		}
		out.Count++
		if key != nil {
			groups[key(r, g)]++
		}
		return true, nil
	})
	if err != nil {
		return out, err
	}
	for value, n := range groups {
		out.Groups = append(out.Groups, tool.Group{Value: value, Count: n})
	}
	slices.SortFunc(out.Groups, func(a, b tool.Group) int {
		if a.Count != b.Count {
			return b.Count - a.Count
		}
		return strings.Compare(a.Value, b.Value)
	})
	out.MoreThan, out.How = !whole, s.said()
	return out, nil
}

// groupKey finds the value twins are grouped by; none without a name.
func groupKey(by string) (func(r *entity.Row, g glance) string, error) {
	property, found := strings.CutPrefix(by, "properties.")
	switch {
	case by == "":
		return nil, nil
	case by == "type":
		return func(r *entity.Row, _ glance) string { return r.Type }, nil
	case by == "status":
		return func(r *entity.Row, _ glance) string { return string(r.Status) }, nil
	case by == "project":
		return func(r *entity.Row, _ glance) string { return r.Project }, nil
	case found, !strings.Contains(by, "."):
		if !found {
			property = by
		}
		return func(_ *entity.Row, g glance) string {
			if v, there := g.Properties[property]; there {
				return fmt.Sprint(v)
			}
			return ""
		}, nil
	}
	return nil, badArgument("by", "The value must be type, status, project, or a property such as properties.district.")
}

func badArgument(name, detail string) error {
	return fault.New(fault.Invalid, "INVALID_PARAMETER", name+": "+detail).With(fault.Field{Pointer: "/" + name, Code: "invalid", Detail: detail})
}

// seek finds out which twins a question means.
func (l lookups) seek(ctx context.Context, q tool.TwinQuery) (sought, error) {
	s := sought{query: entity.Query{Filter: q.Filter, Status: q.Status, Project: q.Project}, name: strings.ToLower(q.Name)}
	if q.Status != "" {
		s.how = append(s.how, "status "+q.Status)
	}
	if q.Name != "" {
		s.how = append(s.how, fmt.Sprintf("%q in the name", q.Name))
	}
	if err := l.place(ctx, q, &s); err != nil {
		return s, err
	}
	return s, l.typed(ctx, q.Type, &s)
}

// place takes a name for that of a project, or else of a district.
func (l lookups) place(ctx context.Context, q tool.TwinQuery, s *sought) error {
	if q.In == "" {
		return nil
	}
	_, err := l.walk(ctx, sought{query: entity.Query{Protocol: "did:ixo:protocol/project"}}, func(r *entity.Row, g glance) (bool, error) {
		if strings.EqualFold(nameOf(g), q.In) {
			s.projects = append(s.projects, r.DID)
		}
		return true, nil
	})
	if err != nil {
		return err
	}
	if len(s.projects) > 0 {
		s.how = append(s.how, fmt.Sprintf("in the project %q (%s)", q.In, strings.Join(s.projects, ", ")))
		if len(s.projects) == 1 && q.Project == "" {
			s.query.Project = s.projects[0]
		}
		return nil
	}
	s.district = q.In
	s.how = append(s.how, fmt.Sprintf("in the district %q, because no project has that name", q.In))
	return nil
}

// typed takes a word for a type: as it is, in another case, as a plural, or as
// the end of one, in this order.
func (l lookups) typed(ctx context.Context, word string, s *sought) error {
	if word == "" {
		return nil
	}
	exact, err := l.twins.search.List(ctx, l.core.DB, entity.Query{Type: word, Limit: 1})
	if err != nil {
		return err
	}
	if len(exact.Rows) > 0 {
		s.query.Type = word
		s.how = append(s.how, "type "+word)
		return nil
	}
	if s.types, err = l.twins.search.TypesLike(ctx, l.core.DB, word); err != nil {
		return err
	}
	if len(s.types) > 0 {
		s.how = append(s.how, "type "+strings.Join(s.types, " or "))
		if len(s.types) == 1 {
			s.query.Type = s.types[0]
		}
		return nil
	}
	s.query.Type = word // none: the answer is empty, and says of what
	s.how = append(s.how, fmt.Sprintf("type %s, which no twin has", word))
	return nil
}

// walk shows every twin that is meant, until there are no more (whole), each
// says no, or many have been looked at.
func (l lookups) walk(ctx context.Context, s sought, each func(r *entity.Row, g glance) (bool, error)) (whole bool, err error) {
	q := s.query
	q.Limit = 500
	for looked := 0; looked <= tool.MaxCounted; {
		page, err := l.twins.search.List(ctx, l.core.DB, q)
		if err != nil {
			return false, err
		}
		looked += max(len(page.Rows), 1)
		for _, r := range page.Rows {
			var g glance
			if err := json.Unmarshal(r.Body, &g); err != nil {
				return false, err
			}
			if !s.fits(r, g) {
				continue
			}
			if more, err := each(r, g); err != nil || !more {
				return false, err
			}
		}
		if page.Next == nil {
			return true, nil
		}
		q.After = page.Next
	}
	return false, nil
}

func (s *sought) fits(r *entity.Row, g glance) bool {
	switch {
	case len(s.types) > 0 && !slices.Contains(s.types, r.Type),
		len(s.projects) > 0 && !slices.Contains(s.projects, r.Project),
		s.name != "" && !strings.Contains(strings.ToLower(nameOf(g)), s.name):
		return false
	}
	return s.district == "" || slices.ContainsFunc(districts(g), func(d string) bool { return strings.EqualFold(d, s.district) })
}

// said tells what was counted or searched.
func (s *sought) said() string {
	if len(s.how) == 0 {
		return "all twins you may see"
	}
	return "twins you may see: " + strings.Join(s.how, "; ")
}

// nameOf is the name of a twin, "" when it has none that may be seen.
func nameOf(g glance) string {
	for _, from := range []map[string]any{g.Metadata, g.Properties} {
		if name, ok := from["name"].(string); ok && name != "" {
			return name
		}
	}
	return ""
}

// districts are where a twin says it is.
func districts(g glance) []string {
	var out []string
	for _, from := range []map[string]any{g.Properties, g.Metadata} {
		place, _ := from["location"].(map[string]any)
		for _, v := range []any{from["district"], place["district"]} {
			if d, ok := v.(string); ok {
				out = append(out, d)
			}
		}
	}
	return out
}
