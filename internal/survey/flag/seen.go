package flag

import (
	"context"
	"fmt"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/privacy"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Submit is the source of flags that one response got by itself.
const Submit = "submit"

// On is what flags belong to.
type On struct {
	Response int64
	Survey   int64
	At       int64 // ms
}

// Name tells a flag from others of the response.
type Name struct{ Rule, Question string }

// Exact reports whether the caller of ctx sees how far places are apart. Whoever
// can move one of them, on a list or in a response, would find the other with
// three distances, so it takes responses:pii to do both.
func Exact(ctx context.Context) bool {
	c := web.CallerFrom(ctx)
	return c.May(privacy.PII) || !c.May("surveys:write") && !c.May("responses:write")
}

// Seen is a flag as the caller of ctx sees it: without the metres between two
// places, unless they are shown exactly.
func Seen(ctx context.Context, f Flag) Flag {
	switch {
	case Exact(ctx):
	case f.Rule == Distance:
		f.Value, f.Detail = 0, fmt.Sprintf("The interview was more than %.0f m from the household.", f.Limit)
	case f.Question == "/location": // two interviews in one place
		_, other, _ := strings.Cut(f.Detail, " m from ")
		f.Value, f.Detail = 0, fmt.Sprintf("The interview was at most %g m from %s", f.Limit, other)
	}
	return f
}

// AllSeen are flags as the caller of ctx sees them.
func AllSeen(ctx context.Context, flags []Flag) []Flag {
	out := make([]Flag, len(flags))
	for i, f := range flags {
		out[i] = Seen(ctx, f)
	}
	return out
}
