package job

import (
	"testing"
	"time"
)

func TestBackoff(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		attempt int
		most    time.Duration
	}{
		{0, time.Second},
		{1, time.Second},
		{2, 2 * time.Second},
		{5, 16 * time.Second},
		{10, 512 * time.Second},
		{11, 10 * time.Minute},
		{1000, 10 * time.Minute},
	} {
		for range 50 {
			if d := backoff(tt.attempt); d < tt.most/2 || d > tt.most {
				t.Errorf("backoff(%d) = %v, want %v to %v", tt.attempt, d, tt.most/2, tt.most)
			}
		}
	}
}
