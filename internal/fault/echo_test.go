package fault_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/fault"
)

func TestEcho(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ä", 101)
	for _, tt := range []struct{ name, in, want string }{
		{"short", "colour", "colour"},
		{"just fits", long[:200], long[:200]},
		{"one too many", long, long[:200] + "…"},
		{"again", fault.Echo(long), long[:200] + "…"},
	} {
		if got := fault.Echo(tt.in); got != tt.want {
			t.Errorf("%s: Echo() = %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestPointerCutsNamesAndTheWhole(t *testing.T) {
	t.Parallel()
	name := strings.Repeat("n", 1000)
	got := fault.Pointer("/items/3/" + name + "/size")
	if want := "/items/3/" + name[:100] + "…/size"; got != want {
		t.Errorf("Pointer() = %q, want %q", got, want)
	}
	if again := fault.Pointer(got); again != got {
		t.Errorf("cut twice it is %q, want %q", again, got)
	}
	if got := fault.Pointer(strings.Repeat("/deep", 1_000_000)); len(got) != 500+len("…") {
		t.Errorf("a pointer of 5 MB keeps %d bytes, want 500 and the mark", len(got))
	}
}

// Every way to make a fault ends in a short answer.
func TestBriefBoundsAnAnswer(t *testing.T) {
	t.Parallel()
	name, many := strings.Repeat("n", 1<<14), make([]fault.Field, 1000)
	for i := range many {
		many[i] = fault.Field{Pointer: "/" + name, Code: "x", Detail: name}
	}
	var c fault.Checks
	for i := range 1000 {
		c.Add(fmt.Sprintf("/%d/%s", i, name), "x", name)
	}
	for name, e := range map[string]*fault.Error{
		"With": fault.New(fault.Invalid, "X", name).With(many...), "Checks": fault.As(c.Err("X", name)), "Fields": {Message: name, Fields: many},
	} {
		b := e.Brief()
		size := len(b.Message)
		for _, f := range b.Fields {
			size += len(f.Pointer) + len(f.Detail)
		}
		if len(b.Fields) != 100 || size > 100*(111+1003)+1003 || !strings.HasSuffix(b.Fields[0].Pointer, fault.Cut) {
			t.Errorf("%s: %d fields and %d bytes, want 100 fields with pointers of 100 and texts of 1,000 characters", name, len(b.Fields), size)
		}
		if len(e.Fields) != 1000 || len(e.Fields[0].Detail) != 1<<14 {
			t.Errorf("%s: Brief changed the fault", name)
		}
	}
}
