package exchange

import (
	"fmt"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/job"
)

// A page takes few queries, however small it is and however rare its status: it
// ends short and says where to go on.
func TestPageTakesFewQueries(t *testing.T) {
	const all = 1500
	for name, tt := range map[string]struct {
		limit, failed, most int // failed: every so many
		found               int
	}{
		"one, none has failed":     {1, all + 1, 10, 0},
		"one, the last has failed": {1, all, 10, 1},
		"two, some have failed":    {2, 99, 4, 15},
		"many":                     {200, 2, 5, 750},
	} {
		t.Run(name, func(t *testing.T) {
			queries := 0
			w := walk{status: job.Failed, limit: tt.limit, read: func(below string, n int) ([]*Order, map[string]job.Job, error) {
				queries++
				var orders []*Order
				jobs := map[string]job.Job{}
				for i := all; i > 0 && len(orders) < n; i-- {
					id := fmt.Sprintf("%04d", i)
					if id >= below {
						continue
					}
					orders = append(orders, &Order{Job: id})
					status := job.Succeeded
					if (all-i+1)%tt.failed == 0 {
						status = job.Failed
					}
					jobs[id] = job.Job{ID: id, Status: status}
				}
				return orders, jobs, nil
			}}
			seen := map[string]bool{}
			for next := any("g"); next != nil; {
				var page []Listed
				var err error
				queries = 0
				page, next, err = w.page(next.(string), func(o *Order, j job.Job) Listed { return Listed{Order: o, Of: j} })
				if err != nil || queries > tt.most || len(page) > tt.limit {
					t.Fatalf("%d orders took %d queries (%v), want at most %d and %d", len(page), queries, err, tt.limit, tt.most)
				}
				for _, o := range page {
					seen[o.Of.ID] = true
				}
			}
			if len(seen) != tt.found {
				t.Errorf("%d orders, want %d", len(seen), tt.found)
			}
		})
	}
}
