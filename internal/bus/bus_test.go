package bus_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/hearth-dmrv/hearth/internal/bus"
)

// inbox keeps what a subscriber was given.
type inbox struct {
	mu  sync.Mutex
	got []bus.Message
}

func (i *inbox) put(m bus.Message) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.got = append(i.got, m)
}

// payloads lists them, "missed" for what was lost.
func (i *inbox) payloads() []string {
	i.mu.Lock()
	defer i.mu.Unlock()
	var out []string
	for _, m := range i.got {
		if m.Missed {
			out = append(out, "missed")
		} else {
			out = append(out, m.Payload)
		}
	}
	return out
}

func publish(t *testing.T, b bus.Bus, topic, payload string) {
	t.Helper()
	if err := b.Publish(t.Context(), topic, payload); err != nil {
		t.Fatalf("Publish(%s, %s): %v", topic, payload, err)
	}
}

func TestLocal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := bus.New()
		var one, two, other inbox
		cancel := b.Subscribe("a", one.put)
		b.Subscribe("a", two.put)
		b.Subscribe("b", other.put)
		for i := range 3 {
			publish(t, b, "a", fmt.Sprint(i))
		}
		publish(t, b, "nobody", "x")
		synctest.Wait()
		cancel()
		cancel() // twice is once
		publish(t, b, "a", "3")
		synctest.Wait()
		for _, tt := range []struct {
			name string
			in   *inbox
			want []string
		}{
			{"cancelled", &one, []string{"0", "1", "2"}},
			{"other subscriber", &two, []string{"0", "1", "2", "3"}},
			{"other topic", &other, nil},
		} {
			if got := tt.in.payloads(); !slices.Equal(got, tt.want) {
				t.Errorf("%s got %q, want %q", tt.name, got, tt.want)
			}
		}
		b.Close()
		publish(t, b, "a", "4")
		b.Subscribe("a", two.put)()
		if got := len(two.payloads()); got != 4 {
			t.Errorf("%d messages after Close, want still 4", got)
		}
	})
}

func TestLocalSlowSubscriber(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := bus.New()
		defer b.Close()
		var in inbox
		gate := make(chan struct{})
		b.Subscribe("a", func(m bus.Message) {
			<-gate
			in.put(m)
		})
		publish(t, b, "a", "first")
		synctest.Wait() // it is being worked on
		for range bus.MaxQueue {
			publish(t, b, "a", "lost")
		}
		publish(t, b, "a", "too many")
		publish(t, b, "a", "last")
		close(gate)
		synctest.Wait()
		if got, want := in.payloads(), []string{"first", "missed", "last"}; !slices.Equal(got, want) {
			t.Errorf("slow subscriber got %q, want %q", got, want)
		}
	})
}

// TestLocalFromSubscriber: a subscriber may publish, subscribe and cancel.
func TestLocalFromSubscriber(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := bus.New()
		defer b.Close()
		var in inbox
		var cancel func()
		cancel = b.Subscribe("a", func(m bus.Message) {
			cancel()
			b.Subscribe("b", in.put)
			publish(t, b, "a", "not seen")
			publish(t, b, "b", m.Payload)
		})
		publish(t, b, "a", "x")
		synctest.Wait()
		if got, want := in.payloads(), []string{"x"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

func TestPublishRefuses(t *testing.T) {
	t.Parallel()
	b := bus.New()
	defer b.Close()
	for _, tt := range []struct {
		name, topic, payload string
		ok                   bool
	}{
		{"largest", strings.Repeat("t", bus.MaxTopic), strings.Repeat("p", bus.MaxPayload), true},
		{"lines in the payload", "a", "x\ny", true},
		{"no topic", "", "x", false},
		{"long topic", strings.Repeat("t", bus.MaxTopic+1), "x", false},
		{"two lines", "a\nb", "x", false},
		{"large payload", "a", strings.Repeat("p", bus.MaxPayload+1), false},
		{"not UTF-8", "a", "\xff", false},
		{"NUL", "a", "x\x00", false},
	} {
		if err := b.Publish(t.Context(), tt.topic, tt.payload); (err == nil) != tt.ok {
			t.Errorf("%s: Publish = %v, want ok %v", tt.name, err, tt.ok)
		}
	}
}

func TestLocalConcurrent(t *testing.T) {
	t.Parallel()
	b := bus.New()
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 200 {
				var in inbox
				cancel := b.Subscribe(fmt.Sprint(i%2), in.put)
				if err := b.Publish(t.Context(), fmt.Sprint(i%2), "x"); err != nil {
					t.Errorf("Publish: %v", err)
				}
				cancel()
				before := len(in.payloads())
				if err := b.Publish(t.Context(), fmt.Sprint(i%2), "x"); err != nil {
					t.Errorf("Publish: %v", err)
				}
				// One call may have been running when cancel returned.
				if after := len(in.payloads()); after > before+1 {
					t.Errorf("%d calls began after cancel", after-before)
				}
			}
		})
	}
	wg.Wait()
	b.Close()
}
