package extend_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/oracle/extend"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
	"github.com/hearth-dmrv/hearth/plugin"
)

// meter is a plugin that is there only when the operator says so, and counts.
type meter func(turn plugin.Turn, used *plugin.Usage) (int64, error)

var _ plugin.Meters = meter(nil)

func (m meter) Manifest() plugin.Manifest {
	a := about("meter")
	a.OptIn = true
	return a
}

func (m meter) Settle(_ context.Context, turn plugin.Turn, used *plugin.Usage) (int64, error) {
	return m(turn, used)
}

func TestMeters(t *testing.T) {
	t.Parallel()
	var do meter
	m := meter(func(turn plugin.Turn, used *plugin.Usage) (int64, error) { return do(turn, used) })
	off, err := extend.New(extend.Config{Plugins: []plugin.Plugin{m}})
	if err != nil || slices.Contains(off.Names(), "meter") {
		t.Fatalf("nobody has asked for it, and there are %v, %v", off.Names(), err)
	}
	s, err := extend.New(extend.Config{Plugins: []plugin.Plugin{m}, Settings: given(map[string]map[string]string{"meter": {"enabled": "true"}})})
	if err != nil || !slices.Contains(s.Names(), "meter") {
		t.Fatalf("there are %v, %v", s.Names(), err)
	}
	ctx := tool.With(t.Context(), tool.Context{User: "ann", RunID: "run_1"})
	for _, tt := range []struct {
		name string
		do   meter
		want int64
	}{
		{"counts", func(turn plugin.Turn, used *plugin.Usage) (int64, error) {
			if turn.RunID != "run_1" || turn.User != "ann" {
				t.Errorf("settled %+v", turn)
			}
			return int64(used.Input + used.Output), nil
		}, 7},
		{"fails", func(plugin.Turn, *plugin.Usage) (int64, error) { return 0, errors.New("disk") }, 0},
		{"panics", func(plugin.Turn, *plugin.Usage) (int64, error) { panic("x") }, 0},
	} {
		do = tt.do
		if got := s.Settle(ctx, &plugin.Usage{Input: 3, Output: 4}); got != tt.want {
			t.Errorf("%s: %d credits, want %d", tt.name, got, tt.want)
		}
	}
}
