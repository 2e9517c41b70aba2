package search

import (
	"context"
	"fmt"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/rql"
)

// SetBudget makes pages look at less, so that tests reach the bound.
func (s *Service) SetBudget(candidates, rows int) { s.budget = budget{candidates, rows} }

// SetMap makes maps look at less and show less, so that tests reach the bounds.
func (s *Service) SetMap(mapped, marks int) { s.mapped, s.marks = mapped, marks }

// Schema is what filters of a workspace are checked against.
func (s *Service) Schema(ctx context.Context, ws string) rql.Schema {
	return rql.Schema{Field: s.fields(ctx, ws, true), Places: places()}
}

// Explain tells in a few words how a query would be answered.
func (s *Service) Explain(ctx context.Context, q entity.Query) (string, error) {
	p, err := s.prepare(ctx, s.cfg.DB, q)
	if err != nil {
		return "", err
	}
	var out []string
	for _, pt := range p.points {
		switch {
		case len(pt.dids) > 0:
			out = append(out, fmt.Sprintf("did*%d", len(pt.dids)))
		case len(pt.schemes) > 0:
			out = append(out, "externalId of "+pt.schemes[0])
		default:
			out = append(out, "externalId")
		}
	}
	for _, c := range p.choices {
		name := "none"
		if len(c.spans) > 0 {
			name = [...]string{"type", "protocol", "project", "status", "property"}[c.spans[0].in]
		}
		if c.loose {
			name = "loose"
		}
		out = append(out, fmt.Sprintf("%s*%d", name, len(c.spans)))
	}
	switch {
	case p.order.by == byUpdated:
		out = append(out, "by updated")
	case p.order.by == byProperty:
		out = append(out, fmt.Sprintf("by property %s..%s", p.order.from, p.order.to))
	case len(out) == 0:
		out = append(out, "table")
	}
	return strings.Join(out, " "), nil
}

// Statements are the texts of the plans that tests explain.
func Statements() map[string]string {
	return map[string]string{
		"property": propDown, "type": typeDown, "project": projectDown, "sorted": sortedUp, "list": listDown, "updated": updatedUp, "rows": selectRows, "probe": hasProp,
	}
}

// Fields keeps some members of a record where any property may be named.
func Fields(body []byte, fields string) ([]byte, error) {
	return keep(body, fields, func(p rql.Path) (rql.Kind, error) { return record.find(p, false) })
}
