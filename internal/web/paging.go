package web

import (
	"context"
	"fmt"
	"net/url"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/hearth-dmrv/hearth/internal/fault"
)

// Number is an optional whole number in a query: missing and 0 are different.
type Number struct {
	Value int64
	Given bool
}

// UnmarshalText reads the number.
func (n *Number) UnmarshalText(text []byte) error {
	v, err := strconv.ParseInt(string(text), 10, 64)
	*n = Number{Value: v, Given: err == nil}
	return err
}

// Schema describes the number in the API reference.
func (Number) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeInteger, Format: "int64"}
}

// In returns the number, or otherwise when it was not given. It reports a
// number outside least to most.
func (n Number) In(c *fault.Checks, pointer string, least, most, otherwise int64) int64 {
	if !n.Given {
		return otherwise
	}
	if n.Value < least || n.Value > most {
		c.Add(pointer, "out_of_range", fmt.Sprintf("The value must be %d to %d.", least, most))
	}
	return n.Value
}

// How many items a page of a list holds.
const (
	DefaultPage = 50
	MaxPage     = 1000
)

// Paging is the part of a list route's input that all lists share. Embed it.
type Paging struct {
	Limit  Number `query:"limit" doc:"How many items at most: 1 to 1000, 50 by default." example:"50"`
	Cursor string `query:"cursor" doc:"Where to go on: nextCursor of the page before."`
}

// Size is the number of items on the page. It notes one out of range, so that
// routes with further parameters name all mistakes at once.
func (p Paging) Size(c *fault.Checks) int {
	return int(p.Limit.In(c, "query/limit", 1, MaxPage, DefaultPage))
}

// Begin checks the page and reads its start into position, which does not
// change on the first page. Faults: INVALID_PARAMETER, INVALID_CURSOR. It works
// in a handler only: the list is the one the request asks for.
func (p Paging) Begin(ctx context.Context, cs Cursors, position any) (limit int, err error) {
	var c fault.Checks
	limit = p.Size(&c)
	if err := c.Err("INVALID_PARAMETER", "A parameter is not valid."); err != nil {
		return 0, err
	}
	if p.Cursor == "" {
		return limit, nil
	}
	scope, _ := listOf(ctx)
	return limit, cs.Decode(scope, p.Cursor, position)
}

// PageOf is the answer of a list route: the items, and the cursor of next, the
// position from which the list continues; nil at its end.
func PageOf[T any](ctx context.Context, cs Cursors, limit int, items []T, next any) (out Reply[Page[T]], err error) {
	if items == nil {
		items = []T{}
	}
	out.Value.Items = items
	out.Value.Page, out.Link, err = pageInfo(ctx, cs, limit, next)
	return out, err
}

// pageInfo describes how a list continues from next, and where its pages are.
func pageInfo(ctx context.Context, cs Cursors, limit int, next any) (p PageInfo, links string, err error) {
	scope, u := listOf(ctx)
	p = PageInfo{Limit: limit, HasMore: next != nil}
	if next != nil {
		if p.NextCursor, err = cs.Encode(scope, next); err != nil {
			return PageInfo{}, "", err
		}
	}
	return p, PageLinks(u, p.NextCursor), nil
}

// List answers a list route with a page. It reads the start of the page into at,
// which initially holds that of the first one, calls find for at most limit
// items from there on, and encodes next, from which the list continues: find
// returns the zero value at its end. Faults: those of Begin and of find.
func List[T any, N comparable](ctx context.Context, cs Cursors, in Paging, at any, find func(limit int) (items []T, next N, err error)) (out Reply[Page[T]], err error) {
	limit, err := in.Begin(ctx, cs, at)
	if err != nil {
		return out, err
	}
	items, next, err := find(limit)
	if err != nil {
		return out, err
	}
	var ended N
	if next == ended {
		return PageOf(ctx, cs, limit, items, nil)
	}
	return PageOf(ctx, cs, limit, items, next)
}

// listOf is the list the request of ctx asks for. Everything in the query but
// the page itself shapes it.
func listOf(ctx context.Context) (CursorScope, *url.URL) {
	q := infoFrom(ctx)
	if q == nil || q.url == nil {
		return CursorScope{}, &url.URL{Path: "/"}
	}
	return CursorScope{Workspace: q.caller.Workspace, Route: q.url.EscapedPath(), Filter: FilterOf(q.url.Query())}, q.url
}
