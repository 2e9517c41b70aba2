package openrosa_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
)

// Posts of one sender that come to a stop half way keep nobody else out.
func TestHeld(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		var refused atomic.Int64
		var all sync.WaitGroup
		ctx, cancel := context.WithCancel(t.Context())
		stopped := make(chan struct{}, 24)
		for range cap(stopped) {
			r, w := io.Pipe()
			post := httptest.NewRequestWithContext(ctx, http.MethodPost, "/v1/openrosa/ws-ann/submission", r)
			post.Header.Set("Content-Type", "multipart/form-data; boundary=b")
			all.Go(func() {
				got := httptest.NewRecorder()
				v.phone.ServeHTTP(got, post)
				_ = r.CloseWithError(io.ErrClosedPipe)
				if got.Code == http.StatusServiceUnavailable {
					refused.Add(1)
				}
			})
			go func() {
				defer func() { stopped <- struct{}{} }()
				_, _ = io.WriteString(w, "--b\r\nContent-Disposition: form-data; name=\"1.jpg\"; filename=\"1.jpg\"\r\n\r\n")
				for range 15 {
					_, _ = w.Write(make([]byte, 1<<20))
				}
				context.AfterFunc(ctx, func() { _ = w.CloseWithError(io.ErrUnexpectedEOF) })
			}()
		}
		for range cap(stopped) {
			<-stopped
		}
		want(t, "another sender", v.send(t, "ws-bob", interview{id: "uuid:2", household: "2", home: `"size":4`}), 201)
		cancel()
		all.Wait()
		if refused.Load() == 0 {
			t.Error("nothing was refused, want a share of memory for one sender")
		}
		want(t, "the sender again", v.send(t, "ws-ann", interview{id: "uuid:1", household: "1", home: `"size":4`}), 201)
	})
}
