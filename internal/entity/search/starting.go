package search

import (
	"context"
	"net/url"

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
)

// maxNamed is how many names are looked at for a caller who may not see all of
// them.
const maxNamed = 200

// Starting finds twins whose name or external id begins with a text, whatever
// its case, or that have it as their DID; no more than limit. A personal name is
// found only by callers with entities:pii.
func (s *Service) Starting(ctx context.Context, text string, limit int) ([]api.SearchHit, error) {
	c, sight := web.CallerFrom(ctx), s.mask.See(ctx)
	if !c.May("entities:read") {
		return nil, nil
	}
	var out []api.SearchHit
	seen := map[string]bool{}
	add := func(r *entity.Row, match, found string) {
		if len(out) < limit && !seen[r.DID] {
			seen[r.DID] = true
			out = append(out, api.SearchHit{
				Kind: "twin", ID: r.DID, Name: r.Name, Type: r.Type, Status: string(r.Status), Match: match, Found: found,
				Link: "/v1/entities/" + url.PathEscape(r.DID),
			})
		}
	}
	if did.Valid(text) {
		if err := s.eachBrief(ctx, s.cfg.DB, []string{text}, func(r *entity.Row, _ bool) error { add(r, "id", ""); return nil }); err != nil {
			return nil, err
		}
	}
	look := limit
	if !sight.All() || len(c.Projects) > 0 {
		look = maxNamed
	}
	from, to := db.Prefix(text)
	rows, err := s.cfg.DB.Query(ctx, selectExternal, c.Workspace, from, to, look)
	if err := s.hits(ctx, sight, rows, err, func(r *entity.Row, found string, _ bool) { add(r, "externalId", found) }); err != nil {
		return nil, err
	}
	rows, err = s.cfg.DB.Query(ctx, selectNamed, c.Workspace, from, to, look)
	return out, s.hits(ctx, sight, rows, err, func(r *entity.Row, _ string, withheld bool) {
		if !withheld {
			add(r, "name", "")
		}
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
