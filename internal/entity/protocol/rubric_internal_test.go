package protocol

import (
	"fmt"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/fault"
)

// TestRubricsKept: a rubric is compiled once, what cannot be compiled is refused each
// time, and however many there are only some are kept.
func TestRubricsKept(t *testing.T) {
	t.Parallel()
	of := func(limit int) jsontext.Value {
		return jsontext.Value(fmt.Sprintf(`{"facts":[{"id":"found","type":"boolean"}],"rubric":[
			{"id":"yes","stage":"approval","when":"facts.found && claim.amount < %d.0","then":{"outcome":"approved","reasonCode":"FOUND"}}]}`, limit))
	}
	var k rubrics
	var c fault.Checks
	first := k.compile(of(1), "", &c)
	if first == nil || !c.OK() {
		t.Fatalf("compile: %v", c.Err("RUBRIC_INVALID", "It does not compile."))
	}
	if again := k.compile(of(1), "", &c); again != first {
		t.Error("the same rubric was compiled again")
	}
	if other := k.compile(of(2), "", &c); other == first || other.Hash() == first.Hash() {
		t.Error("another rubric is the first one")
	}
	for range 2 {
		var c fault.Checks
		if r := k.compile(jsontext.Value(`{"rubric":[{"id":"x"}]}`), "/at", &c); r != nil || c.OK() {
			t.Errorf("what is no rubric compiles: %v", r)
		}
	}
	for i := range maxRubrics/first.Weight() + 2 {
		k.compile(of(10+i), "", &c)
	}
	if k.weight > maxRubrics || k.weight != len(k.kept)*first.Weight() {
		t.Errorf("%d rubrics of %d bytes are kept as %d", len(k.kept), first.Weight(), k.weight)
	}
}
