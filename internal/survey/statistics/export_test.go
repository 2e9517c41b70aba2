package statistics

// SetMost sets how many responses one request reads.
func (s *Service) SetMost(n int) { s.most = n }
