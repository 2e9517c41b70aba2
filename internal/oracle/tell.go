package oracle

import (
	"context"
	"crypto/sha256"

	"github.com/hearth-dmrv/hearth/internal/oracle/llm"
	"github.com/hearth-dmrv/hearth/internal/oracle/run"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Tell answers an errand with the server's own words instead of the model's, to say
// why it is not done. It needs nobody's rights, and answers once for a key.
func (d Errands) Tell(ctx context.Context, e Errand, answer string) error {
	s, user := d.s, userOf(e.Who)
	session, err := s.cfg.Chat.OpenThread(ctx, user, e.Thread)
	if err != nil {
		return err
	}
	if _, err := s.cfg.Chat.SetTitle(ctx, user, session.ID, e.Title); err != nil {
		return err
	}
	hash := sha256.Sum256([]byte(e.Text))
	said := llm.Message{Role: llm.User, Content: e.Text}
	begin := run.Start{User: user, Session: session.ID, Message: said, RequestID: web.RequestID(ctx), Key: "told " + e.Key, Hash: hash[:]}
	_, err = s.cfg.Runs.Start(ctx, begin, func(_ context.Context, r *run.Run) run.Result {
		_ = r.Text(answer) // a run that has ended ignores it
		return run.Result{Messages: []llm.Message{{Role: llm.Assistant, Content: answer}}}
	})
	return err
}
