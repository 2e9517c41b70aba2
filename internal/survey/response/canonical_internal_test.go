package response

import (
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// TestCanonical: what is written without a second pass is as RFC 8785 writes it.
func TestCanonical(t *testing.T) {
	t.Parallel()
	for _, v := range []any{
		hashed{},
		hashed{DurationSec: 1e21, Named: "a", Open: "é\u2028<&>\"\\\n\u0001", Personal: "p", StartedAt: "s", Timestamp: "t", Version: 2, Who: "w"},
		hashed{DurationSec: 0.1 + 0.2},
		hashed{DurationSec: 1e-7},
		hashed{DurationSec: 900},
		sentBy{},
		sentBy{"did:key:é\u007f/<x>", "did:ixo:household/1?a=b&c"},
	} {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		want := jsontext.Value(text)
		if err := want.Canonicalize(); err != nil {
			t.Fatal(err)
		}
		if got, err := canonical(v); err != nil || string(got) != string(want) {
			t.Errorf("%s, %v, want %s", got, err, want)
		}
	}
}
