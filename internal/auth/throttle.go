package auth

import (
	"time"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// blockedAddresses is how many addresses that try wrong keys are remembered.
const blockedAddresses = 10_000

// failures slows down addresses that try wrong keys. An address that has used
// up its tries is refused before its key is looked up, so that guessing does
// not load the store either.
type failures struct {
	tries   *web.Limiter
	now     func() time.Time
	blocked recent[string, time.Time] // name → until when
}

func newFailures(c Config) *failures {
	return &failures{
		tries: web.NewLimiter(web.LimiterConfig{PerMinute: c.FailureLimit, Now: c.Now, Fleet: c.Fleet, Name: "wrong-keys"}), now: c.Now,
		blocked: recent[string, time.Time]{size: blockedAddresses},
	}
}

// check refuses a name that has no tries left.
func (f *failures) check(name string) error {
	until, ok := f.blocked.get(name)
	if !ok {
		return nil
	}
	if wait := until.Sub(f.now()); wait > 0 {
		return tooManyFailures(wait)
	}
	f.blocked.drop(name)
	return nil
}

// count takes a try from name and returns the fault to answer with: cause, or
// TOO_MANY_FAILURES when there was none left.
func (f *failures) count(name string, cause *fault.Error) error {
	v := f.tries.Allow(name)
	if v.OK {
		return cause
	}
	f.blocked.put(name, f.now().Add(v.RetryAfter))
	return tooManyFailures(v.RetryAfter).Wrap(cause)
}

func tooManyFailures(wait time.Duration) *fault.Error {
	return fault.New(fault.TooMany, "TOO_MANY_FAILURES", "Too many wrong keys came from your address. Try again later.").After(wait)
}
