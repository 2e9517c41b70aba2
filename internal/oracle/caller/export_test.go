package caller

// Blocked is how many addresses s remembers as blocked.
func Blocked(s *Service) int {
	s.guard.mu.Lock()
	defer s.guard.mu.Unlock()
	return len(s.guard.blocked)
}
