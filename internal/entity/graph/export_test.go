package graph

// SetLooked changes how many edges a request looks at.
func (s *Service) SetLooked(n int) { s.looked = n }

// SetAudit changes how many edges an audit looks at, and how many at once.
func (s *Service) SetAudit(edges, together int) { s.audit = auditBounds{edges, together} }
