package search

import (
	"cmp"
	"context"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/mask"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const (
	fewColumns  = `e.nid, e.did, e.type, e.class, e.domain_type, e.protocol, e.project, e.name, e.status`
	selectNamed = `SELECT ` + fewColumns + `, '' FROM entities e
		WHERE e.ws = $1 AND e.name_key >= $2 AND e.name_key < $3 AND e.name <> '' ORDER BY e.name_key, e.nid LIMIT $4`
	selectExternal = `SELECT ` + fewColumns + `, x.value FROM entity_externals x JOIN entities e ON e.nid = x.nid
		WHERE x.ws = $1 AND x.value_key >= $2 AND x.value_key < $3 ORDER BY x.value_key, x.scheme LIMIT $4`
	selectTold   = `SELECT did, protocol, body FROM entities WHERE did IN ` + db.In64 + ` AND ws = $65`
	selectWorded = `SELECT ` + fewColumns + `, '' FROM entity_props w JOIN entities e ON e.nid = w.nid
		WHERE w.pid = $1 AND w.val >= $2 AND w.val < $3 ORDER BY w.val, w.nid LIMIT $4`
)

// minDigits is what a text needs at least to be part of a telephone number.
const minDigits = 4

// maxNamed is how many names are looked at for a caller who may not see all of
// them.
const maxNamed = 200

// Starting finds twins, no more than limit of them: those whose DID is a text,
// whose external id or name begins with it, then those with a word in their name,
// a telephone number or a place that does. Case does not matter. Personal data
// finds a twin only for callers with entities:pii.
func (s *Service) Starting(ctx context.Context, text string, limit int) ([]api.SearchHit, error) {
	if !web.CallerFrom(ctx).May("entities:read") {
		return nil, nil
	}
	f := &finding{s: s, sight: s.mask.See(ctx), limit: limit, look: limit, seen: map[string]bool{}}
	if !f.sight.All() || len(web.CallerFrom(ctx).Projects) > 0 {
		f.look = maxNamed
	}
	for _, step := range []func(context.Context, string) error{f.byDID, f.byStart, f.byWords, f.byPhone, f.byPlace} {
		if len(f.out) >= limit {
			break
		}
		if err := step(ctx, text); err != nil {
			return nil, err
		}
	}
	return f.out, f.describe(ctx)
}

// finding is one search for twins.
type finding struct {
	s           *Service
	sight       *mask.Sight
	limit, look int
	seen        map[string]bool
	out         []api.SearchHit
}

func (f *finding) add(r *entity.Row, match, found string) {
	if len(f.out) >= f.limit || f.seen[r.DID] {
		return
	}
	f.seen[r.DID] = true
	f.out = append(f.out, api.SearchHit{
		Kind: "twin", ID: r.DID, Name: r.Name, Type: r.Type, Status: string(r.Status), Match: match, Found: found,
		Link: "/v1/entities/" + url.PathEscape(r.DID),
	})
}

func (f *finding) byDID(ctx context.Context, text string) error {
	if !did.Valid(text) {
		return nil
	}
	return f.s.eachBrief(ctx, f.s.cfg.DB, []string{text}, func(r *entity.Row, _ bool) error { f.add(r, "id", ""); return nil })
}

// byStart finds external ids and whole names that begin with a text.
func (f *finding) byStart(ctx context.Context, text string) error {
	ws := web.CallerFrom(ctx).Workspace
	from, to := db.Prefix(text)
	rows, err := f.s.cfg.DB.Query(ctx, selectExternal, ws, from, to, f.look)
	if err := f.s.hits(ctx, f.sight, rows, err, func(r *entity.Row, found string, _ bool) { f.add(r, "externalId", found) }); err != nil {
		return err
	}
	rows, err = f.s.cfg.DB.Query(ctx, selectNamed, ws, from, to, f.look)
	return f.s.hits(ctx, f.sight, rows, err, func(r *entity.Row, _ string, withheld bool) {
		if !withheld {
			f.add(r, "name", "")
		}
	})
}

// byWords finds names with a word that begins with each word of a text, in any
// order: it looks up the longest, and searches the results for the others.
func (f *finding) byWords(ctx context.Context, text string) error {
	words := wordsOf(text)
	if len(words) == 0 {
		return nil
	}
	longest := slices.MaxFunc(words, func(a, b string) int { return len(a) - len(b) })
	look := f.look
	if len(words) > 1 {
		look = maxNamed
	}
	return f.worded(ctx, "name", longest, look, func(r *entity.Row) {
		if has(r.Name, words) {
			f.add(r, "name", "")
		}
	})
}

// byPhone finds telephone numbers, however they are written: with the number of
// the country, with a zero in its place, or without both.
func (f *finding) byPhone(ctx context.Context, text string) error {
	digits := strings.Map(func(r rune) rune {
		if strings.ContainsRune(" -()+", r) {
			return -1
		}
		return r
	}, text)
	if len(digits) < minDigits || strings.ContainsFunc(digits, func(r rune) bool { return r < '0' || r > '9' }) {
		return nil
	}
	return f.worded(ctx, "phone", strings.TrimLeft(digits, "0"), f.look, func(r *entity.Row) { f.add(r, "phone", "") })
}

func (f *finding) byPlace(ctx context.Context, text string) error {
	for _, kind := range []string{"district", "village", "location"} {
		if len(f.out) >= f.limit {
			return nil
		}
		if err := f.worded(ctx, kind, text, f.look, func(r *entity.Row) { f.add(r, "place", "") }); err != nil {
			return err
		}
	}
	return nil
}

// worded gives visit the twins in whose property a word begins with a text, all
// that the caller may find by that property.
func (f *finding) worded(ctx context.Context, property, text string, look int, visit func(r *entity.Row)) error {
	if text == "" {
		return nil
	}
	pid, from, to := entity.WordRange(web.CallerFrom(ctx).Workspace, property, text)
	rows, err := f.s.cfg.DB.Query(ctx, selectWorded, pid, from, to, look)
	var failed error
	err = f.s.hits(ctx, f.sight, rows, err, func(r *entity.Row, _ string, _ bool) {
		names, err := f.sight.Personal(ctx, f.s.cfg.DB, r.Protocol)
		if err != nil {
			failed = err
		} else if !slices.Contains(names, property) {
			visit(r)
		}
	})
	return cmp.Or(err, failed)
}

// describe adds to each hit what distinguishes it from others of the same name:
// its place, and its external id, as far as the caller may read them.
func (f *finding) describe(ctx context.Context) error {
	ids := make([]string, len(f.out))
	for i := range f.out {
		ids[i] = f.out[i].ID
	}
	rows, err := f.s.cfg.DB.Query(ctx, selectTold, db.Keys(ids, "", web.CallerFrom(ctx).Workspace)...)
	type told struct {
		did, protocol string
		body          []byte
	}
	list, err := db.Collect(rows, err, "describe twins", func(t *told, row db.Row) error { return row.Scan(&t.did, &t.protocol, &t.body) })
	if err != nil {
		return err
	}
	for _, t := range list {
		body, err := f.sight.Record(ctx, f.s.cfg.DB, t.protocol, t.body)
		if err != nil {
			return err
		}
		if i := slices.Index(ids, t.did); i >= 0 {
			f.out[i].Place, f.out[i].ExternalID = marksOf(body)
		}
	}
	return nil
}

// marksOf reads the place in a record, the smaller part of it first, and the
// first of its external ids.
func marksOf(body []byte) (place, external string) {
	type spot struct {
		Village  any `json:"village"`
		District any `json:"district"`
	}
	var record struct {
		Properties struct {
			spot     `json:",inline"`
			Location jsontext.Value `json:"location"`
		} `json:"properties"`
		ExternalIDs map[string]string `json:"externalIds"`
	}
	var inner spot
	if json.Unmarshal(body, &record) != nil {
		return "", ""
	}
	if record.Properties.Location.Kind() == '{' {
		_ = json.Unmarshal(record.Properties.Location, &inner) // one that is something else has no place
	}
	var parts []string
	for _, v := range []any{record.Properties.Village, inner.Village, record.Properties.District, inner.District} {
		if s, ok := v.(string); ok && s != "" && !slices.Contains(parts, s) {
			parts = append(parts, s)
		}
	}
	if schemes := slices.Sorted(maps.Keys(record.ExternalIDs)); len(schemes) > 0 {
		external = record.ExternalIDs[schemes[0]]
	}
	return strings.Join(parts, ", "), external
}

// wordsOf takes a text apart where the index does.
func wordsOf(text string) []string {
	return slices.DeleteFunc(entity.SplitWords(text), func(w string) bool { return w == "" })
}

// has reports whether each of some words begins a word of a name.
func has(name string, words []string) bool {
	name, _ = db.Prefix(name)
	of := wordsOf(name)
	return !slices.ContainsFunc(words, func(w string) bool {
		w, _ = db.Prefix(w)
		return !slices.ContainsFunc(of, func(n string) bool { return strings.HasPrefix(n, w) })
	})
}

// hits gives visit the twins of a statement that the caller sees, with the names
// it may read.
func (s *Service) hits(ctx context.Context, sight *mask.Sight, rows db.Rows, err error, visit func(r *entity.Row, found string, withheld bool)) error {
	type hit struct {
		entity.Row
		found string
	}
	list, err := db.Collect(rows, err, "search twins", func(h *hit, row db.Row) error {
		r := &h.Row
		return row.Scan(&r.NID, &r.DID, &r.Type, &r.Class, &r.DomainType, &r.Protocol, &r.Project, &r.Name, &r.Status, &h.found)
	})
	if err != nil {
		return err
	}
	projects := web.CallerFrom(ctx).Projects
	for i := range list {
		r := &list[i].Row
		if !visible(r.Project, projects) {
			continue
		}
		name := r.Name
		if r.Name, err = sight.Name(ctx, s.cfg.DB, r.Protocol, name); err != nil {
			return err
		}
		visit(r, list[i].found, r.Name != name)
	}
	return nil
}
