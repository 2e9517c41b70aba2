package chat

import "context"

// Remembered is how many bytes of conversations a store has in memory.
func Remembered(s *Store) int {
	s.recall.mu.Lock()
	defer s.recall.mu.Unlock()
	return s.recall.size
}

// HistoryWhile is History, with f called after the store was read and before
// memory is.
func HistoryWhile(ctx context.Context, s *Store, user, session string, f func()) (int, error) {
	t, _, err := s.tell(ctx, user, session, 1<<40, 1<<19)
	if err != nil {
		return 0, err
	}
	f()
	n := len(t.messages())
	s.recall.keep(t)
	return n, nil
}

// EmojiTable is what tests look at from outside.
const EmojiTable = emojiTable
