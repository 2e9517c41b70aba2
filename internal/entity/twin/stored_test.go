package twin_test

import (
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/entity/twin"
)

// What is stored is the record without its links, and gives the very bytes of
// the record back.
func TestTextGivesTheBodyBack(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"did:ixo:entity:01a1e140f1dbc6331ac8260074995699", "did:ixo:household/123", "did:web:example.org%3A8443:a", "did:key:z6Mk#x?y=z"} {
		e := twin.Entity{DID: id, Type: "Stove", Links: twin.LinksOf(id), CreatedBy: "did:a:b", UpdatedBy: `did:a:"}}`}
		body, err := e.Encode()
		if err != nil {
			t.Fatalf("Encode: %v", err)
		}
		text := twin.Stored(body)
		if strings.Contains(text, "links") || len(text) >= len(body) {
			t.Errorf("%s: stored with its links: %s", id, text)
		}
		if got := twin.Body(text); string(got) != string(body) {
			t.Errorf("%s: read %s, want %s", id, got, body)
		}
		if got := twin.Body(string(body)); string(got) != string(body) {
			t.Errorf("%s: a record stored with its links became %s", id, got)
		}
	}
	if got := twin.Body(""); len(got) != 0 {
		t.Errorf("an erased record became %s", got)
	}
	if got := twin.Stored([]byte(`{"did":"did:a:b","links":{}}`)); got != `{"did":"did:a:b","links":{}}` {
		t.Errorf("a record with other links was stored as %s", got)
	}
}
