package db

import (
	"testing"
	"testing/synctest"
	"time"
)

// wait is a wait for a store that takes so long, and how long it may be at most.
func (p *purse) wait(d, most time.Duration) time.Duration {
	may := p.open(most)
	time.Sleep(min(d, may)) // of the bubble: no time passes
	p.close()
	return may
}

// TestPurse: what a request waits for the store is bounded in all, unless it does something
// else meanwhile, and short waits are none.
func TestPurse(t *testing.T) {
	t.Parallel()
	const most = 9 * time.Second
	for name, run := range map[string]func(t *testing.T, p *purse){
		"long waits": func(t *testing.T, p *purse) {
			for i, want := range []time.Duration{most, 4 * time.Second, 0} {
				if got := p.wait(most, most); got != want {
					t.Errorf("wait %d may be %s, want %s", i, got, want)
				}
			}
		},
		"at the same time": func(t *testing.T, p *purse) {
			p.open(most)
			time.Sleep(5 * time.Second)
			if got := p.open(most); got != 8*time.Second {
				t.Errorf("a second wait may be %s, want 8s", got)
			}
			time.Sleep(time.Second)
			p.close()
			p.close()
			if got := p.open(most); got != 7*time.Second {
				t.Errorf("after 6 s a wait may be %s, want 7s", got)
			}
			p.close()
		},
		"short waits": func(t *testing.T, p *purse) {
			for range 1000 {
				if got := p.wait(noWait, most); got != most {
					t.Fatalf("a wait may be %s, want %s", got, most)
				}
			}
		},
		"moves on": func(t *testing.T, p *purse) {
			for range 100 {
				if got := p.wait(5*time.Second, most); got != most {
					t.Fatalf("a wait may be %s, want %s", got, most)
				}
				time.Sleep(5 * time.Second)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { run(t, newPurse(13*time.Second)) })
		})
	}
	if got := newPurse(0).wait(0, most); got != most {
		t.Errorf("without a purse a wait may be %s, want %s", got, most)
	}
}
