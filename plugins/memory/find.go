package memory

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/plugin"
)

const (
	minBegin   = 3   // letters of a word that finds longer ones
	beginWorth = 0.6 // of finding the word itself
)

// query asks for a page, by words or by place.
type query struct {
	Query  string `json:"query"`
	Cursor string `json:"cursor"`
	Limit  int    `json:"limit"`
}

// page finds the requested memories.
func (p *Plugin) page(ctx context.Context, q query) (api.Page[api.Memory], error) {
	if q.Limit == 0 {
		q.Limit = usual
	}
	out := api.Page[api.Memory]{Items: []api.Memory{}, Page: api.PageInfo{Limit: q.Limit}}
	if q.Query != "" {
		all, err := p.read(ctx, "", maxKept)
		if err != nil {
			return out, err
		}
		found := best(all, q.Query)
		out.Items = append(out.Items, found[:min(len(found), q.Limit)]...)
		return out, nil
	}
	found, err := p.read(ctx, q.Cursor, q.Limit+1)
	if len(found) > q.Limit {
		found = found[:q.Limit]
		out.Page.HasMore, out.Page.NextCursor = true, found[q.Limit-1].ID
	}
	out.Items = append(out.Items, found...)
	return out, err
}

// pageSchema describes a page of memories.
const pageSchema = `{"type":"object","required":["items","page"],"properties":{"items":{"type":"array","items":{"type":"object","required":["id","text","createdAt"],"properties":{` +
	`"id":{"type":"string"},"text":{"type":"string"},"createdAt":{"type":"string","format":"date-time"}}}},` +
	`"page":{"type":"object","required":["limit","hasMore"],"properties":{"limit":{"type":"integer"},"nextCursor":{"type":"string"},"hasMore":{"type":"boolean"}}},"note":{"type":"string"}}}`

func (p *Plugin) recall(ctx context.Context, call plugin.Call) (any, error) {
	var in struct {
		Query string `json:"query"`
		Limit int    `json:"limit"`
	}
	if err := call.Read(&in); err != nil {
		return nil, err
	}
	if len(words(in.Query)) == 0 {
		return nil, plugin.Invalid("query must hold words")
	}
	return p.told(ctx, query{Query: in.Query, Limit: in.Limit}, "Nothing that is remembered has these words.")
}

func (p *Plugin) list(ctx context.Context, call plugin.Call) (any, error) {
	var in struct {
		Cursor string `json:"cursor"`
		Limit  int    `json:"limit"`
	}
	if err := call.Read(&in); err != nil {
		return nil, err
	}
	return p.told(ctx, query{Cursor: in.Cursor, Limit: in.Limit}, "Nothing is remembered.")
}

// told is a page for the model, with a text when it is empty.
func (p *Plugin) told(ctx context.Context, q query, nothing string) (any, error) {
	found, err := p.page(ctx, q)
	out := struct {
		api.Page[api.Memory]
		Note string `json:"note,omitempty"`
	}{Page: found}
	if len(found.Items) == 0 {
		out.Note = nothing
	}
	return out, err
}

// serveList answers GET /memory.
func (p *Plugin) serveList(r *plugin.Request) (any, error) {
	given := r.URL.Query()
	q := query{Query: strings.TrimSpace(given.Get("query")), Cursor: given.Get("cursor")}
	var wrong []string
	if text := given.Get("limit"); text != "" {
		var err error
		if q.Limit, err = strconv.Atoi(text); err != nil || q.Limit < 1 || q.Limit > maxPage {
			wrong = append(wrong, "limit must be a whole number from 1 to "+strconv.Itoa(maxPage))
		}
	}
	if q.Cursor != "" && !idPattern.MatchString(q.Cursor) {
		wrong = append(wrong, "cursor must be the nextCursor of a page")
	}
	if utf8.RuneCountInString(q.Query) > maxQuery {
		wrong = append(wrong, "query must be shorter than or equal to "+strconv.Itoa(maxQuery)+" characters")
	}
	if len(wrong) > 0 {
		return nil, &plugin.Error{Status: 400, Message: "The query is not valid", Details: wrong}
	}
	return p.page(r.Context(), q)
}

// best are the memories that have words of a query, the best first. A word counts
// the more the fewer memories have it; among equals the newest comes first.
func best(all []api.Memory, asked string) []api.Memory {
	texts := make([][]string, len(all))
	for i := range all {
		texts[i] = words(all[i].Text)
	}
	scores := make([]float64, len(all))
	for _, w := range words(asked) {
		worth := make([]float64, len(all))
		n := 0
		for i := range all {
			if worth[i] = match(texts[i], w); worth[i] > 0 {
				n++
			}
		}
		for i := range all {
			scores[i] += worth[i] * math.Log(1+float64(len(all))/float64(max(n, 1)))
		}
	}
	order := make([]int, 0, len(all))
	for i, s := range scores {
		if s > 0 {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	out := make([]api.Memory, len(order))
	for i, at := range order {
		out[i] = all[at]
	}
	return out
}

// match says how well a text matches a word: 1 for the word itself, less for
// the beginning of another or the other way round, 0 for no match.
func match(text []string, w string) float64 {
	found := 0.0
	for _, t := range text {
		switch {
		case t == w:
			return 1
		case len(t) >= minBegin && strings.HasPrefix(w, t), len(w) >= minBegin && strings.HasPrefix(t, w):
			found = beginWorth
		}
	}
	return found
}

// words are the words of a text, each once, without case and accents.
func words(text string) []string {
	var b strings.Builder
	for _, r := range norm.NFKD.String(strings.ToLower(text)) {
		if !unicode.Is(unicode.Mn, r) {
			b.WriteRune(r)
		}
	}
	out := strings.FieldsFunc(b.String(), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	slices.Sort(out)
	return slices.Compact(out)
}
