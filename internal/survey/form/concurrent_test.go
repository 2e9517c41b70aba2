package form_test

import (
	"sync"
	"testing"
)

// TestConcurrentChecks is for the race detector: one form, many collectors.
func TestConcurrentChecks(t *testing.T) {
	t.Parallel()
	f := compile(t, baseline)
	want := string(check(f, baselineAnswers).Answers)
	part, err := f.Select([]string{"socio_economic"})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				if got := string(check(f, baselineAnswers).Answers); got != want {
					t.Errorf("Check() = %s, want %s", got, want)
				}
				if r := check(part, `{"socio_economic":{"household_size":4}}`); string(r.Answers) != `{"socio_economic":{"adults":4,"household_size":4}}` {
					t.Errorf("Check() = %s", r.Answers)
				}
			}
		})
	}
	wg.Wait()
}
