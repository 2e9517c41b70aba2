package webhook

import (
	"testing"
	"time"
)

func TestDelay(t *testing.T) {
	t.Parallel()
	var total time.Duration
	for i, want := range []time.Duration{
		8 * time.Second, 24 * time.Second, 72 * time.Second, 216 * time.Second, 648 * time.Second, 1944 * time.Second,
		5832 * time.Second, 17496 * time.Second, 52488 * time.Second, 24 * time.Hour, 24 * time.Hour,
	} {
		if got := delay(i+1, 0); got != want {
			t.Errorf("delay(%d) = %v, want %v", i+1, got, want)
		}
		if got := delay(i+1, 1); got >= want || got < want*8/10 {
			t.Errorf("delay(%d) at most chance = %v, want a fifth less than %v", i+1, got, want)
		}
		total += want
	}
	if total > giveUp || total < giveUp-4*time.Hour {
		t.Errorf("twelve attempts take %v, want just under %v", total, giveUp)
	}
}

func TestNext(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name     string
		attempts int
		age      time.Duration
		asked    time.Duration
		want     time.Duration // 0: give up
	}{
		{"first", 1, 0, 0, 8 * time.Second},
		{"asked to wait", 1, 0, time.Hour, time.Hour},
		{"asked for less", 3, 0, time.Second, 72 * time.Second},
		{"asked for a week", 1, 0, 7 * 24 * time.Hour, 24 * time.Hour},
		{"last attempt", 12, 0, 0, 0},
		{"too old", 2, 73 * time.Hour, 0, 0},
		{"would be too old", 10, 60 * time.Hour, 0, 0},
	} {
		at, again := next(job{attempts: tt.attempts, createdAt: now.Add(-tt.age)}, now, 12, tt.asked, 0)
		if again != (tt.want > 0) || again && at.Sub(now) != tt.want {
			t.Errorf("%s: next = %v, %v, want %v", tt.name, at.Sub(now), again, tt.want)
		}
	}
}

func TestParseSecret(t *testing.T) {
	t.Parallel()
	if b, err := parseSecret(newSecret()); err != nil || len(b) != 32 {
		t.Errorf("parseSecret(newSecret()) = %d bytes, %v, want 32", len(b), err)
	}
	for _, bad := range []string{"", "whsec_", "whsec_!", "whsec_MTIz", "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz", "whsec_MDEyMzQ1Njc4OTAx\nMjM0NTY3ODkwMTIz"} {
		if _, err := parseSecret(bad); err == nil {
			t.Errorf("parseSecret(%q) was accepted", bad)
		}
	}
}

// The published test vector of Standard Webhooks.
func TestSignVector(t *testing.T) {
	t.Parallel()
	key, err := parseSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	if err != nil {
		t.Fatal(err)
	}
	got := sign([][]byte{key}, "msg_p5jXN8AQM9LWM0D4loKWxJek", time.Unix(1614265330, 0), []byte(`{"test": 2432232314}`))
	if want := "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="; got != want {
		t.Errorf("sign = %s, want %s", got, want)
	}
}
