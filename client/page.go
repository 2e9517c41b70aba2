package client

import (
	"context"
	"errors"
	"iter"
	"maps"
	"net/url"
	"strconv"
	"time"

	"github.com/hearth-dmrv/hearth/api"
)

// Types of package api.
type (
	Page[T any] = api.Page[T]
	PageInfo    = api.PageInfo
)

// PageQuery asks for a part of a list.
type PageQuery struct {
	Limit  int    // items in one page, 1 to 1000; 50 by default
	Cursor string // NextCursor of the page before
}

func (q PageQuery) values() url.Values {
	v := url.Values{}
	setInt(v, "limit", int64(q.Limit))
	set(v, "cursor", q.Cursor)
	return v
}

func set(v url.Values, name, value string) {
	if value != "" {
		v.Set(name, value)
	}
}

func setInt(v url.Values, name string, n int64) {
	if n != 0 {
		v.Set(name, strconv.FormatInt(n, 10))
	}
}

func setTime(v url.Values, name string, t time.Time) {
	if !t.IsZero() {
		v.Set(name, t.UTC().Format(time.RFC3339Nano))
	}
}

func setOptional[T int64 | float64](v url.Values, name string, n *T) {
	if n != nil {
		v.Set(name, strconv.FormatFloat(float64(*n), 'f', -1, 64))
	}
}

func page[T any](ctx context.Context, c *Client, path string, query url.Values, opts []Option) (*Page[T], error) {
	return do[Page[T]](ctx, c, get(path, query), opts)
}

// pages walks a list from the page that query names to its end. An error is
// yielded once and ends the walk.
func pages[T any](ctx context.Context, c *Client, path string, query url.Values, opts []Option) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		query := maps.Clone(query)
		for {
			p, err := page[T](ctx, c, path, query, opts)
			if err != nil {
				yield(none, err)
				return
			}
			for _, item := range p.Items {
				if !yield(item, nil) {
					return
				}
			}
			if !p.Page.HasMore {
				return
			}
			if p.Page.NextCursor == "" || p.Page.NextCursor == query.Get("cursor") {
				yield(none, errors.New("the server says that the list goes on, but not where"))
				return
			}
			query.Set("cursor", p.Page.NextCursor)
		}
	}
}
