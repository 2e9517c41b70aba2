package oracle

import (
	"context"
	"errors"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/oracle/run"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
)

// admit asks whoever may refuse an answer before it begins; the error may be a
// *tool.Refusal. The run that will give the answer has its name already, so that
// what is held back for it can be found again. Call release once the answer has
// begun, or cannot.
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

// release says of an answer that was let in and has not begun that it never will.
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

// purse is who pays for a turn that was admitted; nil: nobody, as for what people who
// are not known have for nothing.
func (t *turn) purse(ctx context.Context, s *Service) run.Purse {
	if s.cfg.Purse == nil {
		return nil
	}
	if t.errand != nil && t.errand.Call != nil && s.cfg.Tools.Open(tool.With(ctx, t.about), t.errand.Call.Name) != nil {
		return nil
	}
	return s.cfg.Purse(t.about)
}

// unheard is a refusal where there is nobody to pay: a fault with its words.
func unheard(err error) error {
	var no *tool.Refusal
	if errors.As(err, &no) {
		return fault.New(fault.Forbidden, "ANSWER_REFUSED", no.Message)
	}
	return err
}
