package lookup

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
	"github.com/hearth-dmrv/hearth/internal/order"
)

// TwinList asks for a page of twins in their stored form.
type TwinList struct {
	Filter, Type, Status, Project, Protocol string // empty: any
	After                                   string // where a page before ended
	Limit                                   int
}

// Twin is a twin, as the user may see it.
type Twin struct {
	DID, Type, Status, Project string
	Place                      string // the value of After to continue behind it
	Body                       jsontext.Value
}

// sought is the interpretation of a question about twins: a list to walk, and
// further conditions on a twin.
type sought struct {
	list     TwinList
	types    []string // any of them; none: any type
	projects []string // DIDs, any of them; none: any project, or none
	district string
	name     string
	veiled   *int     // twins whose names are hidden from the user
	how      []string // how words were interpreted, for the user
}

// glance is what a question needs of a record, as the user may see it.
type glance struct {
	Metadata   map[string]any `json:"metadata"`
	Properties map[string]any `json:"properties"`
	Withheld   []string       `json:"withheld"`
}

// find answers a search with a page of its results.
func (s Source) find(ctx context.Context, q TwinQuery) (Twins, error) {
	out := Twins{Twins: []jsontext.Value{}}
	want, err := s.seek(ctx, q)
	if err != nil {
		return out, err
	}
	want.list.After = q.Next
	last := ""
	whole, err := s.walk(ctx, want, func(t Twin, _ glance) (bool, error) {
		if len(out.Twins) == q.Limit {
			return false, nil
		}
		short, err := s.Shorten(ctx, t.Body)
		out.Twins, last = append(out.Twins, short), t.Place
		return true, err
	})
	if err != nil {
		return out, err
	}
	switch out.More = !whole; {
	case whole:
	case len(out.Twins) == q.Limit:
		out.Next = last
	default:
		want.how = append(want.how, fmt.Sprintf("of the first %d", MaxCounted))
	}
	out.How = want.said()
	return out, nil
}

// count answers how many twins a question means, all and in groups.
func (s Source) count(ctx context.Context, q TwinQuery) (Count, error) {
	var out Count
	want, err := s.seek(ctx, q)
	if err != nil {
		return out, err
	}
	key, err := groupKey(q.By)
	if err != nil {
		return out, err
	}
	groups := map[string]int{}
	whole, err := s.walk(ctx, want, func(t Twin, g glance) (bool, error) {
		if out.Count == MaxCounted {
			return false, nil
		}
		out.Count++
		if key != nil {
			groups[key(t, g)]++
		}
		return true, nil
	})
	if err != nil {
		return out, err
	}
	if key != nil && groups[""] == out.Count && out.Count > 0 && q.By != "project" {
		return Count{}, tool.BadArgument("by", "None of these twins has the property "+q.By+". The value must be type, status, project, or a property such as properties.district.")
	}
	for value, n := range groups {
		out.Groups = append(out.Groups, Group{Value: value, Count: n})
	}
	order.Sort(out.Groups, func(a, b Group) int {
		if a.Count != b.Count {
			return b.Count - a.Count
		}
		return strings.Compare(a.Value, b.Value)
	})
	out.MoreThan, out.How = !whole, want.said()
	return out, nil
}

// groupKey finds the value twins are grouped by; none without a name.
func groupKey(by string) (func(t Twin, g glance) string, error) {
	property, found := strings.CutPrefix(by, "properties.")
	switch {
	case by == "":
		return nil, nil
	case by == "type":
		return func(t Twin, _ glance) string { return t.Type }, nil
	case by == "status":
		return func(t Twin, _ glance) string { return t.Status }, nil
	case by == "project":
		return func(t Twin, _ glance) string { return t.Project }, nil
	case found, !strings.Contains(by, "."):
		if !found {
			property = by
		}
		return func(_ Twin, g glance) string {
			if v, there := g.Properties[property]; there {
				return fmt.Sprint(v)
			}
			return ""
		}, nil
	}
	return nil, tool.BadArgument("by", "The value must be type, status, project, or a property such as properties.district.")
}

// seek finds out which twins a question means.
func (s Source) seek(ctx context.Context, q TwinQuery) (sought, error) {
	want := sought{list: TwinList{Filter: q.Filter, Status: q.Status, Project: q.Project}, name: strings.ToLower(q.Name), veiled: new(int)}
	if q.Status != "" {
		want.how = append(want.how, "status "+q.Status)
	}
	if q.Name != "" {
		want.how = append(want.how, fmt.Sprintf("%q in the name", q.Name))
	}
	if err := s.place(ctx, q, &want); err != nil {
		return want, err
	}
	return want, s.typed(ctx, q.Type, &want)
}

// place takes a name for that of a project, or else a word of one, or else a
// district.
func (s Source) place(ctx context.Context, q TwinQuery, want *sought) error {
	if q.In == "" {
		return nil
	}
	var part, names []string
	_, err := s.walk(ctx, sought{list: TwinList{Protocol: "did:ixo:protocol/project"}}, func(t Twin, g glance) (bool, error) {
		switch name := nameOf(g); {
		case strings.EqualFold(name, q.In):
			want.projects = append(want.projects, t.DID)
		case hasWords(name, q.In):
			part, names = append(part, t.DID), append(names, strconv.Quote(name))
		}
		return true, nil
	})
	if err != nil {
		return err
	}
	called := strconv.Quote(q.In)
	if len(want.projects) == 0 && len(part) > 0 {
		want.projects, called = part, strings.Join(names, " or ")
	}
	if len(want.projects) > 0 {
		want.how = append(want.how, fmt.Sprintf("in the project %s (%s)", called, strings.Join(want.projects, ", ")))
		if len(want.projects) == 1 && q.Project == "" {
			want.list.Project = want.projects[0]
		}
		return nil
	}
	want.district = q.In
	want.how = append(want.how, fmt.Sprintf("in the district %q, because no project has that name", q.In))
	return nil
}

// typed interprets a word as a type: unchanged, in another case, as a plural,
// or as the end of one, in this order.
func (s Source) typed(ctx context.Context, word string, want *sought) error {
	if word == "" {
		return nil
	}
	exact, _, err := s.List(ctx, TwinList{Type: word, Limit: 1})
	if err != nil {
		return err
	}
	if len(exact) > 0 {
		want.list.Type = word
		want.how = append(want.how, "type "+word)
		return nil
	}
	if want.types, err = s.like(ctx, word); err != nil {
		return err
	}
	if len(want.types) > 0 {
		want.how = append(want.how, "type "+strings.Join(want.types, " or "))
		if len(want.types) == 1 {
			want.list.Type = want.types[0]
		}
		return nil
	}
	want.list.Type = word // none: the answer is empty, and says of which type
	there, err := s.types(ctx)
	if err != nil {
		return err
	}
	want.how = append(want.how, fmt.Sprintf("type %s, which no twin has (there are %s)", word, there))
	return nil
}

// like finds the types that a word means: by their names, or by what people in
// the field call them.
func (s Source) like(ctx context.Context, word string) ([]string, error) {
	found, err := s.TypesLike(ctx, word)
	if err != nil || len(found) > 0 {
		return found, err
	}
	if strings.TrimSuffix(strings.ToLower(word), "s") == "stove" {
		for _, other := range []string{"CookingDevice", "Cooker"} {
			more, err := s.TypesLike(ctx, other)
			if err != nil {
				return nil, err
			}
			found = append(found, more...)
		}
	}
	return found, nil
}

// types names some types of twins there are.
func (s Source) types(ctx context.Context) (string, error) {
	page, _, err := s.List(ctx, TwinList{Limit: 500})
	if err != nil {
		return "", err
	}
	var all []string
	for _, t := range page {
		if len(all) < 10 && !slices.Contains(all, t.Type) {
			all = append(all, t.Type)
		}
	}
	if len(all) == 0 {
		return "none at all", nil
	}
	slices.Sort(all)
	return strings.Join(all, ", "), nil
}

// hasWords reports whether a name has some words of it, whole and in their order.
func hasWords(name, words string) bool {
	pad := func(s string) string { return " " + strings.Join(strings.Fields(strings.ToLower(s)), " ") + " " }
	return strings.TrimSpace(words) != "" && strings.Contains(pad(name), pad(words))
}

// walk passes every matching twin to each, until there are no more (whole),
// each returns false, or many have been looked at.
func (s Source) walk(ctx context.Context, want sought, each func(t Twin, g glance) (bool, error)) (whole bool, err error) {
	list := want.list
	list.Limit = 500
	for looked := 0; looked <= MaxCounted; {
		page, next, err := s.List(ctx, list)
		if err != nil {
			return false, err
		}
		looked += max(len(page), 1)
		for _, t := range page {
			var g glance
			if err := json.Unmarshal(t.Body, &g); err != nil {
				return false, err
			}
			if !want.fits(t, g) {
				continue
			}
			if more, err := each(t, g); err != nil || !more {
				return false, err
			}
		}
		if next == "" {
			return true, nil
		}
		list.After = next
	}
	return false, nil
}

func (s *sought) fits(t Twin, g glance) bool {
	switch {
	case len(s.types) > 0 && !slices.Contains(s.types, t.Type),
		len(s.projects) > 0 && !slices.Contains(s.projects, t.Project),
		s.district != "" && !slices.ContainsFunc(districts(g), func(d string) bool { return strings.EqualFold(d, s.district) }):
		return false
	case s.name == "":
		return true
	}
	name := nameOf(g)
	if name == "" && (slices.Contains(g.Withheld, "name") || slices.Contains(g.Withheld, "metadata.name")) {
		*s.veiled++
	}
	return strings.Contains(strings.ToLower(name), s.name)
}

// said describes what was counted or searched.
func (s *sought) said() string {
	if len(s.how) == 0 {
		return "all twins you may see"
	}
	said := "twins you may see: " + strings.Join(s.how, "; ")
	if s.veiled != nil && *s.veiled > 0 {
		said += fmt.Sprintf(". The names of %d others are personal and were not searched: that needs the scope entities:pii", *s.veiled)
	}
	return said
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
