package template

import (
	"strings"
	"testing"
)

func TestChoose(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		have string
		want int
	}{
		{"", 0},
		{"draft", 1},
		{"published draft", 1},
		{"published published", 2},
		{"published deprecated", 1},
		{"deprecated draft", 1},
		{"retired draft", 2},
		{"retired retired", 2},
		{"retired deprecated published draft", 3},
	} {
		var all []step
		for i, status := range strings.Fields(c.have) {
			all = append(all, step{i + 1, Status(status)})
		}
		if got, _ := choose(all); got.version != c.want {
			t.Errorf("choose(%s) = %d, want %d", c.have, got.version, c.want)
		}
	}
}

func TestStandard(t *testing.T) {
	t.Parallel()
	l := loadShipped()
	for _, stage := range []string{"baseline", "follow-up", "monitoring"} {
		e := l.find(Standard(stage), 0)
		if e == nil || e.v.Stage != stage || e.v.Version != 2 || e.v.Status != StatusPublished || !e.v.Shipped {
			t.Errorf("Standard(%s) = %s: %+v", stage, Standard(stage), e)
		}
	}
	if Standard("") != "" || Standard("x") != "" || len(l.list) != 3 {
		t.Errorf("other stages: %q %q, %d shipped", Standard(""), Standard("x"), len(l.list))
	}
	if one := l.find("baseline-v1", 1); one == nil || one.v.Version != 1 || one.v.Validations.CompletionThreshold != 0 {
		t.Errorf("the first version = %+v, want it as it was", one)
	}
	if l.find("baseline-v1", 3) != nil || l.find("baseline-v1", -1) != nil {
		t.Error("a version that does not exist is found")
	}
}

func TestSelectionsAreBounded(t *testing.T) {
	t.Parallel()
	e := loadShipped().find("baseline-v1", 1)
	for i := range 200 {
		sections := []string{"consent"}
		for b, id := range []string{"eligibility", "socio_economic", "cooking_patterns", "stove_perceptions"} {
			if i&(1<<b) != 0 {
				sections = append(sections, id)
			}
		}
		for range i / 16 { // the same again, named otherwise
			sections = append(sections, "consent")
		}
		if _, err := e.of(sections); err != nil {
			t.Fatal(err)
		}
	}
	if len(e.selected) > maxSelections {
		t.Errorf("%d selections, at most %d", len(e.selected), maxSelections)
	}
}
