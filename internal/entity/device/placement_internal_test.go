package device

import (
	"database/sql"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func at64(n int64) sql.NullInt64 { return sql.NullInt64{Int64: n, Valid: n != 0} }

func TestPlacements(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		homes  []tie
		stoves []tie
		want   []string
	}{
		{"none", nil, nil, []string{"/ ..."}},
		{"one, also for what came before", []tie{{nid: 1, target: "A", added: 50}}, nil, []string{"A/ ..."}},
		{"one since", []tie{{nid: 1, target: "A", added: 50, since: at64(10)}}, nil, []string{"/ ..10", "A/ 10.."}},
		{"moved", []tie{{nid: 1, target: "A", added: 5, removed: at64(50)}, {nid: 2, target: "B", added: 60}}, nil, []string{"A/ ..50", "/ 50-60", "B/ 60.."}},
		{"moved earlier than it was told", []tie{{nid: 1, target: "A", added: 5, removed: at64(50)}, {nid: 2, target: "B", added: 60, since: at64(30)}}, nil, []string{"A/ ..30", "B/ 30.."}},
		{"moved and back", []tie{
			{nid: 1, target: "A", added: 5, removed: at64(50)},
			{nid: 2, target: "B", added: 50, removed: at64(70)},
			{nid: 3, target: "A", added: 70},
		}, nil, []string{"A/ ..50", "B/ 50-70", "A/ 70.."}},
		{"until comes before the removal", []tie{{nid: 1, target: "A", added: 5, until: at64(40), removed: at64(50)}}, nil, []string{"A/ ..40", "/ 40.."}},
		{"removal comes before until", []tie{{nid: 1, target: "A", added: 5, until: at64(60), removed: at64(50)}}, nil, []string{"A/ ..50", "/ 50.."}},
		{"a time within another", []tie{{nid: 1, target: "A", added: 5}, {nid: 2, target: "B", added: 5, since: at64(20), until: at64(30)}}, nil, []string{"A/ ..20", "B/ 20-30", "A/ 30.."}},
		{"that was never", []tie{{nid: 1, target: "A", added: 5, since: at64(60), removed: at64(50)}}, nil, []string{"/ ..."}},
		{"another stove", []tie{{nid: 1, target: "A", added: 5}}, []tie{{nid: 2, target: "S", added: 5, removed: at64(9)}, {nid: 3, target: "T", added: 9}}, []string{"A/S ..9", "A/T 9.."}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, p := range placements(stays(tt.homes), stays(tt.stoves)) {
				times := fmt.Sprintf("%d-%d", p.from, p.to)
				switch {
				case p.from == always && p.to == ever:
					times = "..."
				case p.from == always:
					times = fmt.Sprintf("..%d", p.to)
				case p.to == ever:
					times = fmt.Sprintf("%d..", p.from)
				}
				got = append(got, p.household+"/"+p.stove+" "+times)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("placements (-want +got):\n%s", diff)
			}
		})
	}
}
