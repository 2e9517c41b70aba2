package app_test

import (
	"context"
	"net/http/httptest"
	"time"
)

// doLook reads something everybody may: with a UCAN, the key has signed here.
func (w *world) doLook(c caller, _ step) (rights, bool) {
	return rights{}, done(w.send(c, request{method: "GET", path: "/v1/memberships"}))
}

// watched is a stream of events that somebody has opened.
type watched struct {
	who   string
	c     caller
	ended chan struct{}
	leave context.CancelFunc
}

// doWatch opens the stream of events. That it ends when the right to it does is
// looked at in the end.
func (w *world) doWatch(c caller, s step) (rights, bool) {
	if r := w.send(c, request{method: "GET", path: "/v1/events/types"}); !done(r) {
		return rights{}, false
	}
	ctx, leave := context.WithCancel(w.t.Context())
	v := watched{s.Who, c, make(chan struct{}), leave}
	req := w.request(c, request{method: "GET", path: "/v1/events"}).WithContext(ctx)
	go func() {
		defer close(v.ended)
		w.h.Handler.ServeHTTP(httptest.NewRecorder(), req)
	}()
	w.watching = append(w.watching, v)
	return scopesOf("events:read"), true
}

// streamEnd is how long a stream may outlive its right, and then some: what is
// looked for is a stream that stays.
const streamEnd = 10 * time.Second

// checkStreams holds that streams end with the right to them.
func (w *world) checkStreams() {
	for _, v := range w.watching {
		if w.has(v.c).covers(scopesOf("events:read")) || w.wrong != "" {
			continue
		}
		select {
		case <-v.ended:
		case <-time.After(streamEnd):
			w.fail("%s still hears of events", v.who)
		}
	}
}

// leave closes the streams that are open.
func (w *world) leave() {
	for _, v := range w.watching {
		v.leave()
		<-v.ended
	}
}
