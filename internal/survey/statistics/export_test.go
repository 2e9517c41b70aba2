package statistics

import "context"

// SetMost sets how many responses one request reads.
func (s *Service) SetMost(n int) { s.most = n }

// KeepAfter keeps figures for a moment after which something else has happened.
func (s *Service) KeepAfter(ctx context.Context, surveyID string, in Query, happens func()) error {
	a, err := s.ask(ctx, surveyID, in)
	if err != nil {
		return err
	}
	at, err := momentOf(ctx, s.db, a.o.NID)
	if err != nil {
		return err
	}
	happens()
	return s.keep(ctx, a, at, "", &Statistics{})
}
