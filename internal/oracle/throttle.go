package oracle

import (
	"time"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Defaults of the throttle.
const (
	DefaultThrottle    = 300
	DefaultThrottleTTL = time.Minute
)

// window is a rate limit by name over a period of any length. It is a limiter
// of minutes whose clock runs at another speed.
type window struct {
	limiter *web.Limiter
	speed   float64 // minutes of the limiter in one window
}

// newWindow makes a window; nil, which has no limit, when limit is negative.
func newWindow(c Config, name string, limit int) *window {
	if limit < 0 {
		return nil
	}
	speed := float64(time.Minute) / float64(c.ThrottleTTL)
	start := c.Now()
	clock := func() time.Time { return start.Add(time.Duration(float64(c.Now().Sub(start)) * speed)) }
	return &window{web.NewLimiter(web.LimiterConfig{PerMinute: limit, Now: clock, Fleet: c.Fleet, Name: name}), speed}
}

// allow takes one from the allowance of name. ok is false when there is no
// limit.
func (w *window) allow(name string) (v web.Verdict, ok bool) {
	if w == nil {
		return web.Verdict{OK: true}, false
	}
	v = w.limiter.Allow(name)
	v.Reset = time.Duration(float64(v.Reset) / w.speed)
	v.RetryAfter = time.Duration(float64(v.RetryAfter) / w.speed)
	return v, true
}

// tooMany is the refusal of a flood.
func tooMany(v web.Verdict) error {
	return fault.New(fault.TooMany, "THROTTLED", TooManyText).After(max(v.RetryAfter, time.Second))
}
