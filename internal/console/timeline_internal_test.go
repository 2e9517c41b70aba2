package console

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// kept is a source of a test over a list of marks.
func kept(name string, marks []web.Mark, hidden func(web.Mark) bool) Source {
	return Source{
		Name: name, May: func(c web.Caller) (bool, bool) { return c.May(name + ":read"), c.May(name + ":read") },
		Look: func(_ context.Context, l web.Look) (out []web.Happening, err error) {
			for _, m := range marks {
				h := web.Happening{Mark: m, Hidden: hidden(m)}
				h.ID = fmt.Sprint(name, m.At, ".", m.Key, ".", m.Sub)
				out = append(out, h)
			}
			return web.Below(out, l), nil
		},
	}
}

// TestTimelineHasNoGaps: whatever the size of the pages, they have all that is not
// hidden, once, in one order, also where times are equal within and across sources.
func TestTimelineHasNoGaps(t *testing.T) {
	t.Parallel()
	never := func(web.Mark) bool { return false }
	odd := func(m web.Mark) bool { return m.Key%2 == 1 }
	all := func(web.Mark) bool { return true }
	same := func(n int, at int64) (out []web.Mark) {
		for i := range n {
			out = append(out, web.Mark{At: at, Key: int64(i / 2), Sub: int64(i % 2)})
		}
		return out
	}
	apart := func(n int) (out []web.Mark) {
		for i := range n {
			out = append(out, web.Mark{At: int64(i / 3), Key: int64(i)})
		}
		return out
	}
	for name, tt := range map[string]struct {
		sources []Source
		want    int
	}{
		"nothing":               {nil, 0},
		"one source":            {[]Source{kept("a", apart(20), never)}, 20},
		"all at one time":       {[]Source{kept("a", same(9, 5), never), kept("b", same(9, 5), never), kept("c", same(9, 5), never)}, 27},
		"interleaved":           {[]Source{kept("c", apart(17), never), kept("b", same(5, 3), never), kept("a", apart(8), never)}, 30},
		"some hidden":           {[]Source{kept("a", apart(20), odd), kept("b", same(6, 2), never)}, 16},
		"a source all hidden":   {[]Source{kept("a", apart(20), all), kept("b", same(6, 2), never)}, 6},
		"nothing that is shown": {[]Source{kept("a", apart(20), all)}, 0},
	} {
		s := NewOverview(OverviewConfig{Timeline: tt.sources, Twin: func(context.Context, string) (int64, error) { return 1, nil }})
		ctx := web.WithCaller(t.Context(), web.Caller{Scopes: []string{"*"}})
		var first []string
		for _, limit := range []int{100, 1, 2, 3, 7} {
			ids := walk(ctx, t, s, limit)
			sorted := slices.Compact(slices.Sorted(slices.Values(ids)))
			if len(ids) != tt.want || len(sorted) != tt.want {
				t.Errorf("%s, %d a page: %d items, %d of them different; want %d: %q", name, limit, len(ids), len(sorted), tt.want, ids)
			}
			if first == nil {
				first = ids
			}
			if !slices.Equal(ids, first) {
				t.Errorf("%s, %d a page: %q, want the order %q", name, limit, ids, first)
			}
		}
	}
}

// walk reads all pages and gives what is on them.
func walk(ctx context.Context, t *testing.T, s *Overview, limit int) (ids []string) {
	t.Helper()
	from := place{Mark: web.Mark{At: math.MaxInt64, Key: math.MaxInt64, Sub: math.MaxInt64}}
	for range 200 {
		page, next, err := s.timeline(ctx, "did:ixo:x", from, limit)
		if err != nil || len(page.Items) > limit {
			t.Fatalf("%d items, %v", len(page.Items), err)
		}
		for i, item := range page.Items {
			if i > 0 && item.At.After(page.Items[i-1].At) {
				t.Errorf("%s is newer than what is before it", item.ID)
			}
			ids = append(ids, item.ID)
		}
		if next == nil {
			return ids
		}
		from = *next
	}
	t.Fatal("the time line does not end")
	return nil
}

// TestTimelineWithholds: a source the caller may not read is not asked, and named.
func TestTimelineWithholds(t *testing.T) {
	t.Parallel()
	never := func(web.Mark) bool { return false }
	s := NewOverview(OverviewConfig{
		Timeline: []Source{kept("b.one", []web.Mark{{At: 1}}, never), kept("b.two", []web.Mark{{At: 2}}, never), kept("a", []web.Mark{{At: 3}}, never)},
		Twin: func(_ context.Context, did string) (int64, error) {
			if did != "did:ixo:x" {
				return 0, fault.New(fault.NotFound, "ENTITY_NOT_FOUND", "No entity has this DID.")
			}
			return 1, nil
		},
	})
	ctx := web.WithCaller(t.Context(), web.Caller{Scopes: []string{"a:read"}})
	got, next, err := s.timeline(ctx, "did:ixo:x", place{Mark: web.Mark{At: 9}, Source: "~"}, 10)
	if err != nil || next != nil || len(got.Items) != 1 || got.Items[0].Source != "a" || !slices.Equal(got.Withheld, []string{"b"}) {
		t.Errorf("timeline = %+v, %v, %v; want what a has, b withheld", got, next, err)
	}
	if _, _, err := s.timeline(ctx, "did:ixo:y", place{}, 10); fault.CodeOf(err) != "ENTITY_NOT_FOUND" {
		t.Errorf("of no twin: %v", err)
	}
}
