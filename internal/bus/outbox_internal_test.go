package bus

import (
	"slices"
	"strconv"
	"testing"
)

func TestOutbox(t *testing.T) {
	t.Parallel()
	o := newOutbox()
	for range 3 {
		o.put(note{"a", "x"})
		o.put(note{"a", "y"})
		o.put(note{"b", "x"})
	}
	if got, want := o.take(), []note{{"a", "x"}, {"a", "y"}, {"b", "x"}}; !slices.Equal(got, want) {
		t.Errorf("take() = %v, want each once and in order: %v", got, want)
	}
	if got := o.take(); len(got) != 0 {
		t.Errorf("take() of an empty outbox = %v", got)
	}
	o.put(note{"a", "x"}) // not held back by the one that was sent
	if got := o.take(); len(got) != 1 {
		t.Errorf("take() = %v, want the message again", got)
	}
	for i := range maxQueue + 1 {
		o.put(note{"a", strconv.Itoa(i)})
	}
	o.put(note{"a", "0"})
	if got, want := o.take(), []note{{}, {"a", "0"}}; !slices.Equal(got, want) {
		t.Errorf("take() after too many = %v, want that some were lost and the last: %v", got, want)
	}
	o.put(note{"a", "x"})
	o.fail()
	if got, want := o.take(), []note{{}}; !slices.Equal(got, want) {
		t.Errorf("take() after a failure = %v, want %v", got, want)
	}
}
