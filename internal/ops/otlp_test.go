package ops_test

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hearth-dmrv/hearth/internal/ops"
)

// hung is a collector that takes a request and never answers.
type hung struct{}

func (hung) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// A collector that hangs delays the stop by five seconds and no more, and
// every span is accounted for.
func TestHungCollector(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tr := ops.NewTracer(ops.TraceConfig{Endpoint: "http://collector", Ratio: 1, Batch: 4, Queue: 10, Client: &http.Client{Transport: hung{}}})
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- tr.Run(ctx) }()
		end := func(n int) {
			for range n {
				_, s := tr.Start(ctx, "x", ops.SpanInternal)
				s.End()
			}
		}
		end(4)
		synctest.Wait() // the first batch is on its way
		end(13)         // ten wait, three are dropped
		if got := tr.Dropped(); got != 3 {
			t.Errorf("Dropped() = %d while the collector hangs, want 3", got)
		}
		begin := time.Now()
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if took := time.Since(begin); took != 5*time.Second {
			t.Errorf("the stop took %v, want 5s", took)
		}
		if got := tr.Dropped(); got != 17 {
			t.Errorf("Dropped() = %d, want 17", got)
		}
	})
}
