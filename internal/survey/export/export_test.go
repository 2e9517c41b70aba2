package export

// Small makes a service store a few responses at a time.
func (s *Service) Small() { s.size = sizes{rows: 3, feed: 4, bytes: 1 << 20, chunk: 200} }
