package db

import (
	"slices"
	"testing"
)

func TestPositional(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		in, want string
		order    []int
	}{
		{"SELECT 1", "SELECT 1", nil},
		{"SELECT $1, $2", "SELECT ?, ?", []int{1, 2}},
		{"SELECT $2, $1, $2 + $10", "SELECT ?, ?, ? + ?", []int{2, 1, 2, 10}},
		{"SELECT '$1', \"$2\", $1", "SELECT '$1', \"$2\", ?", []int{1}},
		{"SELECT 'it''s $1', $1", "SELECT 'it''s $1', ?", []int{1}},
		{"SELECT $1 -- not $2\n, $3", "SELECT ? -- not $2\n, ?", []int{1, 3}},
		{"SELECT /* $1 */ $1", "SELECT /* $1 */ ?", []int{1}},
		{"SELECT '$.name', $1", "SELECT '$.name', ?", []int{1}},
		{"SELECT $", "SELECT $", nil},
		{"SELECT 'open $1", "SELECT 'open $1", nil},
	} {
		got, order := positional(tt.in)
		if got != tt.want || !slices.Equal(order, tt.order) {
			t.Errorf("positional(%q) = %q, %v; want %q, %v", tt.in, got, order, tt.want, tt.order)
		}
	}
}
