package history

import "context"

// Link is where an audit goes on.
type Link = link

// AuditFrom checks a part of a history.
func (s *Service) AuditFrom(ctx context.Context, id string, after Link, limit int) (*Audit, *Link, error) {
	return s.audit(ctx, id, after, limit)
}

// MakePatch compares two documents.
func MakePatch(a, b []byte) ([]Op, error) { return makePatch(a, b) }
