package console

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

const (
	maxHits   = 5   // of a kind
	maxSearch = 200 // characters
)

// Finder finds what begins with a text and the caller of ctx may know, all of one
// kind and no more than limit.
type Finder func(ctx context.Context, text string, limit int) ([]api.SearchHit, error)

func (s *Overview) serveSearch(ctx context.Context, in *struct {
	Q string `query:"q" minLength:"1" doc:"The beginning of a name, number or id: 1 to 200 characters, or a whole DID." example:"clean"`
},
) (api.SearchResult, error) {
	text := strings.TrimSpace(in.Q)
	if text == "" || utf8.RuneCountInString(text) > maxSearch {
		return api.SearchResult{}, fault.New(fault.Invalid, "INVALID_PARAMETER", "A parameter is not valid.").
			With(fault.Field{Pointer: "query/q", Code: "out_of_range", Detail: fmt.Sprintf("Give 1 to %d characters.", maxSearch)})
	}
	return s.Search(ctx, text)
}

// Search finds what begins with a text, at most five of each kind.
func (s *Overview) Search(ctx context.Context, text string) (api.SearchResult, error) {
	out := api.SearchResult{Items: []api.SearchHit{}}
	for _, find := range s.cfg.Finders {
		hits, err := find(ctx, text, maxHits+1)
		if err != nil {
			return api.SearchResult{}, err
		}
		if len(hits) > maxHits {
			out.More, hits = append(out.More, hits[0].Kind), hits[:maxHits]
		}
		out.Items = append(out.Items, hits...)
	}
	return out, nil
}
