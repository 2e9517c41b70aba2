package app

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/job"
)

// TestWhileAllowed: work that somebody asked for ends with their rights, and
// only with these.
func TestWhileAllowed(t *testing.T) {
	t.Parallel()
	ended := job.Permanent(fault.New(fault.Forbidden, codeEnded, "ended"))
	troubled := fault.New(fault.Unavailable, "STORE_BUSY", "busy")
	failed := errors.New("the work failed")
	for name, tt := range map[string]struct {
		answers []error // of may, one after the other
		works   bool    // the handler waits for its context
		result  error
		want    error
	}{
		"before it began":         {answers: []error{ended}, want: ended},
		"in the middle":           {answers: []error{nil, nil, ended}, works: true, want: ended},
		"trouble in the middle":   {answers: []error{nil, troubled, ended}, works: true, want: ended},
		"it was done by then":     {answers: []error{nil}, want: nil},
		"it failed by itself":     {answers: []error{nil}, result: failed, want: failed},
		"nobody could say at all": {answers: []error{troubled}, want: troubled},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				asked := 0
				may := func(context.Context) error {
					asked++
					return tt.answers[min(asked, len(tt.answers))-1]
				}
				err := whileAllowed(func(ctx context.Context, _ *job.Run) error {
					if tt.works {
						<-ctx.Done()
						return ctx.Err()
					}
					return tt.result
				}, may)(t.Context(), nil)
				if !errors.Is(err, tt.want) || (err == nil) != (tt.want == nil) {
					t.Errorf("got %v, want %v", err, tt.want)
				}
			})
		})
	}
}
