package exchange

import (
	"context"
	"slices"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/file"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// AboutList describes lists of orders for the reference.
const AboutList = "Newest first. Follow hasMore: with status a page looks at 1,000 of them and may be short. Keys limited to projects see their own."

// listBudget limits how many orders a page looks at: their status is that of
// their jobs, which no index of orders has.
const listBudget = 1000

// listStep is how many it reads at once at least, so that a page takes few
// queries.
const listStep = 100

// Listing says which orders a list contains.
type Listing struct {
	Kind    string // of the job
	About   int64  // as in Order
	Cursors web.Cursors
}

// ListQuery asks for a page of orders.
type ListQuery struct {
	Status job.Status `query:"status" enum:"queued,running,succeeded,completedWithErrors,failed,cancelled" doc:"Only those with this status." example:"succeeded"`
	web.Paging
}

// Listed is an order of a list, with its job and, for a finished export, the
// file that can still be read.
type Listed struct {
	*Order
	Of    job.Job
	File  *file.File // nil when there is none to read
	Until time.Time  // when the file goes
}

// List serves a page of the orders that the caller may know; item renders each
// for its readers. Faults: INVALID_PARAMETER, INVALID_CURSOR.
func List[T any](ctx context.Context, s *Service, of Listing, in *ListQuery, item func(Listed) (T, error)) (web.Reply[web.Page[T]], error) {
	var c fault.Checks
	in.Size(&c)
	if in.Status != "" && !slices.Contains(job.Statuses(), in.Status) {
		c.Add("query/status", "unknown", "The status must be queued, running, succeeded, completedWithErrors, failed or cancelled.")
	}
	if err := c.Err("INVALID_PARAMETER", "A parameter is not valid."); err != nil {
		return web.Reply[web.Page[T]]{}, err
	}
	below := "g" // after all ids, which are hexadecimal
	return web.List(ctx, of.Cursors, in.Paging, &below, func(limit int) ([]T, any, error) {
		found, next, err := s.page(ctx, of, in.Status, below, limit)
		items := make([]T, len(found))
		for i := 0; i < len(found) && err == nil; i++ {
			items[i], err = item(found[i])
		}
		return items, next, err
	})
}

// page reads at most limit orders below one. next is where the next page begins,
// nil at the end.
func (s *Service) page(ctx context.Context, of Listing, status job.Status, below string, limit int) (out []Listed, next any, err error) {
	files, err := s.files(ctx)
	if err != nil {
		return nil, nil, err
	}
	w := walk{status: status, limit: limit, read: func(below string, n int) ([]*Order, map[string]job.Job, error) {
		orders, err := list(ctx, s.db, of, below, n)
		if err != nil {
			return nil, nil, err
		}
		jobs, err := s.jobs.Among(ctx, idsOf(orders))
		return orders, jobs, err
	}}
	return w.page(below, func(o *Order, j job.Job) Listed { return s.listed(o, j, files) })
}

// walk looks for the orders of a page.
type walk struct {
	status job.Status // "" takes all
	limit  int
	read   func(below string, n int) ([]*Order, map[string]job.Job, error)
}

// page looks at listBudget orders at most, many at a time: those that are shown
// may be few among them, whatever the size of the page.
func (w *walk) page(below string, listed func(*Order, job.Job) Listed) (out []Listed, next any, err error) {
	step := w.limit + 1
	if w.status != "" {
		step = max(step, listStep)
	}
	for looked := 0; looked < listBudget; {
		orders, jobs, err := w.read(below, step)
		if err != nil {
			return nil, nil, err
		}
		for _, o := range orders {
			if len(out) == w.limit {
				return out, below, nil
			}
			below, looked = o.Job, looked+1
			if j, ok := jobs[o.Job]; ok && (w.status == "" || j.Status == w.status) {
				out = append(out, listed(o, j))
			}
		}
		if len(orders) < step {
			return out, nil, nil
		}
		step = max(step, listStep) // many are not for the caller
	}
	return out, below, nil
}

func idsOf(orders []*Order) []string {
	ids := make([]string, len(orders))
	for i, o := range orders {
		ids[i] = o.Job
	}
	return ids
}

// listed adds the file of an export that can still be read.
func (s *Service) listed(o *Order, j job.Job, files map[string]*file.File) Listed {
	out := Listed{Order: o, Of: j}
	f := files[o.File]
	if f == nil || f.SHA256 == "" || j.Status != job.Succeeded {
		return out
	}
	if out.Until = time.UnixMilli(f.At).Add(FileLife).UTC(); !s.now().After(out.Until) {
		out.File = f
	}
	return out
}

// files are those of exports of the caller's workspace; it has few at once.
func (s *Service) files(ctx context.Context) (map[string]*file.File, error) {
	all, err := file.Exports(ctx, s.db, web.CallerFrom(ctx).Workspace, 2*MaxFiles)
	if err != nil {
		return nil, db.Wrap("list files", err)
	}
	out := make(map[string]*file.File, len(all))
	for i := range all {
		out[all[i].ID] = &all[i]
	}
	return out, nil
}
