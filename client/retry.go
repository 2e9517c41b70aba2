package client

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"time"
)

// maxAsked is the longest Retry-After that is waited for. Whoever is asked to
// wait longer gets the error and decides.
const maxAsked = time.Minute

// lost is an attempt without a complete answer: its outcome is unknown.
type lost struct{ error }

func (l lost) Unwrap() error { return l.error }

// next reports whether a call is sent again after attempt n failed with err, and
// how long to wait before.
func (r Retry) next(k *call, n int, err error) (time.Duration, bool) {
	if k.once || n >= r.Attempts || !k.repeatable() || !passing(err) {
		return 0, false
	}
	if e := new(Error); errors.As(err, &e) && e.RetryAfter > 0 {
		return e.RetryAfter, e.RetryAfter <= maxAsked
	}
	return r.wait(n), true
}

// repeatable reports whether doing the call twice is like doing it once.
func (k *call) repeatable() bool {
	switch k.method {
	case http.MethodGet, http.MethodHead, http.MethodPut, http.MethodDelete:
		return true
	}
	return k.safe || k.keyed && k.head.Get(headIdempotency) != ""
}

// passing reports whether an error may be gone at the next attempt.
func passing(err error) bool {
	if errors.As(err, new(lost)) {
		return true
	}
	e := new(Error)
	if !errors.As(err, &e) {
		return false
	}
	switch e.Status {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusBadGateway, http.StatusGatewayTimeout:
		return true
	}
	return e.Code == "IDEMPOTENCY_IN_PROGRESS"
}

// wait is how long to wait after attempt n: twice as long each time, with some
// chance in it so that many clients do not come back together.
func (r Retry) wait(n int) time.Duration {
	d := r.Min << min(n-1, 20)
	if d <= 0 || d > r.Max {
		d = r.Max
	}
	return d/2 + rand.N(d/2+1)
}

// enough reports whether ctx lasts longer than d.
func enough(ctx context.Context, d time.Duration) bool {
	end, ok := ctx.Deadline()
	return !ok || time.Until(end) > d
}

// pause waits for d or for the end of ctx, whose error it returns.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
