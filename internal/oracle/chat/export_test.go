package chat

// Remembered is how many bytes of conversations a store has in memory.
func Remembered(s *Store) int {
	s.recall.mu.Lock()
	defer s.recall.mu.Unlock()
	return s.recall.size
}
