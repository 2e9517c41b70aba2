package history

import (
	"context"
	"math"

	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Routes adds the history of twins to a.
func (s *Service) Routes(a *web.API) {
	const tag = "entities"
	web.Get(a, "/v1/entities/{did}/history", s.serveList, web.Doc{
		Summary: "List the revisions of a twin, newest first", Scope: "entities:read", Tag: tag, Codes: []string{"ENTITY_NOT_FOUND"},
	})
	web.Get(a, "/v1/entities/{did}/history/{revision}", s.serveRevision, web.Doc{
		Summary: "Read a twin as it was at a revision", Scope: "entities:read", Tag: tag, Codes: []string{"ENTITY_NOT_FOUND", "REVISION_NOT_FOUND", "REVISION_ERASED"},
		Description: "You see what you may see of the twin today: callers who do not control it and lack the scope entities:pii get it without its personal properties.",
	})
	web.Get(a, "/v1/entities/{did}/diff", s.serveDiff, web.Doc{
		Summary: "Show what changed between two revisions, who changed it and why", Scope: "entities:read", Tag: tag,
		Description: "from and to are numbers of revisions or times. to may be the earlier one: the patch then undoes the changes.",
		Codes:       []string{"ENTITY_NOT_FOUND", "REVISION_NOT_FOUND", "REVISION_ERASED", "INVALID_PARAMETER"},
	})
	web.Get(a, "/v1/entities/{did}/audit", s.serveAudit, web.Doc{
		Summary: "Check that the history of a twin is whole", Scope: "entities:read", Tag: tag,
		Description: "Follows the hashes from the first revision on, up to limit revisions or 16 MiB a page. Go on with the cursor while ok and hasMore are true. " +
			"Anyone who can write to the store could make a new chain: compare hash with one you have kept, using a key that sees as much of the twin.",
		Codes: []string{"ENTITY_NOT_FOUND"},
	})
}

type one struct {
	DID string `path:"did" doc:"DID of the twin."`
}

type listInput struct {
	one
	web.Paging
}

func (s *Service) serveList(ctx context.Context, in *listInput) (web.Reply[web.Page[Entry]], error) {
	var below int64
	return web.List(ctx, s.cfg.Cursors, in.Paging, &below, func(limit int) ([]Entry, int64, error) {
		return s.List(ctx, in.DID, below, limit)
	})
}

func (s *Service) serveRevision(ctx context.Context, in *struct {
	one
	Revision web.Number `path:"revision" doc:"Number of the revision." example:"1"`
},
) (web.Reply[*entity.Entity], error) {
	var c fault.Checks
	n := in.Revision.In(&c, "path/revision", 1, math.MaxInt64, 0)
	if err := c.Err("INVALID_PARAMETER", "A parameter is not valid."); err != nil {
		return web.Reply[*entity.Entity]{}, err
	}
	body, err := s.Revision(ctx, in.DID, n)
	if err != nil {
		return web.Reply[*entity.Entity]{}, err
	}
	return web.Reply[*entity.Entity]{Raw: body, ETag: web.ETag(n)}, nil
}

func (s *Service) serveDiff(ctx context.Context, in *struct {
	one
	From string `query:"from" doc:"Number of a revision, or a time; the revision before to by default." example:"1"`
	To   string `query:"to" doc:"Number of a revision, or a time; the newest by default." example:"2"`
},
) (*Difference, error) {
	return s.Diff(ctx, in.DID, in.From, in.To)
}

// position is the content of an audit's cursor: a link with a sealed hash,
// because not every caller may know the hash.
type position struct {
	Number int64  `json:"n"`
	Sealed []byte `json:"h,omitzero"`
}

// sealing is the purpose of the key that seals hashes.
const sealing = "entity audit place"

// open reads the place of a cursor; the zero one is the beginning.
func (s *Service) open(id string, at position) (link, error) {
	if at.Sealed == nil {
		return link{}, nil
	}
	hash, err := s.cfg.Key.Open(sealing, id, at.Sealed)
	if err != nil {
		return link{}, fault.New(fault.Invalid, "INVALID_CURSOR", "The cursor does not belong to this list. Start again without it.").Wrap(err)
	}
	return link{Number: at.Number, Hash: hash}, nil
}

func (s *Service) serveAudit(ctx context.Context, in *listInput) (web.Reply[*Audit], error) {
	var none web.Reply[*Audit]
	var at position
	limit, err := in.Begin(ctx, s.cfg.Cursors, &at)
	if err != nil {
		return none, err
	}
	after, err := s.open(in.DID, at)
	if err != nil {
		return none, err
	}
	a, next, err := s.audit(ctx, in.DID, after, limit)
	if err != nil {
		return none, err
	}
	var place any
	if next != nil {
		place = position{Number: next.Number, Sealed: s.cfg.Key.Seal(sealing, in.DID, next.Hash)}
	}
	p, err := web.PageOf[Entry](ctx, s.cfg.Cursors, limit, nil, place)
	if err != nil {
		return none, err
	}
	a.Page = p.Value.Page
	return web.Reply[*Audit]{Value: a, Link: p.Link}, nil
}
