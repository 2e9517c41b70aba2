package protocol

import (
	"context"

	"github.com/hearth-dmrv/hearth/internal/db"
)

// Personal lists the properties of a protocol that are personal data: those
// that any version of it, once published, marks as such. So a later mark covers
// the twins of earlier versions and their history too, and a withdrawn mark
// does not expose what was stored under it. Sorted; do not change it. q is the
// store, or the transaction in which it is needed. The fault is
// PROTOCOL_NOT_FOUND.
func (fd *finder) Personal(ctx context.Context, q db.Querier, ws, id string) ([]string, error) {
	if p := shipped().find(id, ""); p != nil {
		return p.pii, nil
	}
	k := question{"personal", id}
	if a := fd.answers.Get(ws, k); a != nil {
		return a.names, nil
	}
	gen := fd.answers.Begin(ws)
	all, err := steps(ctx, q, ws, id)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, notFound()
	}
	var names []string
	for _, v := range all {
		if v.status == StatusDraft {
			continue // no twin is made from it
		}
		marked, err := fd.marked(ctx, q, cacheKey{ws, id, v.version})
		if err != nil {
			return nil, err
		}
		names = append(names, marked...)
	}
	names = unique(names)
	if fd.keeps(q) {
		fd.answers.Put(ws, k, &answer{names: names}, gen)
	}
	return names, nil
}

// marked lists what a version marks as personal. A published one never changes,
// so that this is kept wherever it was read: when many transactions ask, one
// compiles the version.
func (fd *finder) marked(ctx context.Context, q db.Querier, k cacheKey) ([]string, error) {
	of := question{"marked", k.did + " " + k.version}
	if a := fd.answers.Get(k.ws, of); a != nil {
		return a.names, nil
	}
	gen := fd.answers.Begin(k.ws)
	p, err := fd.load(ctx, q, k, 0)
	if err != nil {
		return nil, err
	}
	fd.answers.Put(k.ws, of, &answer{names: p.pii}, gen)
	return p.pii, nil
}
