package export

// Small makes a service store a few responses at a time.
func (s *Service) Small() { s.size = sizes{rows: 3, feed: 4, bytes: 1 << 20, chunk: 200} }

// StataFigure are the lines for a figure of a column.
func StataFigure(k *Column, name string) []string { return stataFigure(k, name, 0.9) }
