package search

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// maxTargets is how many other twins are looked up for one answer.
const maxTargets = 10_000

// Expand adds the objects that a record refers to. expand is relationships
// (each gets a member entity with a summary of its target, if the caller may
// see it), protocol (a member protocolRecord), or both with a comma. Fault:
// UNKNOWN_FIELD.
func (s *Service) Expand(ctx context.Context, q db.Querier, r *entity.Row, body []byte, expand string) ([]byte, error) {
	out, err := s.expand(ctx, q, []*entity.Row{r}, [][]byte{body}, expand)
	if err != nil {
		return nil, err
	}
	return out[0], nil
}

// expand adds to the records of rows; bodies may be parts of them.
func (s *Service) expand(ctx context.Context, q db.Querier, rows []*entity.Row, bodies [][]byte, expand string) ([][]byte, error) {
	kinds, err := expansions(expand)
	if err != nil {
		return nil, err
	}
	if slices.Contains(kinds, "relationships") {
		if bodies, err = s.expandTargets(ctx, q, bodies); err != nil {
			return nil, err
		}
	}
	if slices.Contains(kinds, "protocol") {
		return s.expandProtocols(ctx, rows, bodies)
	}
	return bodies, nil
}

// expansions reads expand=.
func expansions(expand string) ([]string, error) {
	if expand == "" {
		return nil, nil
	}
	kinds := strings.Split(expand, ",")
	at := 1
	for i, k := range kinds {
		kinds[i] = strings.TrimSpace(k)
		if kinds[i] != "relationships" && kinds[i] != "protocol" {
			return nil, unknownField("query/expand", fmt.Sprintf("At character %d: %q cannot be expanded; relationships and protocol can.", at, fault.Echo(kinds[i])))
		}
		at += len([]rune(k)) + 1
	}
	return kinds, nil
}

// expandTargets sums the targets of relationships up.
func (s *Service) expandTargets(ctx context.Context, q db.Querier, bodies [][]byte) ([][]byte, error) {
	var ids []string
	for _, b := range bodies {
		elements(member(string(b), "relationships"), func(edge string) {
			if id := text(edge, "target"); id != "" && len(ids) < maxTargets {
				ids = append(ids, id)
			}
		})
	}
	slices.Sort(ids)
	found, err := s.summaries(ctx, q, slices.Compact(ids))
	if err != nil {
		return nil, err
	}
	out := make([][]byte, len(bodies))
	for i, b := range bodies {
		out[i] = intoTargets(string(b), found)
	}
	return out, nil
}

// intoTargets puts summaries into the relationships of a record.
func intoTargets(b string, found map[string][]byte) []byte {
	from, to := locate(b, "relationships")
	if from == to {
		return []byte(b)
	}
	out := append(make([]byte, 0, 2*len(b)), b[:from]...)
	out = append(out, '[')
	first := true
	elements(b[from:to], func(edge string) {
		if !first {
			out = append(out, ',')
		}
		first = false
		out = with(out, edge, "entity", found[text(edge, "target")])
	})
	out = append(out, ']')
	return append(out, b[to:]...)
}

// summaries sums up the twins with these DIDs that the caller may see.
func (s *Service) summaries(ctx context.Context, q db.Querier, ids []string) (map[string][]byte, error) {
	out := make(map[string][]byte, len(ids))
	err := s.eachBrief(ctx, q, ids, func(r *entity.Row, _ bool) (err error) {
		out[r.DID], err = web.Encode(entity.Summary(r))
		return err
	})
	return out, err
}

// expandProtocols describes the protocols of the twins.
func (s *Service) expandProtocols(ctx context.Context, rows []*entity.Row, bodies [][]byte) ([][]byte, error) {
	ws := web.CallerFrom(ctx).Workspace
	out := make([][]byte, len(bodies))
	for i, b := range bodies {
		p, err := s.cat.FindAny(ctx, ws, rows[i].Protocol, rows[i].ProtocolVersion)
		if fault.KindOf(err) == fault.NotFound {
			out[i] = b
			continue
		} else if err != nil {
			return nil, err
		}
		brief, err := web.Encode(api.ProtocolBrief{DID: p.DID, Name: p.Name, Version: p.Version, Class: p.Class()})
		if err != nil {
			return nil, err
		}
		out[i] = with(nil, string(b), "protocolRecord", brief)
	}
	return out, nil
}

// with appends the object b with one more member; nil adds none.
func with(dst []byte, b, name string, value []byte) []byte {
	if value == nil || len(b) < 2 {
		return append(dst, b...)
	}
	dst = append(dst, b[:len(b)-1]...)
	if b[blank(b, 1)] != '}' {
		dst = append(dst, ',')
	}
	dst = append(append(append(dst, '"'), name...), '"', ':')
	return append(append(dst, value...), '}')
}
