package oracle

import (
	"context"
	"errors"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/oracle/run"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
)

// admit asks the plugins that may refuse an answer before it begins; the error
// may be a *tool.Refusal. The run that will give the answer has its id already,
// so that credits held back for it can be found again. Call release once the
// answer has begun, or cannot.
func (t *turn) admit(ctx context.Context, s *Service) error {
	t.about.RunID = run.NewID()
	if s.cfg.Before == nil {
		return nil
	}
	err := s.cfg.Before(tool.With(ctx, t.about))
	if err != nil {
		t.release(ctx, s)
	}
	return err
}

// release reports that an admitted answer which has not begun never will.
func (t *turn) release(ctx context.Context, s *Service) {
	if !t.begun {
		t.settle(ctx, s, nil)
	}
}

// settle says what an answer has used; nil: it never began. It gives what the user
// pays for it.
func (t *turn) settle(ctx context.Context, s *Service, used *run.Account) int64 {
	if s.cfg.Settle == nil {
		return 0
	}
	return s.cfg.Settle(tool.With(context.WithoutCancel(ctx), t.about), used)
}

// purse pays for an admitted turn; nil: nobody pays, as for free calls of unknown
// people.
func (t *turn) purse(ctx context.Context, s *Service) run.Purse {
	if s.cfg.Purse == nil {
		return nil
	}
	if t.errand != nil && t.errand.Call != nil && s.cfg.Tools.Open(tool.With(ctx, t.about), t.errand.Call.Name) != nil {
		return nil
	}
	return s.cfg.Purse(t.about)
}

// unheard turns a refusal into a fault with the same message, where there is
// nobody to pay.
func unheard(err error) error {
	var no *tool.Refusal
	if errors.As(err, &no) {
		return fault.New(fault.Forbidden, "ANSWER_REFUSED", no.Message)
	}
	return err
}
