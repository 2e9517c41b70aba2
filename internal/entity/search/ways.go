package search

import (
	"context"
	"slices"

	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/protocol/schema"
	"github.com/hearth-dmrv/hearth/internal/rql"
)

// ways finds the indexes that lead to what a query asks for, the best first:
// what names single twins, then properties, project, protocol, class, type and
// status. Lists that are not sorted by creation have one index that gives
// their order, and only single twins are found another way.
func (s *Service) ways(ctx context.Context, p *plan, protocols []string) error {
	if p.external != "" {
		p.points = append(p.points, points{external: p.external})
	}
	ranked := map[string][]choice{}
	for _, e := range p.exprs {
		field, vals, ok := values(e)
		if !ok {
			continue
		}
		if len(field) == 2 && field[0] == "properties" {
			c, ok, err := s.property(ctx, p.ws, field[1], vals, protocols)
			if err != nil {
				return err
			}
			if ok {
				ranked["properties"] = append(ranked["properties"], c)
			}
			continue
		}
		names, ok := texts(vals)
		if !ok {
			continue
		}
		if pt, ok := pointsOf(field, names); ok {
			p.points = append(p.points, pt)
		} else if spans := column(p.ws, field, names, protocols); spans != nil {
			ranked[field[0]] = append(ranked[field[0]], choice{spans: spans})
		}
	}
	if p.order.by != byCreated {
		return nil
	}
	if protocols != nil && slices.ContainsFunc(ranked["properties"], func(c choice) bool { return !c.loose }) {
		ranked["protocol"], ranked["class"] = nil, nil // their twins are among all of the protocol's
	}
	for _, field := range []string{"properties", "project", "protocol", "class", "type", "status"} {
		p.choices = append(p.choices, ranked[field]...)
	}
	slices.SortStableFunc(p.choices, func(a, b choice) int { return a.rank() - b.rank() })
	return nil
}

// rank puts choices that give others too behind those that do not.
func (c choice) rank() int {
	if c.loose {
		return 1
	}
	return 0
}

// pointsOf reports whether a field names single twins.
func pointsOf(field rql.Path, names []string) (points, bool) {
	switch {
	case len(field) == 1 && field[0] == "did":
		return points{dids: names}, true
	case len(field) == 2 && field[0] == "externalIds" && len(names) == 1:
		return points{external: names[0], schemes: []string{field[1]}}, true
	}
	return points{}, false
}

// column gives the spans of a field that is a column with an index, nil
// without one.
func column(ws string, field rql.Path, names, protocols []string) []span {
	if len(field) != 1 {
		return nil
	}
	in := typeIndex
	switch field[0] {
	case "type":
	case "protocol":
		in = protocolIndex
	case "project":
		in = projectIndex
	case "status":
		if slices.Contains(names, string(entity.StatusActive)) {
			return nil // the usual status has no key
		}
		in = statusIndex
	case "class":
		if len(protocols) > maxRuns {
			return nil
		}
		in, names = protocolIndex, protocols
	default:
		return nil
	}
	spans := make([]span, 0, len(names))
	for _, name := range names {
		spans = append(spans, span{in: in, key: entity.Key(ws, columnKey(in), name)})
	}
	return spans
}

// columnKey is the field the keys of an index are made of.
func columnKey(in index) string {
	switch in {
	case protocolIndex:
		return "protocol"
	case projectIndex:
		return "project"
	case statusIndex:
		return "status"
	}
	return "type"
}

// property makes the choice for a property. Protocols that do not index it
// contribute all their twins; that is no worse than all twins of the workspace,
// and the bundled ones of this kind have few. ok is false when the index says
// nothing about twins that may have it: those of a protocol that allows
// undeclared properties.
func (s *Service) property(ctx context.Context, ws, name string, vals []rql.Value, protocols []string) (c choice, ok bool, err error) {
	declared, open, err := s.cat.Declaring(ctx, ws, name)
	if err != nil {
		return choice{}, false, err
	}
	add := func(one span) {
		if !slices.Contains(c.spans, one) {
			c.spans = append(c.spans, one)
		}
	}
	left := len(protocols)
	for _, d := range declared {
		if protocols != nil && !slices.Contains(protocols, d.Protocol) {
			continue
		}
		left--
		if !d.Indexed || d.Kind == "mixed" {
			c.loose = true
			add(span{in: protocolIndex, key: entity.Key(ws, "protocol", d.Protocol)})
			continue
		}
		for _, v := range vals {
			if val, ok := entity.IndexText(schema.Compares(d.Kind), scalar(v)); ok {
				add(span{in: propIndex, key: entity.PropID(ws, d.Protocol, name), val: val})
			}
		}
	}
	return c, (!open || protocols != nil && left == 0) && len(c.spans) <= maxRuns, nil
}
