package oracle

// Blocked is how many addresses s remembers as blocked.
func Blocked(s *Callers) int {
	s.guard.mu.Lock()
	defer s.guard.mu.Unlock()
	return len(s.guard.blocked)
}
