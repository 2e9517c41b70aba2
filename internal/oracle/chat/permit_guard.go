package chat

import (
	"context"
	"errors"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
)

// What a model is told when a tool may not run.
const (
	textRefused = "The user refused this call. Do not try it again unless they ask for it."
	textPart    = "The tool changes something, and the user's delegation does not give all capabilities. Nothing was changed. The user can send an invocation instead."
	textExpired = "The user did not answer within five minutes, which counts as a refusal. Nothing was changed."
)

// textNobody is what a model is told when nobody can be asked.
func textNobody(name string) string {
	return "The tool changes something, and nobody can be asked here whether it may. Nothing was changed. The user can allow it beforehand with PUT /grants/" + name + "."
}

// Guard makes every tool of a run that changes something ask first.
func (s *Permits) Guard(tools []tool.Tool, a tool.Asker) []tool.Tool {
	out := make([]tool.Tool, len(tools))
	for i, t := range tools {
		out[i] = t
		if spec := t.Spec(); spec.Kind == tool.Server && !spec.ReadOnly {
			out[i] = &guarded{Tool: t, s: s, by: a}
		}
	}
	return out
}

// guarded is a tool that runs once it is permitted.
type guarded struct {
	tool.Tool
	s  *Permits
	by tool.Asker
}

var _ tool.Tool = (*guarded)(nil)

// Spec describes the tool; a call may last as long as a question waits.
func (g *guarded) Spec() tool.Spec {
	spec := g.Tool.Spec()
	spec.Timeout = g.s.cfg.Wait + orElse(spec.Timeout, toolTime)
	return spec
}

// Run asks, and runs the tool.
func (g *guarded) Run(ctx context.Context, c tool.Call) (tool.Output, error) {
	worded, refusal, err := g.allow(ctx, c)
	if cause := context.Cause(ctx); err != nil && cause != nil && !errors.Is(err, cause) {
		err = errors.Join(cause, err) // a query that was cut off does not say why
	}
	if err != nil || refusal != "" {
		return tool.Output{Err: refusal}, err
	}
	if _, ok := tool.AsForeign(g.Tool); ok && worded {
		ctx = tool.WithWord(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, orElse(g.Tool.Spec().Timeout, toolTime))
	defer cancel()
	return g.Tool.Run(ctx, c)
}

// allow finds out whether a call may run; it returns the refusal if not. worded
// means that the user has permitted it, rather than another on their behalf.
func (g *guarded) allow(ctx context.Context, c tool.Call) (worded bool, refusal string, err error) {
	if g.signed(ctx, c.Name) {
		return false, "", nil
	}
	if !tool.From(ctx).Whole {
		return false, textPart, nil
	}
	if p, ok := g.Tool.(tool.Permitted); ok && p.Permitted(ctx) {
		return false, "", nil
	}
	given, err := granted(ctx, g.s.cfg.DB, g.by, tool.Grant{Tool: c.Name, Hash: g.seal()}, g.s.now())
	if err != nil || given {
		return given, "", err
	}
	// One that was confirmed for a run that a restart has ended counts for the
	// same call of the next.
	used, err := useEarlierQuestion(ctx, g.s.cfg.DB, g.by, bound(c, g.seal()), g.s.now())
	if err != nil || used {
		return used, "", err
	}
	if g.by.Tell == nil && g.by.Page == nil {
		if _, ok := tool.AsForeign(g.Tool); ok {
			return false, "", nil // it knows better words to refuse with
		}
		return false, textNobody(c.Name), nil
	}
	refusal, err = g.ask(ctx, c)
	return refusal == "" && err == nil, refusal, err
}

// seal is what a user's permission is for, besides the name of the tool.
func (g *guarded) seal() string {
	if f, ok := tool.AsForeign(g.Tool); ok {
		return f.Seal()
	}
	return ""
}

// about describes the tool to its user.
func (g *guarded) about() string {
	if f, ok := tool.AsForeign(g.Tool); ok {
		return f.About()
	}
	return g.Tool.Spec().Description
}

// signed reports whether the user has sent an invocation for this tool.
func (g *guarded) signed(ctx context.Context, name string) bool {
	about := tool.From(ctx)
	token := about.Invocation.Reveal()
	return token != "" && g.s.cfg.Claims != nil && g.s.cfg.Claims(ctx, about.User, token, name) == nil
}

// ask stores the question, shows it and waits for its answer.
func (g *guarded) ask(ctx context.Context, c tool.Call) (refusal string, err error) {
	s := g.s
	args := c.Args
	if len(args) == 0 {
		args = jsontext.Value("{}")
	}
	now := s.now()
	r := &question{
		place: place{g.by.Run, c.ID}, user: g.by.User, session: g.by.Session, tool: c.Name, about: g.about(), args: string(args),
		hash: bound(c, g.seal()), seal: g.seal(), state: tool.QuestionWaiting, created: now, expires: now + s.cfg.Wait.Milliseconds(),
	}
	decided, leave := s.listen(r.place)
	defer leave()
	if err := putQuestion(ctx, s.cfg.DB, r); err != nil {
		return "", err
	}
	if err := g.tell(r.show(now)); err != nil {
		return "", err
	}
	page, stop := context.WithCancel(ctx)
	defer stop()
	if g.by.Page != nil {
		go g.askPage(page, r.show(now))
	}
	if g.by.Rest != nil {
		defer g.by.Rest()()
	}
	q, err := g.wait(ctx, r, decided)
	if err != nil {
		return "", g.leave(ctx, r, err)
	}
	if err := g.tell(q); err != nil {
		return "", err
	}
	switch q.Status {
	case tool.QuestionUsed:
		return "", nil
	case tool.QuestionRefused:
		return textRefused, nil
	}
	return textExpired, nil
}

// leave closes a question that nobody waits for any more, so that no later answer
// counts. One that a restart has interrupted stays: its answer counts for the same
// call of the next run.
func (g *guarded) leave(ctx context.Context, r *question, err error) error {
	if cause := context.Cause(ctx); cause == nil || g.by.Ended != nil && !g.by.Ended(cause) {
		return err
	}
	return errors.Join(err, dropQuestion(context.WithoutCancel(ctx), g.s.cfg.DB, r.place))
}

// askPage has a page ask. Its answer goes the way every answer goes.
func (g *guarded) askPage(ctx context.Context, q tool.Question) {
	if yes, ok := g.by.Page(ctx, q); ok {
		_, _ = g.s.Decide(ctx, g.by.User, q.RunID, q.CallID, yes) // a fault means that it was decided meanwhile
	}
}

// tell shows the state of a question, if anybody is looking.
func (g *guarded) tell(q tool.Question) error {
	if g.by.Tell == nil {
		return nil
	}
	return g.by.Tell(q)
}

// wait waits until a question is decided here or elsewhere, or has ended. A
// confirmation it finds is used by that: it counts for this call alone.
func (g *guarded) wait(ctx context.Context, r *question, decided <-chan struct{}) (tool.Question, error) {
	s := g.s
	look := time.NewTicker(s.cfg.Look)
	defer look.Stop()
	for {
		select {
		case <-decided:
			decided = nil
		case <-look.C:
		case <-ctx.Done():
			return tool.Question{}, context.Cause(ctx)
		}
		used, err := useQuestion(ctx, s.cfg.DB, r.place, s.now())
		if err != nil {
			return tool.Question{}, err
		}
		q, err := s.Find(ctx, r.user, r.run, r.call)
		if err != nil || used || q.Status == tool.QuestionRefused || q.Status == tool.QuestionExpired {
			return q, err
		}
	}
}

func orElse(d, usual time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return usual
}
