package app

import (
	"context"
	"time"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// askEvery is how often a requested job checks whether its requester still has
// the rights it was accepted with.
const askEvery = time.Second

// asked adds handlers of requested work, which ends with the requester's
// rights. Work that the server starts to finish its own is not included.
func (c *Core) asked(into, handlers map[string]job.Handler) {
	for kind, h := range handlers {
		into[kind] = whileAllowed(h, c.mayGoOn)
	}
}

// whileAllowed runs a handler as long as may returns nil.
func whileAllowed(h job.Handler, may func(context.Context) error) job.Handler {
	return func(ctx context.Context, run *job.Run) error {
		if err := may(ctx); err != nil {
			return err
		}
		work, end := context.WithCancelCause(ctx)
		defer end(nil)
		go func() {
			tick := time.NewTicker(askEvery)
			defer tick.Stop()
			for {
				select {
				case <-work.Done():
					return
				case <-tick.C:
				}
				if err := may(work); isEnded(err) {
					end(err)
					return
				}
			}
		}()
		err := h(work, run)
		if cause := context.Cause(work); err != nil && isEnded(cause) {
			return cause
		}
		return err
	}
}

const codeEnded = "JOB_RIGHTS_ENDED"

func isEnded(err error) bool { return fault.CodeOf(err) == codeEnded }

// mayGoOn returns nil while the requester of the job of ctx has all the rights
// it was accepted with. A key that reaches its planned expiry does not end its
// jobs; a revoked one does, and a group that no longer gives the rights.
func (c *Core) mayGoOn(ctx context.Context) error {
	asker := web.CallerFrom(ctx)
	if asker.Key == "" && asker.Signer != "" {
		asker.Again = func(ctx context.Context) (web.Caller, error) { return c.callerOf(ctx, asker.DID, asker.Signer) }
	}
	err := c.Auth.StillValid(web.WithCaller(ctx, asker), false)
	switch kind := fault.KindOf(err); {
	case err == nil || fault.CodeOf(err) == "KEY_EXPIRED":
		return nil
	case kind != fault.Unauthenticated && kind != fault.Forbidden:
		return err
	}
	return job.Permanent(fault.New(fault.Forbidden, codeEnded,
		"The caller who asked for this job has lost rights that it needs. What was done until then stays; somebody who has these rights can ask for the rest."))
}
